r"""A Newton step where K has few features: solved for their weights.

With K = R R', R (n_samples, k) of few columns, D = R'R diagonal, and L = B B', the
functions of a model are R Z B', Z = R'C B. The step X of Z solves

.. math:: (\alpha I + (R \otimes B)' W (R \otimes B))\, X = R' r B, \qquad
          r = a - \alpha C,

W the second derivative of the loss, minimised over the intercept. That is the primal
problem: X lowers the objective wherever conjugate gradients are stopped, as the steps
of dual variables need not, so that a rough one will do. And they work on arrays that
are as small as Z. The preconditioner takes features for uncorrelated, as they nearly
are along the axes of R, and outputs for unrelated, or all for equally curved.

The change of C with R'(C + change) B = Z + X is r / alpha, and
R D^{-1} (X - R' r B / alpha) B^+ beside it.
"""

from __future__ import annotations

from collections.abc import Callable

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, inner, namespace, row_sums
from okl.optimization.conjugate_gradient import conjugate_gradient
from okl.output_kernels import SpectralKernel
from okl.solvers.predictor.approximation import Prepared
from okl.solvers.predictor.newton_point import (
    MAX_HALVINGS,
    Direction,
    NewtonPoint,
    drift_of,
    line_search,
)

# The preconditioned residual of a step: at most this, the root of the gap, or this.
_FORCING, _LEAST = 0.1, 1e-8
# Most products.
_PRODUCTS = 500


def has_few_features(prepared: Prepared) -> bool:
    """Tell whether steps are solved for in weights of features.

    The L of a tree is not decomposed for it.
    """
    kernel = prepared.kernel
    few = prepared.approximation.features is not None
    return few and kernel.rank > 0 and kernel.nodes is None


def feature_step(
    prepared: Prepared, point: NewtonPoint, alpha: float, gap: float
) -> NewtonPoint | None:
    """Return the next point, None where no step lowers the objective."""
    problem, kernel = prepared.problem, prepared.kernel.spectral().on_range()
    assert prepared.approximation.features is not None
    rows, squares = prepared.approximation.features
    curvature, entries = problem.curvature(point.scores), problem.entries

    def bend(ahead: Array) -> Array:
        """Return W times predictions."""
        if problem.centered:
            sums = entries.sums(curvature.product(ahead))
            ahead = ahead - entries.spread(entries.solve_total(curvature, sums))
        return curvature.product(ahead)

    def hessian(step: Array) -> Array:
        image = rows.T @ bend(rows @ kernel.forward(step))
        return alpha * step + kernel.adjoint(image)

    residual = point.gradient - alpha * point.dual
    right = kernel.adjoint(rows.T @ residual)
    step = conjugate_gradient(
        hessian,
        right,
        _preconditioner((rows * rows).T @ curvature.entries, kernel, curvature, alpha),
        rtol=min(_FORCING, max(abs(gap) ** 0.5, _LEAST)),
        max_iter=_PRODUCTS,
    )
    ahead = rows @ kernel.forward(step)
    roots = namespace(step).sqrt(kernel.eigenvalues)
    added = kernel.from_coordinates((step - right / alpha) / roots)
    change = residual / alpha + rows @ (added / squares[:, None])
    drift = drift_of(problem, curvature, ahead)
    direction = Direction(change, ahead, drift, -inner(right, step))
    return line_search(problem, point, direction, alpha, MAX_HALVINGS)


def _preconditioner(
    weights: Array, kernel: SpectralKernel, curvature: Curvature, alpha: float
) -> Callable[[Array], Array]:
    """Return nearly the inverse, given the curvature of each feature and output."""
    xp, values = namespace(weights), kernel.eigenvalues
    if kernel.couples:
        weights = xp.mean(weights, axis=1, keepdims=True)
    scale = 1 / (alpha + weights * values)
    if kernel.couples or curvature.separable:
        return lambda right: scale * right
    # along what all outputs share, which the softmax loss does not see, it is alpha
    shared = 1 / xp.sqrt(values)
    scaled, height = scale * shared, alpha * inner(shared, shared)
    size = row_sums(scaled * shared)

    def precondition(right: Array) -> Array:
        alone = scale * right
        alone = alone - scaled * (row_sums(alone * shared) / size)
        return alone + shared * (row_sums(right * shared) / height)

    return precondition
