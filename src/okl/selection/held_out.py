"""Scores on held-out rows: every structure at every alpha, one decomposition a fold.

The blocks of a fold come out of the one matrix of all rows. That matrix may be
centred already: centring the block of the training rows again gives the same as
centring the block of the raw matrix, and with coefficients that sum to zero the
held-out predictions agree as well.

With the squared loss and complete targets all of a path happens in the eigenbasis of
the block of the training rows (`okl.selection.eigenbasis`). What models with a
known output kernel would score on rows left out one by one needs no folds at all
(`okl.selection.leave_one_out`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from okl.coding.tasks import COLUMNS, Sharing, Tasks
from okl.operators import KernelOperator, Operator
from okl.output_kernels import OutputKernel
from okl.problems import Formulation, Inputs, Observed
from okl.selection import eigenbasis
from okl.selection.leave_one_out import has_eigenbasis, leave_one_out
from okl.selection.one_sided import finite_scores
from okl.selection.path import BEHIND
from okl.solvers import Solution, solve_path
from okl.structures import Structure

# Scores need fewer digits than models: fits of other losses than the squared one, which
# take longest, end at so many times the tolerance, up to the second number.
_LOOSER, _LOOSEST = 100.0, 5e-3

# From held-out scores and row numbers to a number, or an array always of one shape.
Judge = Callable[[np.ndarray, np.ndarray], Any]


@dataclass(frozen=True)
class FoldScores:
    """The scores of one fold.

    Attributes
    ----------
    scores : array (n_structures, n_alphas, ...)
        What the judge returns for the held-out rows at each structure and alpha: a
        number, one for each output, or an object that is an array of rows and columns.
        NaN at alphas that were left out.
    largest_gap : float
        The largest relative gap among the fits that ended at ``max_iter``, else 0.
    fitted : bool array (n_structures, n_alphas)
        Which alphas were not left out.
    watched : array (n_structures, n_alphas, ...) or None
        What ``watch`` of `score_fold` said, NaN where the scores are; None without.
    dropped : bool array (n_structures, n_alphas)
        Which alphas were fitted, and then forgotten.
    """

    scores: np.ndarray
    largest_gap: float
    fitted: np.ndarray
    watched: np.ndarray | None
    dropped: np.ndarray

    @classmethod
    def of(
        cls,
        scores: Mapping[tuple[int, int], Any],
        watched: Mapping[tuple[int, int], Any],
        shape: tuple[int, ...],
        largest_gap: float,
    ) -> FoldScores:
        """Collect what was said at some places of (n_structures, n_alphas)."""
        fitted = np.zeros(shape, dtype=bool)
        for at in scores:
            fitted[at] = True
        told = _filled(watched, shape) if watched else None
        return cls(
            _filled(scores, shape), largest_gap, fitted, told, np.zeros_like(fitted)
        )

    def drop(self, some: np.ndarray) -> None:
        """Forget the fits of a bool array (n_structures, n_alphas)."""
        self.dropped[some & self.fitted] = True
        self.scores[some], self.fitted[some] = np.nan, False

    def with_more(self, more: FoldScores) -> FoldScores:
        """Return these scores and those of other alphas."""
        scores, new = self.scores.copy(), more.fitted
        scores[new] = more.scores[new]
        return replace(
            self,
            scores=scores,
            largest_gap=max(self.largest_gap, more.largest_gap),
            fitted=self.fitted | new,
        )


def score_fold(
    operator: Operator,
    observed: Observed,
    structures: Sequence[Structure],
    grids: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    judge: Judge,
    *,
    fit_intercept: bool,
    tol: float,
    max_iter: int,
    largest: np.ndarray | None = None,
    watch: Judge | None = None,
    tried: np.ndarray | None = None,
) -> FoldScores:
    """Fit on some rows along the grid of each structure; judge on the others.

    Parameters
    ----------
    operator : Operator
        The kernel matrix of all rows, centred or not.
    observed : Observed
        Of all rows; tasks without training rows have an intercept of zero.
    structures : sequence of Structure
    grids : array (n_structures, n_alphas)
        Decreasing alphas of each structure.
    train, test : array of int
        Row numbers.
    judge : callable
        From held-out scores (n_test, n_outputs) and row numbers to one number, the
        larger the better, or an array; in long form they are (n_test, 1), of each row's
        own task.
    fit_intercept, tol, max_iter
        As in the estimators; there is no intercept where the training rows forbid it.
    largest : array (n_structures,), optional
        Where models are hardly more than constants; None for the first of each grid.
    watch : callable, optional
        Like the judge, a number, or several of which the first counts: the smaller
        alphas of a path are left out as soon as the best one so far is ten times as
        large, and ``largest`` ten times as large as that. None for all alphas.
    tried : bool array (n_structures, n_alphas), optional
        Which alphas of each structure are fitted, at most; None for all.
    """
    training = observed.restrict(train)
    free = fit_intercept and not training.forbids_intercept
    inputs = training.inputs(operator.restrict(train), fit_intercept=free)
    cross, held_out = _products(operator, observed.tasks, train, test)
    finite = finite_scores(training, observed.restrict(test)) if free else None
    tried = np.ones(grids.shape, dtype=bool) if tried is None else tried
    largest = grids[:, 0] if largest is None else largest
    scores: dict[tuple[int, int], Any] = {}
    said: dict[tuple[int, int], Any] = {}
    largest_gap = 0.0
    for row, structure in enumerate(structures):
        columns = [int(column) for column in np.flatnonzero(tried[row])]
        if not columns:
            continue
        formulation = training.formulate(inputs, structure)
        alphas = grids[row, columns].tolist()
        path = _predicted(
            formulation, cross, held_out, alphas, tol=tol, max_iter=max_iter
        )
        watched = []
        for column, (found, gap) in zip(columns, path, strict=True):
            predictions = found if finite is None else finite(found)
            scores[row, column] = judge(predictions, test)
            largest_gap = max(largest_gap, gap)
            if watch is not None:
                said[row, column] = watch(predictions, test)
                watched.append(float(np.ravel(said[row, column])[0]))
                if grids[row, column] <= end_of_path(watched, alphas, largest[row]):
                    break
    return FoldScores.of(scores, said, grids.shape, largest_gap)


def _filled(values: Mapping[tuple[int, int], Any], shape: tuple[int, ...]) -> Any:
    """Return an array of values, NaN elsewhere; those with columns as objects."""
    one = np.shape(next(iter(values.values()), np.nan))
    large = len(one) > 1
    filled = np.full(
        shape if large else shape + one, np.nan, object if large else float
    )
    for at, value in values.items():
        filled[at] = value
    return filled


def end_of_path(
    scores: Sequence[float], alphas: Sequence[float], largest: float
) -> float:
    """Return the alpha that a path need not go below, from scores that may be NaN.

    Zero while the best is near ``largest``, where models are nearly constants: these
    may be better than what is fitted first, such as noise with a large unit.
    """
    if np.any(np.isnan(scores)):
        return 0.0
    best = len(scores) - 1 - int(np.argmax(scores[::-1]))  # of equal ones the smallest
    end = float(alphas[best]) / BEHIND
    return end if end <= largest / BEHIND**2 else 0.0


def _products(
    operator: Operator, tasks: Tasks | None, train: np.ndarray, test: np.ndarray
) -> tuple[Any, Sharing]:
    """Return what multiplies coefficients at held-out rows, and shares intercepts.

    In long form the products are those of each row's own task, no others.
    """
    if tasks is None:
        return operator.cross(test, train), COLUMNS
    assert isinstance(operator, KernelOperator)
    return operator.by_task(tasks, (test, train)), tasks.restrict(test)


def score_left_out(
    inputs: Inputs,
    formulations: Sequence[Formulation],
    targets: np.ndarray,
    grids: np.ndarray,
    judge: Judge,
) -> FoldScores:
    """Judge all rows at once, each predicted from all others, in closed form.

    Parameters
    ----------
    inputs : Inputs
        The kernel on all rows.
    formulations : sequence of Formulation
        One of these inputs for each structure.
    targets : array (n_samples, n_outputs)
        Of all rows.
    grids, judge
        As in `score_fold`; rows without weight are not judged.
    """
    rows = np.arange(len(targets))
    if inputs.row_weights is not None:
        rows = np.flatnonzero(inputs.row_weights > 0)
    scores = np.empty(grids.shape)
    for row, (formulation, alphas) in enumerate(zip(formulations, grids, strict=True)):
        left_out = leave_one_out(inputs, formulation, alphas)
        for column, residuals in enumerate(left_out):
            predictions = (targets - residuals)[rows]
            scores[row, column] = judge(predictions, rows)
    every = np.ones(grids.shape, dtype=bool)
    return FoldScores(scores, 0.0, every, None, ~every)


def _predicted(
    formulation: Formulation,
    cross: Any,
    held_out: Sharing,
    alphas: Sequence[float],
    *,
    tol: float,
    max_iter: int,
) -> Iterator[tuple[np.ndarray, float]]:
    """Yield the predictions of a path, and the gap of a fit that did not end or 0."""
    problem = formulation.problem
    if has_eigenbasis(problem):
        path = eigenbasis.models(problem, alphas, tol=tol, max_iter=max_iter)
        for model, inside in eigenbasis.predictions(formulation, cross, path):
            kernel, solution = model.output_kernel, model.solution
            exact = _by_features(formulation, kernel, model.alpha, cross)
            yield inside if exact is None else exact, _gap(solution)
        return
    if "quadratic" not in problem.loss.capabilities:
        tol = max(tol, min(_LOOSER * tol, _LOOSEST))
    for solution in solve_path(problem, alphas, tol=tol, max_iter=max_iter):
        dual_coef = formulation.coefficients(solution.dual_coef)
        predictions = cross @ dual_coef
        intercept = formulation.intercept(dual_coef, solution.intercept)
        if intercept is not None:
            predictions = predictions + held_out.spread(intercept)
        yield predictions, _gap(solution)


def _gap(solution: Solution | None) -> float:
    """Return the relative gap of a fit that did not reach the tolerance, else 0."""
    if solution is None or not solution.certificate.failed:
        return 0.0
    return solution.certificate.relative_gap


def _by_features(
    formulation: Formulation, kernel: OutputKernel, alpha: float, cross: Any
) -> np.ndarray | None:
    """Return held-out predictions of the best function for L, from features.

    None where the kernel has no narrow ones, or the loss no closed form.
    """
    inside = formulation.problem.feature_coefficients(kernel, float(alpha))
    if inside is None:
        return None
    coefficients, intercept = formulation.of_features(inside, cross.columns)
    predictions = cross.rows @ coefficients
    return predictions if intercept is None else predictions + intercept
