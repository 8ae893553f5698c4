r"""The equations of a Newton step in the weights of few features.

With K = Phi Phi' the change of the predictions is Phi S, S one weight for each feature
and output, and the equations of `okl.solvers.predictor.hessian` are, multiplied by
Phi',

.. math:: \alpha S L^{-1} + \Phi' W (\Phi S) = \Phi' r.

There are as many as features times outputs, fewer than dual variables by the number of
rows for each feature, and no probability is divided by. Conjugate gradients carry
S L^-1 beside S, so that nothing solves with L. The dual variables follow from
alpha (C + change) = a - W Phi S, made to agree with S to the last digit by the least
change along Phi.

*Preconditioners* are L / alpha while few products are enough, then the inverse with the
diagonal of W in the place of W: one matrix Phi' W_c Phi for each output, along the
nodes of a tree (`okl.solvers.predictor.tree_preconditioner`).
Dual variables need D in its place, above W, which is larger where the model is sure:
that took twice the iterations, and all of the features more work than it saved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from okl.numerics.arrays import Array, inner, namespace, row_sums
from okl.solvers.predictor.hessian import HessianSystem
from okl.solvers.predictor.newton_equations import ROUGH
from okl.solvers.predictor.newton_point import Direction, drift_of
from okl.solvers.predictor.tree_preconditioner import (
    eliminated,
    nodes_of,
    weighted_grams,
)
from okl.solvers.predictor.weight_space import WeightSpace

_MAX_ITER = 200

# From a residual to S and alpha S L^-1.
Pair = tuple[Array, Array]


class WeightEquations:
    """The equations of a step, by conjugate gradients.

    Parameters
    ----------
    space : WeightSpace
    system : HessianSystem
    residual : array (n_samples, n_outputs)
        r, what alpha C lacks; its rows sum to zero.
    """

    rough = ROUGH

    def __init__(
        self, space: WeightSpace, system: HessianSystem, residual: Array
    ) -> None:
        self._space, self._system, self._residual = space, system, residual
        self._left = space.features.T @ residual
        self._weights = 0.0 * self._left

    def steps(self) -> Iterator[float]:
        """Go on; yield the preconditioned residual that is left, relative."""
        features = self._space.features
        precondition = self._preconditioner()
        direction, above = precondition(self._left)
        size = first = inner(self._left, direction)
        for _ in range(_MAX_ITER):
            image = above + features.T @ self._curved(features @ direction)
            curvature = inner(direction, image)
            if curvature <= 0 or size <= 0:  # by rounding
                return
            self._weights = self._weights + (size / curvature) * direction
            self._left = self._left - (size / curvature) * image
            scaled, more = precondition(self._left)
            previous, size = size, inner(self._left, scaled)
            yield (max(size, 0.0) / first) ** 0.5
            direction = scaled + (size / previous) * direction
            above = more + (size / previous) * above

    def direction(self) -> Direction:
        """Return the step as it is so far."""
        system, problem = self._system, self._system.prepared.problem
        curved = self._curved(self._space.features @ self._weights)
        change = self._residual - curved - self._space.dual(self._left)
        change = _balanced(change) / system.alpha
        image = system.prepared.joint @ change
        drift = drift_of(problem, system.curvature, image)
        return Direction(change, image, drift, -inner(self._residual, image))

    def _curved(self, predictions: Array) -> Array:
        """Return W, at the best intercept, times predictions."""
        system, curvature = self._system, self._system.curvature
        return curvature.factor(system.project(curvature.adjoint(predictions)))

    def _preconditioner(self) -> Callable[[Array], Pair]:
        """Return what makes S and alpha S L^-1 of a residual."""
        alpha, curvature = self._system.alpha, self._system.curvature
        kernel, features = self._system.prepared.kernel, self._space.features
        if self._system.columns is None:
            return lambda right: (kernel.multiply(right) / alpha, right)
        shared = curvature.shared
        assert shared is not None
        xp, k = namespace(shared), features.shape[1]
        flat = weighted_grams(features, curvature.diagonal - shared**2)
        grams = xp.reshape(flat.T, (-1, k, k))
        inverse = eliminated(flat, nodes_of(kernel), alpha, free=True)

        def apply(right: Array) -> Pair:
            solved = inverse(right)
            inside = (grams @ solved.T[:, :, None])[:, :, 0].T
            return solved, _balanced(right - inside)

        return apply


def _balanced(rows: Array) -> Array:
    """Return rows that sum to zero: softmax is blind to what all classes share."""
    return rows - row_sums(rows) / rows.shape[1]
