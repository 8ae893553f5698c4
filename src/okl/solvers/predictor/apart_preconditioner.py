r"""A preconditioner of alpha I + V' (K (x) L) V where L is nearly diagonal.

With the off-diagonal entries of L left out, each output has a system of its own, as
large as there are rows where the loss has curvature, and these systems are factorised.
The condition number that remains is about that of L scaled to a diagonal of ones,
whatever K and alpha. A preconditioner of a few columns of K has all of L in it, but
lacks what these columns miss of K, times L / alpha: at a small alpha it takes hundreds
of products where this one takes ten.
"""

from __future__ import annotations

from collections.abc import Callable

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, eigh, namespace, shifted_solver
from okl.operators import JointOperator, Kronecker

# The most numbers that the factors of all systems have.
MOST_ENTRIES = 2**24
# Without these systems conjugate gradients take about _SAVED products with J times the
# root of the condition number; with them _LEFT times the root of that of L.
_SAVED, _LEFT = 3.0, 10.0
# The least mean curvature, relative to the largest.
_HEAVY = 0.3


def apart_cost(
    joint: JointOperator, curvature: Curvature, alpha: float
) -> float | None:
    """Return the work of making the preconditioner, in products with J, or None.

    None where there is none, or it does not save more than that. It saves nothing where
    the mean curvature is far below the largest.
    """
    if not (isinstance(joint, Kronecker) and curvature.separable):
        return None
    kernel, W = joint.output_kernel, curvature.diagonal
    if not kernel.couples or kernel.nodes is not None:
        return None
    xp, (n, m) = namespace(W), W.shape
    sizes = xp.sum(xp.astype(W > 0, W.dtype), axis=0)
    cost = float(xp.sum(sizes**3)) / (3 * m * joint.work)
    # there are no more steps than dimensions; that a product takes two multiplications
    # for each row and feature gives the number of features
    dimensions = m * joint.work / (2 * n)
    largest = float(xp.max(W * joint.diagonal))
    saved = _SAVED * min((largest / alpha) ** 0.5, dimensions)
    # with a logistic loss systems are large, and most of their entries light
    light = float(xp.sum(W)) < _HEAVY * float(xp.max(W) * xp.sum(sizes))
    most = min(MOST_ENTRIES, joint.workspace * n**2)
    if light or m > n or cost > saved or float(xp.sum(sizes**2)) > most:
        return None
    L = kernel.matrix()
    variances = xp.linalg.diagonal(L)
    if float(xp.min(variances)) <= 0:
        return None
    roots = xp.sqrt(variances)
    values, _ = eigh(L / (roots[:, None] * roots))
    least = (saved - cost) / _LEFT
    return cost if values[-1] <= least**2 * values[0] else None


def apart_preconditioner(
    joint: JointOperator, curvature: Curvature, alpha: float, *, centered: bool
) -> Callable[[Array], Array]:
    """Return the approximate inverse; ``centered`` if there is a free intercept."""
    W = curvature.diagonal
    xp = namespace(W)
    masks, solvers = W > 0, []
    for j in range(W.shape[1]):
        rows = xp.nonzero(masks[:, j])[0]
        matrix = joint.block(rows, j)
        if centered and rows.shape[0]:
            matrix += xp.max(xp.linalg.diagonal(matrix))
        scale = xp.sqrt(xp.take(W[:, j], rows, axis=0))
        matrix *= scale[:, None]
        matrix *= scale
        solvers.append(shifted_solver(matrix, alpha) if rows.shape[0] else None)

    def apply(right: Array) -> Array:
        columns = []
        for j, solve in enumerate(solvers):
            column, mask = right[:, j] / alpha, masks[:, j]
            if solve is not None:
                column[mask] = solve(right[:, j][mask][:, None])[:, 0]
            columns.append(column)
        return xp.stack(columns, axis=1)

    return apply
