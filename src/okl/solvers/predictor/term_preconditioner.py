r"""An approximate inverse of the system of a Newton step with several kernels.

The system is alpha I + V'(sum_q K_q (x) L_q) V, with V V' the second derivative of the
loss. Each K_q is replaced by a few of its columns, K_q ~ R_q R_q', and with
L_q = B_q B_q' the system is nearly D + Z Z', Z = V'(R_1 (x) B_1, R_2 (x) B_2, ...), D
diagonal (`okl.solvers.predictor.woodbury`).

With one kernel and the term of a row, in the eigenbasis of the kernel
(`okl.solvers.terms`), both K_q are diagonal, and the inverse is a division.
"""

from __future__ import annotations

from collections.abc import Callable

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, eigh, namespace, symmetric
from okl.operators import DiagonalOperator, JointSum, NystroemFactor
from okl.solvers.predictor.woodbury import woodbury


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
) -> Callable[[Array], Array]:
    """Return the approximate inverse as a map of arrays (n_samples, n_outputs).

    D is the sum of alpha, the diagonal of kernels without columns and, where the loss
    does not couple the outputs, what the columns of the other kernels miss of their
    diagonal. Where the loss couples the outputs D has one number a row, without what is
    missed: with its mean, which comes mostly from classes without weight, iterations
    took more products. Of each R_q ``rank`` columns are used; in an eigenbasis there
    are none.
    """
    if not columns.factors:
        return _of_diagonals(joint, alpha)
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


def _of_diagonals(joint: JointSum, alpha: float) -> Callable[[Array], Array]:
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
