"""Held-out predictions of a path, from the weights of features.

Where Newton's method finds these weights, held-out rows need no dual variables, and
none are made. The gap of a fit is that of its own primal and dual value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from okl.problems import Formulation, Problem
from okl.solvers import FeatureNewton, NewtonCG, choose_solver

# Up to so many features for each row their weights are worth while, of which no dual
# variables are made.
_SOLVER = FeatureNewton(widest=2.0)
# The solvers that it stands for.
_FOR = (FeatureNewton.name, NewtonCG.name)


def has_feature_path(problem: Problem, n_alphas: int) -> bool:
    """Tell whether weights of features are found instead of dual variables."""
    chosen = choose_solver("auto", problem, n_alphas=n_alphas)
    return chosen.name in _FOR and not _SOLVER.missing(problem)


def predictions(
    formulation: Formulation,
    cross: Any,
    alphas: Sequence[float],
    *,
    tol: float,
    max_iter: int,
) -> Iterator[tuple[np.ndarray, float]]:
    """Yield the predictions of a path, and the gap of a fit that did not end or 0.

    Parameters
    ----------
    formulation : Formulation
        Of the training rows.
    cross : object
        K_test,train, of the operator that the training rows are some of.
    alphas, tol, max_iter
        As in `okl.solvers.solve_path`.
    """
    problem = formulation.problem
    prepared = _SOLVER.prepare(problem)
    for point, gap in _SOLVER.models(prepared, alphas, tol=tol, max_iter=max_iter):
        weights = prepared.kernel.multiply(point.inside)
        weights = prepared.rows.rows.along(weights)
        found = cross.function(problem.operator, weights)
        for constant in (point.intercept, formulation.target_means):
            found = found if constant is None else found + constant
        yield found, gap if gap > tol else 0.0
