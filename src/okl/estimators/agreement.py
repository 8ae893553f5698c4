"""A check that what was certified are the scores of `predict`, in spite of rounding.

Solvers certify the scores that their own products give. These are taken with a centred
kernel matrix, in a few outputs, along eigenvectors; `predict` multiplies in another
way, and where kernel values are large, or all alike, rounding makes the scores differ.
Hence a model is compared with its solution in a few rows. Where they differ by more
than the tolerance allows, all scores of `predict` are evaluated and certified instead.

With the term of a `Row`, the certified scores are more than `predict` gives: each
training row has a term of its own, which no new row has. That term is added to the
scores of `predict` before they are compared, which so checks the other terms.

There is one remedy. For a kernel with features, the squared loss and L given, the
weights of the features have a closed form, which keeps the digits that a product of
features and rounded dual coefficients loses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from okl.certificates import Certificate
from okl.estimators.score_function import ScoreFunction
from okl.estimators.targets import TrainingTargets
from okl.estimators.training import Training
from okl.kernels import Kernel
from okl.problems import Formulation
from okl.solvers import Solution

# Rows that are looked at, and the part of the tolerance that they may differ by.
_ROWS, _PART = 32, 0.1
# Of more scores than this fewer rows are looked at, down to so many.
_SCORES, _FEWEST = 10**6, 8
# What rounding of the entries of K does is only estimated. Where all scores of
# `predict` were certified, which show a part of it, a proof is withdrawn only if the
# estimate is so many times the tolerance.
_EVALUATED = 10.0
# A relative rise of the objective below this does not count in a model without a proof.
_NOTICED = 1e-8


def certified_function(
    training: Training, agreement: Agreement, targets: TrainingTargets
) -> tuple[ScoreFunction, Certificate]:
    """Return the function that a solution stands for, and the certificate of that.

    The function is in the units of the user, the certificate of normalised targets.

    Parameters
    ----------
    training : Training
        The training rows.
    agreement : Agreement
        The solution.
    targets : TrainingTargets
        What it was fitted to, and their units.
    """
    units, tasks = targets.units, targets.observed.tasks
    function = agreement.function(training).in_units(units)

    def scores(rows: Any) -> np.ndarray:
        X = training.X[rows]
        if tasks is None:
            return units.scores(function.of_training_rows(X, rows))
        asked = tasks.restrict(rows)
        return units.scores(function.of_own_tasks(X, asked), asked)

    certificate, tol = agreement.solution.certificate, agreement.tol
    rounding = agreement.rounding(scores)
    mended = agreement.mended(training)
    if mended is not None:  # coefficients of features need no kernel matrix
        agreement, function = mended[0], mended[1].in_units(units)
        return function, agreement.certificate(scores(slice(None)))
    if rounding.of_predictions > _PART * tol:
        certificate = agreement.certificate(scores(slice(None)))
        proved, most = certificate.status == "optimal", _EVALUATED * tol
    else:
        proved, most = not certificate.failed, tol
    if proved and rounding.of_entries > most:
        certificate = certificate.limited_by_rounding(tol, rounding.of_entries)
    return function, certificate


class Rounding(NamedTuple):
    """By how much rounding changes the objective, relative to it.

    Attributes
    ----------
    of_predictions : float
        Predictions are not those that were certified.
    of_entries : float
        Entries of the kernel matrix were rounded when they were evaluated.
    """

    of_predictions: float
    of_entries: float


@dataclass(frozen=True)
class Agreement:
    """A solution beside the scores that `predict` gives on the training rows.

    Attributes
    ----------
    formulation : Formulation
        Whose problem was solved.
    solution : Solution
    alpha, tol : float
        Of the fit.
    max_iter : int
        The number of iterations at which solvers give up.
    """

    formulation: Formulation
    solution: Solution
    alpha: float
    tol: float
    max_iter: int

    def rounding(self, predict: Callable[[Any], np.ndarray]) -> Rounding:
        """Return by how much rounding changes the objective, seen in a few rows.

        Parameters
        ----------
        predict : callable
            From row numbers to scores, those of each row's own task in long form.
        """
        problem, solution = self.formulation.problem, self.solution
        rows = self._inspected()
        found = self.formulation.seen(predict(rows), rows)
        known = problem.entries.predictions_at(solution.dual_coef, rows)
        if solution.intercept is not None:
            known = known + problem.entries.spread(solution.intercept, rows)
        targets, weights = problem.targets[rows], problem.weights
        weights = None if weights is None else weights[rows]
        loss = problem.loss.smoothed()
        slopes = loss.negative_gradient(targets, known, weights)
        steepest = np.maximum(
            np.abs(slopes), np.abs(loss.negative_gradient(targets, found, weights))
        )
        difference = found - known
        share = problem.operator.n_samples / len(rows)
        # the change of the loss, which is convex, then of the norm of the dual point
        seen = share * np.sum(np.abs(difference) * steepest)
        second_derivative = np.mean(problem.operator.diagonal())
        second_derivative *= solution.output_kernel.largest_eigenvalue
        seen += share * np.sum(difference**2) * second_derivative / (2 * self.alpha)
        scale = problem.gap_scale.of(solution.certificate.primal)
        if scale == 0:
            return Rounding(0.0, 0.0)
        unseen = share * self._change_by_error(slopes, rows)
        unseen *= problem.operator.largest_entry
        return Rounding(float(seen) / scale, unseen / scale)

    def _change_by_error(self, slopes: np.ndarray, rows: np.ndarray) -> float:
        """Return alpha tr(L C'EC) / 2 for errors E of K, from some rows of alpha C.

        Errors are of the size of the machine epsilon. L may be zero only because the
        matrix has no digits left: then the result is C'EC / 2 times the objective.
        """
        problem, kernel = self.formulation.problem, self.solution.output_kernel
        if kernel.rank == 0:
            scale = abs(self.solution.certificate.primal) / self.alpha
            size = scale * float(np.sum(slopes**2))
        else:
            size = float(np.sum(problem.entries.squared_lengths(slopes, kernel, rows)))
        return np.finfo(np.float64).eps * size / (2 * self.alpha)

    def _inspected(self) -> np.ndarray:
        """Return numbers of rows: those of the largest kernel values, and others."""
        operator = self.formulation.problem.operator
        n, basis = operator.n_samples, self.formulation.basis
        n_outputs = self.formulation.problem.n_outputs if basis is None else len(basis)
        half = min(_ROWS, max(_SCORES // n_outputs, _FEWEST)) // 2
        if n <= 2 * half:
            return np.arange(n)
        diagonal = np.asarray(operator.diagonal()).reshape(n, -1).max(axis=1)
        largest = np.argpartition(diagonal, n - half)[n - half :]
        spaced = np.linspace(0, n - 1, half).astype(np.intp)
        return np.union1d(largest, spaced)

    def function(self, training: Training) -> ScoreFunction:
        """Return what the solution predicts."""
        formulation, solution = self.formulation, self.solution
        dual_coef = formulation.coefficients(solution.dual_coef)
        intercept = formulation.intercept(dual_coef, solution.intercept)
        return ScoreFunction(training.kernel, training.rows, dual_coef, intercept)

    def mended(self, training: Training) -> tuple[Agreement, ScoreFunction] | None:
        """Return the best function for the L found, where that has a closed form.

        It has coefficients of features. With it comes the solution; if that has failed,
        with the dual variables of the new residuals. None for other kernels and losses.
        """
        formulation, solution = self.formulation, self.solution
        problem, kernel = formulation.problem, solution.output_kernel
        inside = problem.feature_coefficients(kernel, self.alpha)
        if inside is None:
            return None
        assert isinstance(training.kernel, Kernel)
        features = training.kernel.features(training.X)
        coefficients, intercept = formulation.of_features(inside, features)
        scores = features @ coefficients
        if intercept is not None:
            scores = scores + intercept
        agreement = self
        if solution.certificate.failed:
            residuals = problem.targets - formulation.seen(scores)
            dual = problem.balanced(residuals) / self.alpha
            theta = problem.entries.theta(dual, kernel)
            agreement = replace(self, solution=replace(solution, dual_coef=theta))
        function = replace(
            agreement.function(training),
            intercept=intercept,
            feature_coef=coefficients,
        )
        return agreement, function

    def certificate(self, scores: np.ndarray) -> Certificate:
        """Return the certificate of the model with these scores.

        Parameters
        ----------
        scores : array (n_samples, n_outputs), or (n_samples, 1) in long form
            What `predict` gives on the training rows.
        """
        problem, solution = self.formulation.problem, self.solution
        predictions = self.formulation.seen(scores)
        intercept: Any = 0.0
        if solution.intercept is not None:
            intercept = solution.intercept
            predictions = predictions - problem.entries.spread(intercept)
        before = solution.certificate
        found = problem.certificate(
            solution.dual_coef,
            solution.output_kernel,
            self.alpha,
            tol=self.tol,
            rank_limited=before.status == "rank_limited",
            intercept=intercept,
            dual_point=solution.dual_point,
            predictions=predictions,
        )
        if found.status == "optimal":
            return found
        scale = problem.gap_scale.of(before.primal)
        worse = found.primal > before.primal + max(self.tol, _NOTICED) * scale
        limited = solution.is_limited(problem)
        ended = before.status in ("max_iter", "rank_limited") or limited
        if ended and not worse:
            return found.of_fit(
                solution.n_iter, self.max_iter, self.tol, limited=limited
            )
        return found.limited_by_rounding(self.tol)
