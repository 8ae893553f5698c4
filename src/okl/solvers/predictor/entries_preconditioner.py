r"""The inverse of alpha I + V' J V where the loss has curvature at few entries.

Where L is learned from tasks, which have one target a row, or where most labels are
missing, few of the n m predictions count. The matrix V' J V of those is factorised as
it is: without an intercept conjugate gradients are done after one step. The small
matrix that columns of K lead to (`okl.solvers.predictor.woodbury`) has a row for each
of them and each direction of L, which may be more, and is not exact.
"""

from __future__ import annotations

from collections.abc import Callable

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, count, namespace, shifted_solver
from okl.operators import JointOperator

# The prior variance of an intercept, in units of the largest prior variance: free, but
# for few steps of conjugate gradients.
_FLAT = 100.0


def n_entries(curvature: Curvature) -> int:
    """Return how many entries have curvature."""
    return count(curvature.diagonal > 0)


def entries_preconditioner(
    joint: JointOperator, curvature: Curvature, alpha: float, *, centered: bool
) -> Callable[[Array], Array]:
    """Return the inverse; ``centered`` if there is a free intercept."""
    W = curvature.diagonal
    xp, mask = namespace(W), W > 0
    rows, outputs = xp.nonzero(mask)
    if not rows.shape[0]:
        return lambda right: right / alpha
    matrix = joint.block(rows, outputs)
    if centered:
        same = xp.astype(outputs[:, None] == outputs, W.dtype)
        matrix += _FLAT * same * xp.max(xp.linalg.diagonal(matrix))
    scale = xp.sqrt(W[mask])
    matrix *= scale[:, None]
    matrix *= scale
    solve = shifted_solver(matrix, alpha)

    def apply(right: Array) -> Array:
        found = right / alpha
        found[mask] = solve(right[mask][:, None])[:, 0]
        return found

    return apply
