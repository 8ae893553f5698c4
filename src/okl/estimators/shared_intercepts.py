"""Intercepts of tasks that are drawn together, as all else that tasks have.

A free intercept is the mean of what the rows of its task leave, however few these are:
of four rows it is as uncertain as half a standard deviation of a target. Where
intercepts are *shared*, none is free. All tasks have the same one (numbers: the mean of
all targets, classes: zero), and a constant in the kernel makes of what they differ by a
function like any other, which the structure draws together. Numbers have one scale
then, too: a standard deviation of four rows says as little.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from okl.coding.tasks import Tasks
from okl.estimators.search.candidates import has_open_tasks, learns_for_tasks
from okl.problems import Observed

# The value of ``fit_intercept`` that asks for them.
SHARED = "shared"
# The variance of an intercept before the structure draws tasks together: of classes in
# log odds, of numbers over the mean square of all (normalised) targets.
OF_CLASSES, _OF_NUMBERS = 10.0, 1.0


def shares_if_asked(model: Any, tasks: Tasks | None) -> bool:
    """Tell whether a fit with one kernel and structure shares intercepts.

    The kernel has a constant then, or tasks do not differ in it.

    Raises
    ------
    ValueError
        If it is to, and there are no tasks.
    """
    asked = _is_asked(model)
    if asked and tasks is None:
        raise ValueError(
            f"fit_intercept={SHARED!r} is only for fits with task. Pass task to fit, "
            "or choose another fit_intercept."
        )
    return asked


def shares_by_default(model: Any, X: Any, tasks: Tasks | None) -> bool:
    """Tell whether a search shares intercepts, and adds a constant to kernels.

    Raises
    ------
    ValueError
        If it is to, and there are no tasks, or a kernel was named.
    """
    asked = _is_asked(model)
    if asked and not learns_for_tasks(model, X, tasks):
        raise ValueError(
            f"fit_intercept={SHARED!r} is only for fits with task, dense X and a "
            "kernel that is learned. Pass task to fit and leave kernel out, or "
            "choose another fit_intercept. For numbers, and a kernel of your own, take "
            "GradientSearchCV(OutputKernelRegressor(kernel + Constant(1.0), "
            f"Mean(gamma), fit_intercept={SHARED!r})).fit(X, y, task=task)."
        )
    return asked or bool(model.fit_intercept and has_open_tasks(model, X, tasks))


def of_single_fit(search: Any) -> bool | str:
    """Return the ``fit_intercept`` of an estimator given the kernel of a search."""
    if search._shares_intercepts and not is_classifier(search):
        return SHARED
    return search._asks_for_free_intercept


def constant_of_numbers(observed: Observed, *, normalized: bool) -> float:
    """Return the constant that stands for intercepts of numbers."""
    if normalized:
        return _OF_NUMBERS
    square = float(np.average(observed.targets**2, weights=observed.weights))
    return _OF_NUMBERS * (square if square > 0 else 1.0)


def _is_asked(model: Any) -> bool:
    return isinstance(model.fit_intercept, str)
