r"""An approximate inverse of the system of a Newton step with several kernels.

The system is alpha I + V'(sum_q K_q (x) L_q) V, with V V' the second derivative of the
loss. Few equations are solved as they are: all of them, where there are few, or those
of the entries that have a weight at all. Of more, each K_q is replaced by a few of its
columns, K_q ~ R_q R_q', and with L_q = B_q B_q' the system is nearly D + Z Z',
Z = V'(R_1 (x) B_1, R_2 (x) B_2, ...), D diagonal (`okl.solvers.predictor.woodbury`).

In the eigenbasis of a kernel beside the term of a row (`okl.solvers.terms`) both are
diagonal, and the system is divided by.
"""

from __future__ import annotations

from collections.abc import Callable

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, definite_solver, eigh, namespace, symmetric
from okl.operators import DiagonalOperator, JointSum, NystroemFactor
from okl.solvers.predictor.woodbury import woodbury

# Entries up to this number are solved for directly.
_DIRECT = 1000

Approximate = Callable[[Array], Array]


def n_directions(joint: JointSum) -> int:
    """Return how many directions the L_q of kernels that have columns have in all."""
    pairs = zip(joint.operator.terms, joint.output_kernel.terms, strict=True)
    ranks = [L.rank for K, L in pairs if not isinstance(K, DiagonalOperator)]
    return max(sum(ranks), 1)


def sum_preconditioner(
    joint: JointSum,
    columns: NystroemFactor,
    rank: int,
    curvature: Curvature,
    alpha: float,
) -> Approximate:
    """Return the approximate inverse as a map of arrays (n_samples, n_outputs).

    Parameters
    ----------
    joint : JointSum
        K_q and L_q.
    columns : NystroemFactor
        R_q; none in an eigenbasis.
    rank : int
        How many of them are used.
    curvature : Curvature
        V V', at the current scores.
    alpha : float
        Strength of the regularisation.
    """
    xp = namespace(curvature.diagonal)
    rows, outputs = xp.nonzero(curvature.diagonal > 0)
    if rows.shape[0] <= _DIRECT and curvature.separable:
        return _of_entries(joint, curvature, rows, outputs, alpha)
    if curvature.diagonal.size <= _DIRECT:
        return _of_all(joint, curvature, alpha)
    if not columns.factors:
        return _of_diagonals(joint, alpha)
    return _of_columns(joint, columns, rank, curvature, alpha)


def _of_columns(
    joint: JointSum,
    columns: NystroemFactor,
    rank: int,
    curvature: Curvature,
    alpha: float,
) -> Approximate:
    """Invert D + Z Z' with some columns of each kernel.

    D is alpha, the diagonal of kernels without columns and, where the loss does not
    couple the outputs, what the columns of the others miss of theirs. Of a loss that
    does, D has one number a row: of what is missed, most of it that of classes without
    weight, the mean took more products than nothing.
    """
    xp = namespace(curvature.diagonal)
    noise, terms = alpha + 0.0 * curvature.diagonal, []
    for K, L, factor in zip(
        joint.operator.terms, joint.output_kernel.terms, columns.factors, strict=True
    ):
        R, B = factor[:, :rank], L.factor()
        if curvature.separable or not R.shape[1]:
            missed = xp.clip(K.diagonal() - xp.sum(R * R, axis=1), 0.0, None)
            noise += curvature.entries * missed[:, None] * L.diagonal()
        if R.shape[1] and B.shape[1]:
            terms.append((R, B))
    if not curvature.separable:
        noise = xp.mean(noise, axis=1)[:, None]
    return woodbury(terms, curvature, noise)


def _of_diagonals(joint: JointSum, alpha: float) -> Approximate:
    """Divide in the directions T of L_1 and L_2, K_1 diagonal and K_2 the identity.

    T'(alpha I + L_2)T = I and T'L_1 T is diagonal.
    """
    d = joint.operator.terms[0].diagonal()
    first, second = (kernel.matrix() for kernel in joint.output_kernel.terms)
    xp = namespace(first)
    values, vectors = eigh(alpha * xp.eye(first.shape[0], dtype=first.dtype) + second)
    whitened = vectors / xp.sqrt(values)
    lengths, rotation = eigh(symmetric(whitened.T @ first @ whitened))
    axes, divisor = whitened @ rotation, 1 + d[:, None] * xp.clip(lengths, 0.0, None)
    return lambda right: ((right @ axes) / divisor) @ axes.T


def _of_entries(
    joint: JointSum, curvature: Curvature, rows: Array, outputs: Array, alpha: float
) -> Approximate:
    """Solve for the entries that are curved, few enough for one matrix."""
    xp = namespace(curvature.diagonal)
    roots = xp.sqrt(curvature.diagonal[rows, outputs])
    matrix = roots[:, None] * joint.block(rows, outputs) * roots
    solve = definite_solver(matrix + alpha * xp.eye(rows.shape[0], dtype=matrix.dtype))

    def apply(right: Array) -> Array:
        result = right / alpha
        result[rows, outputs] = solve(right[rows, outputs][:, None])[:, 0]
        return result

    return apply


def _of_all(joint: JointSum, curvature: Curvature, alpha: float) -> Approximate:
    """Solve for all entries, which the loss couples within their rows."""
    weights = curvature.diagonal
    xp = namespace(weights)
    n, m = weights.shape
    rows = xp.repeat(xp.arange(n), m)
    outputs = xp.tile(xp.arange(m), (n,))
    unit = xp.eye(m, dtype=weights.dtype)
    # V' of each row, one image of a unit vector a line
    adjoint = xp.stack(
        [curvature.factor(xp.zeros_like(weights) + unit[j]) for j in range(m)], axis=1
    )
    matrix = joint.block(rows, outputs)
    for _ in range(2):
        image = adjoint @ xp.reshape(matrix.T, (n, m, n * m))
        matrix = xp.reshape(image, (n * m, n * m))
    matrix = symmetric(matrix) + alpha * xp.eye(n * m, dtype=weights.dtype)
    solve = definite_solver(matrix)
    return lambda right: xp.reshape(solve(xp.reshape(right, (n * m, 1))), (n, m))
