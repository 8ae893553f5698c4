r"""The proximal point of the sparse penalty on L.

Given a symmetric matrix Z and w > 0 it is the L that solves

.. math:: \min_L\; \tfrac\varepsilon2 \operatorname{tr} L^{-1}
          + \tfrac12 \operatorname{tr} L
          + \tfrac\lambda2 \sum_{i \ne j} |L_{ij}| + \tfrac w2 \|L - Z\|^2

Newton's method finds it, over the entries that are not zero
(`okl.optimization.orthant`). It starts at the solution without the absolute values.
Where epsilon is small a larger one takes its place at first, as a barrier that is
lowered on the way.
"""

from __future__ import annotations

from okl.numerics.arrays import Array, eigh, namespace, symmetric
from okl.optimization.conjugate_gradient import conjugate_gradient
from okl.optimization.interior import Interior
from okl.optimization.near import Near, nearest
from okl.optimization.newton import newton
from okl.optimization.orthant import Orthant
from okl.optimization.regions import Decomposed
from okl.optimization.second_derivative import Followed
from okl.optimization.smooth import Quadratic

# The first barrier, as a part of the largest eigenvalue squared: next to the boundary
# steps are short.
_BARRIER = 1e-3
# The most Newton steps; after how many in a row without a decrease rounding is all that
# is left; the relative residual of their equations.
_MAX_STEPS, _IDLE, _FORCING = 300, 3, 1e-8
# What rounding hides of the objective, as a part of it.
_UNSEEN = 1e-12
# The relative residual of the equations for the derivative of L by Z.
_FOLLOWING = 1e-10


def nearest_sparse(matrix: Array, weight: float, off: float, eps: float) -> Near:
    """Return L up to rounding; in its derivative by Z, entries that are zero stay so.

    Z (m, m) is symmetric, w > 0, ``off`` is lambda >= 0, and eps > 0.
    """
    identity = namespace(matrix).eye(matrix.shape[0], dtype=matrix.dtype)
    smooth = matrix - identity / (2 * weight)

    def dense(inverse: float) -> tuple[Array, Array, Array]:
        found = nearest(smooth, weight, Interior(inverse=inverse)).output_kernel
        return *eigh(found), found

    barrier = max(eps, _BARRIER * float(dense(eps)[0][-1]) ** 2)
    held = Orthant(off, inverse=eps, barrier=eps)
    iterates = newton(
        Quadratic(weight * matrix, weight),
        Orthant(off, inverse=eps, barrier=barrier),
        Decomposed(*dense(barrier)),
        rtol=_FORCING,
    )
    least, idle = float("inf"), 0
    for n_steps, iterate in enumerate(iterates):
        value = iterate.point.value + held.value(iterate)
        # under a barrier higher than eps the value may be far above the least one
        near = value - least <= _UNSEEN * abs(least)
        idle = idle + 1 if near and value >= least else 0
        least = min(least, value)
        if idle == _IDLE or n_steps == _MAX_STEPS:
            break
    best = iterate.kernel.matrix
    assert best is not None
    return Near(best, held.value(iterate), _following(iterate.kernel, weight, held))


def _following(kernel: Decomposed, weight: float, penalty: Orthant) -> Followed:
    """Return the derivative of L by Z, over the entries of L that are not zero."""
    values, vectors, matrix = kernel
    assert matrix is not None
    free = namespace(matrix).astype(matrix != 0, matrix.dtype)
    second = weight + penalty.barrier_curvature(values)

    def rotated(scale: Array, change: Array) -> Array:
        return free * (vectors @ (scale * (vectors.T @ change @ vectors)) @ vectors.T)

    def derivative(change: Array) -> Array:
        return symmetric(
            conjugate_gradient(
                lambda moved: rotated(second, moved),
                weight * free * change,
                lambda right: rotated(1 / second, right),
                rtol=_FOLLOWING,
            )
        )

    return Followed(derivative, matrix)
