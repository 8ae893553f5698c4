r"""What is nearly the inverse of alpha I + V' (K (x) L) V where L is nearly diagonal.

Without what is beside the diagonal of L the outputs have systems of their own, as large
as there are rows where the loss has curvature, which are factorised. What that leaves
of the condition is about that of L with a diagonal of ones, whatever K and alpha. A few
columns of K know all of L, but leave what they miss of K times L divided by alpha:
hundreds of products at a small alpha, where this takes ten.
"""

from __future__ import annotations

from collections.abc import Callable

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, eigh, namespace, shifted_solver
from okl.operators import JointOperator, Kronecker

# The most numbers that the factors of all systems have.
MOST_ENTRIES = 2**24
# Without these systems conjugate gradients take so many products with J, times the root
# of what is left of the condition; with them so many, times the root of that of L.
_SAVED, _LEFT = 3.0, 10.0
# The least mean curvature, relative to the largest.
_HEAVY = 0.3


def apart_cost(
    joint: JointOperator, curvature: Curvature, alpha: float
) -> float | None:
    """Return the work of making it, in products with J; None where it saves no more.

    And None where the mean curvature is far below the largest: it saves nothing there.
    """
    if not (isinstance(joint, Kronecker) and curvature.separable):
        return None
    kernel, W = joint.output_kernel, curvature.diagonal
    if not kernel.couples or kernel.nodes is not None:
        return None
    xp, (n, m) = namespace(W), W.shape
    sizes = xp.sum(xp.astype(W > 0, W.dtype), axis=0)
    cost = float(xp.sum(sizes**3)) / (3 * m * joint.work)
    # no more steps than there are dimensions: two multiplications for each row and
    # feature are a product
    dimensions = m * joint.work / (2 * n)
    largest = float(xp.max(W * joint.diagonal))
    saved = _SAVED * min((largest / alpha) ** 0.5, dimensions)
    # of a logistic loss systems are large, and most of their entries light
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
