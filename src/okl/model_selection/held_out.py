"""Scores on held-out rows: every structure at every alpha, one decomposition a fold.

The blocks of a fold come out of the one matrix of all rows. That matrix may be
centred already: centring the block of the training rows again gives the same as
centring the block of the raw matrix, and with coefficients that sum to zero the
held-out predictions agree as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from okl.model_selection.path import solve_path
from okl.operators import Operator
from okl.problems import Observed
from okl.structures import Structure


@dataclass(frozen=True)
class FoldScores:
    """What one fold says.

    Attributes
    ----------
    scores : array (n_structures, n_alphas)
        Of the held-out rows.
    largest_gap : float
        The largest relative gap among the fits that ended at ``max_iter``, else 0.
    """

    scores: np.ndarray
    largest_gap: float


def score_fold(
    operator: Operator,
    observed: Observed,
    structures: Sequence[Structure],
    grids: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    judge: Callable[[np.ndarray, np.ndarray], float],
    *,
    fit_intercept: bool,
    tol: float,
    max_iter: int,
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
        larger the better.
    fit_intercept, tol, max_iter
        As in the estimators.
    """
    training = observed.restrict(train)
    inputs = training.inputs(operator.restrict(train), fit_intercept=fit_intercept)
    cross = operator.cross(test, train)
    scores = np.empty(grids.shape)
    gaps = [0.0]
    for row, (structure, alphas) in enumerate(zip(structures, grids, strict=True)):
        formulation = training.formulate(inputs, structure)
        solutions = solve_path(formulation.problem, alphas, tol=tol, max_iter=max_iter)
        for column, solution in enumerate(solutions):
            dual_coef = formulation.coefficients(solution.dual_coef)
            predictions = cross @ dual_coef
            intercept = formulation.intercept(dual_coef, solution.intercept)
            if intercept is not None:
                predictions = predictions + intercept
            scores[row, column] = judge(predictions, test)
            if solution.certificate.status == "max_iter":
                gaps.append(solution.certificate.relative_gap)
    return FoldScores(scores, max(gaps))
