"""Held-out predictions of a path, from the weights of sparse features.

Where Newton's method finds these weights, held-out rows need no dual variables, and
none are made. The gap of a fit is that of its own primal and dual value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from okl.operators.sparse_features import SparseFeatures, function_at
from okl.problems import Formulation, Problem
from okl.solvers import FeatureNewton, choose_solver


def has_feature_path(problem: Problem, n_alphas: int) -> bool:
    """Tell whether the solver of a problem finds weights of features."""
    chosen = choose_solver("auto", problem, n_alphas=n_alphas)
    return chosen.name == FeatureNewton.name


def predictions(
    formulation: Formulation,
    cross: Any,
    alphas: Sequence[float],
    others: Sequence[Any],
    *,
    tol: float,
    max_iter: int,
) -> Iterator[tuple[np.ndarray, float, Any]]:
    """Yield the predictions of a path, the gap of a fit that did not end or 0, its end.

    Parameters
    ----------
    formulation : Formulation
        Of the training rows.
    cross : object
        K_test,train, of the operator that the training rows are some of.
    alphas, others, tol, max_iter
        As in `okl.solvers.solve_path`.
    """
    problem, solver = formulation.problem, FeatureNewton()
    operator, prepared = problem.operator, solver.prepare(problem)
    assert isinstance(operator, SparseFeatures)
    path = solver.models(prepared, alphas, tol=tol, max_iter=max_iter, others=others)
    for point, gap, end in path:
        weights = prepared.kernel.multiply(point.inside)
        found = function_at(operator, cross, weights)
        for constant in (point.intercept, formulation.target_means):
            found = found if constant is None else found + constant
        yield found, gap if gap > tol else 0.0, end
