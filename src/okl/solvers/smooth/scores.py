"""Predictions of a model, and the gradient of the loss there."""

from __future__ import annotations

from typing import NamedTuple

from okl.numerics.arrays import Array, namespace
from okl.problems import Problem
from okl.solvers.solution import Solution


class Scores(NamedTuple):
    """Predictions F and F + 1 b', and minus the gradient of the loss there.

    These are (n_samples, n_outputs); the last is alpha C of the best f.
    """

    fitted: Array
    predictions: Array
    gradient: Array

    @classmethod
    def of(cls, problem: Problem, fit: Solution) -> Scores:
        """Return those of a model."""
        fitted = predictions = problem.entries.predictions(fit.dual_coef)
        if fit.intercept is not None:
            predictions = fitted + problem.entries.spread(fit.intercept)
        return cls(fitted, predictions, problem.downhill(predictions))

    @classmethod
    def zero(cls, problem: Problem) -> Scores:
        """Return those of the best constant."""
        zero = namespace(problem.targets).zeros_like(problem.targets)
        return cls.at_best(problem, zero)[0]

    @classmethod
    def at_best(
        cls, problem: Problem, fitted: Array, near: Array | None = None
    ) -> tuple[Scores, Array | None]:
        """Return those at the best intercept, and that, given a guess of it or None."""
        predictions, best = problem.at_best_intercept(fitted, near)
        return cls(fitted, predictions, problem.downhill(predictions)), best


def largest_curvature(problem: Problem) -> float:
    """Return a bound on the second derivative of the loss."""
    bound, weights = problem.loss.largest_curvature, problem.weights
    if weights is None:
        return bound
    xp = namespace(weights)
    tiny = float(xp.finfo(weights.dtype).smallest_normal)
    return bound * max(float(xp.max(weights)), tiny)
