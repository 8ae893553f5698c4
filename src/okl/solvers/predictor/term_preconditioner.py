r"""An approximate inverse of the system of a Newton step with several kernels.

The system is alpha I + V'(sum_q K_q (x) L_q) V, with V V' the second derivative of the
loss. Each row is given the mean d_i of its weights, each K_q a few columns and a
number, K_q ~ R_q R_q' + r_q I; no columns if it is diagonal, as that of the term of a
row. The numbers join alpha I in

.. math:: N = \alpha I + \sum_q \bar d r_q L_q.

A congruence T with T'NT = I turns the L_q into T'L_qT. In the directions
of their sum they are nearly diagonal, and exactly so if there is only one: then each
direction j is a small system I + sum_q l_qj R_q'DR_q of its own.

Few equations are solved as they are: all of them, where there are few, or those of the
entries that have a weight at all.
"""

from __future__ import annotations

from collections.abc import Callable

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, definite_solver, eigh, namespace, symmetric
from okl.operators import DiagonalOperator, JointSum, NystroemFactor, OperatorTerms

# Entries up to this number are solved for directly.
_DIRECT = 1000
# The entries of all small matrices.
_ENTRIES = 2**25

Approximate = Callable[[Array], Array]


def largest_rank(operator: OperatorTerms, n_outputs: int) -> int:
    """Return how many columns of each K_q leave room for a matrix for each output."""
    alone = [isinstance(term, DiagonalOperator) for term in operator.terms]
    n_factors = max(len(alone) - sum(alone), 1)
    return max(int((_ENTRIES / n_outputs) ** 0.5) // n_factors, 1)


def sum_preconditioner(
    joint: JointSum,
    columns: NystroemFactor,
    curvature: Curvature,
    alpha: float,
) -> Approximate:
    """Return the approximate inverse as a map of arrays (n_samples, n_outputs).

    Parameters
    ----------
    joint : JointSum
        K_q and L_q.
    columns : NystroemFactor
        R_q; not used where all K_q are diagonal.
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
    mean = xp.mean(curvature.diagonal, axis=1)
    matrices = [kernel.matrix() for kernel in joint.output_kernel.terms]
    alone = [isinstance(term, DiagonalOperator) for term in joint.operator.terms]
    n_outputs = curvature.diagonal.shape[1]
    noise = alpha * xp.eye(n_outputs, dtype=mean.dtype)
    if all(alone):
        return _of_diagonals(joint, mean, matrices, noise)
    coupled = []
    for q, matrix in enumerate(matrices):
        rest = joint.operator.terms[q].diagonal()
        if not alone[q]:
            coupled.append(q)
            rest = xp.clip(rest - xp.sum(columns.factors[q] ** 2, axis=1), 0.0, None)
        noise = noise + xp.mean(mean * rest) * matrix
    factors = [columns.factors[q] * xp.sqrt(mean)[:, None] for q in coupled]
    axes, lengths = _directions([matrices[q] for q in coupled], noise)
    factor = xp.concat(factors, axis=1)
    gram = factor.T @ factor
    # a row for each column of the factor, a column for each direction
    pairs = zip(factors, lengths, strict=True)
    scaling = xp.concat(
        [0.0 * part[0, :, None] + xp.sqrt(length) for part, length in pairs], axis=0
    )
    identity = xp.eye(gram.shape[0], dtype=gram.dtype)
    solvers = [
        definite_solver(gram * scaling[:, j, None] * scaling[:, j] + identity)
        for j in range(n_outputs)
    ]

    def apply(right: Array) -> Array:
        rows = right @ axes
        inside = scaling * (factor.T @ rows)
        solved = [solve(inside[:, j : j + 1]) for j, solve in enumerate(solvers)]
        back = factor @ (scaling * xp.concat(solved, axis=1))
        return (rows - back) @ axes.T

    return apply


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


def _of_diagonals(
    joint: JointSum, mean: Array, matrices: list[Array], noise: Array
) -> Approximate:
    """Divide in the directions of all terms: exact for two, one of them the identity.

    The one that varies least from row to row joins the noise.
    """
    xp = namespace(mean)
    entries = [mean * term.diagonal() for term in joint.operator.terms]
    spreads = [
        float(xp.max(d) - xp.min(d)) / (float(xp.max(d)) or 1.0) for d in entries
    ]
    flat = spreads.index(min(spreads))
    noise = noise + xp.mean(entries[flat]) * matrices[flat]
    others = [q for q in range(len(matrices)) if q != flat]
    divisor = xp.ones((mean.shape[0], noise.shape[0]), dtype=mean.dtype)
    axes, lengths = _directions([matrices[q] for q in others], noise)
    for q, length in zip(others, lengths, strict=True):
        divisor = divisor + entries[q][:, None] * length
    return lambda right: ((right @ axes) / divisor) @ axes.T


def _directions(matrices: list[Array], noise: Array) -> tuple[Array, list[Array]]:
    """Return T with T'NT = I, and the diagonal of T'L_qT for each of the matrices."""
    xp = namespace(noise)
    values, vectors = eigh(noise)
    whitened = vectors / xp.sqrt(values)
    if not matrices:
        return whitened, []
    inside = [whitened.T @ matrix @ whitened for matrix in matrices]
    total = sum(inside)
    _, rotation = eigh(symmetric(total))
    axes = whitened @ rotation
    lengths = [xp.sum(axes * (matrix @ axes), axis=0) for matrix in matrices]
    return axes, [xp.clip(length, 0.0, None) for length in lengths]
