"""The current point of Newton's method, and the line search along a direction."""

from __future__ import annotations

from typing import NamedTuple

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, inner, namespace
from okl.operators import JointOperator
from okl.problems import Problem

# Sufficient decrease along a direction, and the part of a value that rounding hides.
_ARMIJO, _UNSEEN = 1e-4, 1e-15
# How often a step is halved at most.
MAX_HALVINGS = 20
# A change of the intercept of more than so many times that of the scores is wrong.
_FAR = 2.0


class NewtonPoint(NamedTuple):
    """Dual variables C, and the loss at their predictions and the best intercept."""

    dual: Array  # C (n_samples, n_outputs)
    predictions: Array  # J C
    intercept: Array | None  # the best b (n_outputs,), None without an intercept
    scores: Array  # J C + 1 b'
    gradient: Array  # minus that of the loss, a
    objective: float  # the loss plus alpha <C, J C> / 2
    promise: float = float("inf")  # the decrease expected of the full step to here
    products: int = 0  # with J, that the equations of that step took
    image: Array | None = None  # J a, None where it was not computed

    @property
    def is_seen(self) -> bool:
        """Whether what was promised is more than rounding of the objective."""
        return self.promise > _UNSEEN * abs(self.objective)

    def image_by(self, joint: JointOperator) -> Array:
        """Return J a, computed if it was not."""
        return joint @ self.gradient if self.image is None else self.image

    @classmethod
    def at(
        cls,
        problem: Problem,
        dual: Array,
        predictions: Array,
        alpha: float,
        near: Array | None = None,
    ) -> NewtonPoint:
        """Return the point of C and J C, given a guess of its intercept or None."""
        scores, intercept = problem.at_best_intercept(predictions, near)
        value, gradient = problem.loss_and_downhill(scores)
        objective = value + alpha / 2 * inner(dual, predictions)
        return cls(dual, predictions, intercept, scores, gradient, objective)


class Direction(NamedTuple):
    """A Newton step: changes of C, of J C, and of b to first order."""

    change: Array
    predictions: Array
    intercept: Array | None
    slope: float  # of the objective along it


def drift_of(problem: Problem, curvature: Curvature, ahead: Array) -> Array | None:
    """Return the change of the best intercept to first order, None if unknown."""
    if not problem.centered:
        return None
    sums = problem.entries.sums(curvature.factor(curvature.adjoint(ahead)))
    drift = -problem.entries.solve_total(curvature, sums)
    xp = namespace(ahead)
    # where all curvature is nearly zero the estimate is meaningless
    sane = xp.max(xp.abs(drift)) <= _FAR * xp.max(xp.abs(ahead))
    return drift if bool(sane) else None


def line_search(
    problem: Problem,
    point: NewtonPoint,
    direction: Direction,
    alpha: float,
    max_halvings: int,
) -> NewtonPoint | None:
    """Backtrack until the objective falls enough."""
    unseen = _UNSEEN * abs(point.objective)
    if direction.slope > unseen:
        return None
    drift = direction.intercept
    for halvings in range(max_halvings + 1):
        step = 0.5**halvings
        moved = NewtonPoint.at(
            problem,
            point.dual + step * direction.change,
            point.predictions + step * direction.predictions,
            alpha,
            near=None if drift is None else point.intercept + step * drift,
        )
        enough = _ARMIJO * step * direction.slope
        if moved.objective <= point.objective + enough + unseen:
            return moved._replace(promise=-direction.slope)
    return None
