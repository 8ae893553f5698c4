"""Weights of features, and what the loss is at their scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, inner
from okl.operators.feature_rows import FeatureRows
from okl.output_kernels import OutputKernel, SpectralKernel
from okl.problems import Problem
from okl.solvers.predictor.tree_preconditioner import FREE

# Units in the last place that rounding may take.
_UNITS = 4.0


@dataclass(frozen=True)
class FeatureProblem:
    """A problem with an L that is held fixed, and the features of K = Phi Phi'.

    Attributes
    ----------
    problem : Problem
    kernel : OutputKernel
        L.
    rows : FeatureRows
        Phi, with a constant feature if the intercept is free.
    """

    problem: Problem
    kernel: OutputKernel
    rows: FeatureRows

    def extended(self, weights: Array, intercept: Array | None) -> Array:
        """Return W with the intercept as its last row, if there is one."""
        if intercept is None:
            return weights
        return np.concatenate([weights, intercept[None, :]])

    @cached_property
    def axes(self) -> SpectralKernel:
        """The eigenbasis of L, with what the loss is blind to as good as free."""
        if is_separable(self.problem):
            return self.kernel.spectral()
        variances = self.kernel.diagonal()
        shared = np.full((len(variances), 1), (FREE * float(np.max(variances))) ** 0.5)
        return SpectralKernel.from_factor(np.hstack([self.kernel.factor(), shared]))

    @cached_property
    def least_single_alpha(self) -> float:
        """The smallest alpha that products in single precision do not lose.

        A few units in the last place of the largest entry that the second derivative
        may have on its diagonal, in the norm of the penalty.
        """
        curvature = self.problem.loss.largest_curvature
        weights = self.problem.weights
        heaviest = 1.0 if weights is None else float(np.max(weights))
        norms, variances = self.rows.rows.column_norms(), self.kernel.diagonal()
        largest = float(np.max(norms, initial=0.0)) * float(np.max(variances))
        return _UNITS * float(np.finfo(np.float32).eps) * curvature * heaviest * largest

    def balanced(self, inside: Array) -> Array:
        """Return U without what all outputs have in common, if the loss is blind to it.

        Then a sums to zero in each row, and at the optimum U = Phi'a / alpha does. The
        preconditioner takes it for granted.
        """
        if is_separable(self.problem):
            return inside
        return inside - np.mean(inside, axis=1, keepdims=True)

    def some(self, rows: slice) -> tuple[Array, Array | None]:
        """Return targets and weights of some rows."""
        weights = self.problem.weights
        return self.problem.targets[rows], None if weights is None else weights[rows]


def is_separable(problem: Problem) -> bool:
    """Tell whether the loss does not couple outputs."""
    one = problem.targets[:1]
    return problem.loss.curvature(one, one).separable


@dataclass(frozen=True)
class FeaturePoint:
    """U, the best intercept, and the value there.

    Attributes
    ----------
    of : FeatureProblem
    alpha : float
    inside : array (n_features, n_outputs)
        U, with W = U L.
    intercept : array (n_outputs,) or None
        The best b.
    scores : array (n_samples, n_outputs)
        Phi W + 1 b'.
    gradient : array (n_samples, n_outputs)
        Minus the gradient of the loss, a.
    objective : float
        The loss plus alpha <U, W> / 2.
    """

    of: FeatureProblem
    alpha: float
    inside: Array
    intercept: Array | None
    scores: Array
    gradient: Array
    objective: float

    @classmethod
    def at(
        cls, of: FeatureProblem, alpha: float, inside: Array, near: Array | None = None
    ) -> FeaturePoint:
        """Return the point of U; its intercept may be near to one."""
        problem = of.problem
        weights = of.kernel.multiply(inside)
        none = np.zeros(problem.n_outputs) if problem.centered else None
        predictions = of.rows.forward(of.extended(weights, none))
        scores, intercept = problem.at_best_intercept(predictions, near)
        value, gradient = 0.0, np.empty_like(scores)
        for rows in of.rows.slices:
            targets, own = of.some(rows)
            there, gradient[rows] = problem.loss.value_and_negative_gradient(
                targets, scores[rows], own
            )
            value += there
        objective = value + alpha / 2 * inner(inside, weights)
        return cls(of, alpha, inside, intercept, scores, gradient, objective)

    @cached_property
    def moments(self) -> Array:
        """Phi'a (n_features, n_outputs), and the sums of a for the intercept."""
        return self.of.rows.adjoint(self.gradient)

    @cached_property
    def dual_value(self) -> float:
        """That at alpha C = a."""
        moments = self.moments[:-1] if self.of.rows.constant else self.moments
        norm = inner(moments, self.of.kernel.multiply(moments))
        value, loss = 0.0, self.of.problem.loss
        for rows in self.of.rows.slices:
            targets, own = self.of.some(rows)
            value += loss.dual_value(targets, self.gradient[rows], own)
        return value - norm / (2 * self.alpha)

    @property
    def curvature(self) -> Curvature:
        """The second derivative of the loss."""
        return self.of.problem.curvature(self.scores)
