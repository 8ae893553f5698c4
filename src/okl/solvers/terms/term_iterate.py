"""The current point of the rounds of Newton's method for several kernels.

It has the scores of some functions, and an upper bound of their norms and penalties. On
the line from one point to the next these are at most their linear interpolation, as
they are convex, so that only the loss is evaluated again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from okl.numerics.arrays import Array, inner, symmetric
from okl.problems import Problem
from okl.solvers.predictor.approximation import Approximation
from okl.solvers.terms.term_model import TermModel
from okl.solvers.terms.term_point import TermPoint
from okl.solvers.terms.term_start import TermStart

# Less damping of the second derivative than this is none.
UNDAMPED = 1e-4
# The dual value is loose where the relative gap is above this.
_DOUBTFUL = 1e-7
# Sufficient decrease along a round, and how often it is halved.
_ARMIJO, _HALVINGS = 1e-4, 30


class TermIterate(NamedTuple):
    """The current point: scores of some functions, and what they cost."""

    predictions: Array  # F (n_samples, n_outputs)
    scores: Array  # F + 1b' with the best b
    intercept: Array | None  # b, None where it is none or part of the targets
    gradient: Array  # minus that of the loss
    cost: float  # at least alpha (||f||^2 / 2 + R)
    objective: float  # the loss and the cost

    @classmethod
    def of(cls, problem: Problem, predictions: Array, cost: float) -> TermIterate:
        """Evaluate the loss, at the best intercept."""
        scores, intercept = problem.at_best_intercept(predictions)
        if problem.weights is None and "quadratic" in problem.loss.capabilities:
            intercept = None
        value, gradient = problem.loss_and_downhill(scores)
        return cls(predictions, scores, intercept, gradient, cost, value + cost)

    @classmethod
    def of_start(cls, problem: Problem, alpha: float, start: TermStart) -> TermIterate:
        """Evaluate the functions of C and L_q that a neighbouring problem had."""
        terms: Any = problem.operator
        products = [K @ start.dual for K in terms.terms]
        parts = [p @ start.matrices[q, ...] for q, p in enumerate(products)]
        cost = problem.structure.penalty(start.matrices)
        cost += sum(inner(start.dual, part) for part in parts) / 2
        return cls.of(problem, sum(parts), alpha * cost)

    def model(
        self,
        problem: Problem,
        approximation: Approximation,
        alpha: float,
        damped: float,
    ) -> TermModel:
        """Return the quadratic model of the loss at these scores, damped if it can be.

        Damping moves it a part of the way to a quadratic that is nowhere below the
        loss.
        """
        curvature = None
        if damped > UNDAMPED:
            there = problem.targets, self.scores, problem.weights
            curvature = problem.loss.damped_curvature(*there, share=damped)
        if curvature is None:
            curvature = problem.curvature(self.scores)
        return TermModel(
            problem, alpha, self.predictions, self.gradient, curvature, approximation
        )

    def dual_value(
        self, problem: Problem, alpha: float, point: TermPoint, *, shown: bool
    ) -> float:
        """Return the dual value at minus the gradient of the loss.

        For a quadratic loss, if that is loose, the larger one of it and of the dual
        value at alpha C, as the certificate does where a model shows C (``shown``).
        """
        gradient = self.gradient
        grams = problem.entries.gram(gradient, gradient) / (2 * alpha**2)
        conjugate = problem.structure.conjugate(symmetric(grams))
        value = problem.dual_loss(gradient) - alpha * conjugate
        close = self.objective - value <= _DOUBTFUL * abs(self.objective)
        if close or not shown or "quadratic" not in problem.loss.capabilities:
            return value
        own = problem.dual_loss(alpha * point.dual)
        return max(value, own - alpha * point.response.value)

    def towards(self, problem: Problem, there: TermIterate) -> TermIterate:
        """Return the next point: the other one or, if too high, one on the way."""
        ahead = there.predictions - self.predictions
        slope = there.cost - self.cost - inner(self.gradient, ahead)
        step, moved = 1.0, there
        for _ in range(_HALVINGS):
            if moved.objective <= self.objective + _ARMIJO * step * min(slope, 0.0):
                break
            step /= 2
            cost = self.cost + step * (there.cost - self.cost)
            moved = TermIterate.of(problem, self.predictions + step * ahead, cost)
        return moved
