r"""The structure update by primal-dual splitting, for any penalty with a proximal map.

.. math:: \min_{L \succ 0}\; \tfrac12 \operatorname{tr}(L^{-1} Q) + h(L)

Algorithm 2 of Ciliberto et al. (2015), after Vu (2013) and Condat (2013). With
M = Q^(-1/2) the first term is tr (M L M)^-1 / 2, whose proximal map is one cubic
equation for each eigenvalue; h has its own. Two things are not as printed there. The
printed dual step lacks a factor, and diverges: by Moreau's identity it is
D <- P - prox(sigma P) / sigma. And lambda and eps do not belong in front of
tr (M L M)^-1.

Only the proximal map of h is needed. This makes it a way to try a penalty that has no
update of its own, and the reference for `Sparse.update`. It takes thousands of
iterations, each with an eigendecomposition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from okl.numerics.arrays import Array, eigh, namespace, symmetric
from okl.optimization.interior import Interior
from okl.optimization.near import nearest


def primal_dual_splitting(
    matrix: Array, prox: Callable[[Array, float], Array]
) -> Iterator[Array]:
    """Yield iterates L without end; on the way they need not be PSD.

    Parameters
    ----------
    matrix : array (m, m)
        Q, positive definite.
    prox : callable
        ``prox(X, t)`` minimises ||L - X||_F^2 / 2 + t h(L) over symmetric L.

    Yields
    ------
    array (m, m)
        L, symmetric.
    """
    xp = namespace(matrix)
    values, vectors = eigh(symmetric(matrix))
    root = (vectors / xp.sqrt(values)) @ vectors.T  # M
    sigma = 1 / float(values[0])  # the norm of X -> M X M
    current = (vectors * xp.sqrt(values)) @ vectors.T
    dual = xp.zeros_like(matrix)
    while True:
        # for twice the objective: tr (M L M)^-1 + 2 h(L)
        previous = current
        forward = previous - symmetric(root @ dual @ root) / sigma
        current = symmetric(prox(forward, 2 / sigma))
        yield current
        point = dual + symmetric(root @ (2 * current - previous) @ root) / sigma
        dual = point - prox_of_inverse_trace(sigma * point, sigma) / sigma


def prox_of_inverse_trace(matrix: Array, weight: float) -> Array:
    """Return the minimiser of ||X - Z||_F^2 / 2 + weight tr X^-1 over X > 0.

    Each eigenvalue is the positive root of x^3 - z x^2 - weight = 0.
    """
    return nearest(matrix, 1.0, Interior(inverse=2 * weight)).output_kernel
