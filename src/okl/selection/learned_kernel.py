"""A kernel that is learned from the targets, for independent outputs that share it.

Where the user leaves it to the data it is a linear kernel plus others of standardised
rows, with weights and widths at which outputs are predicted best. `likeliest_kernel.py`
has the recipe for the squared loss, whose criteria have closed forms, and for losses
that bear outliers, once these are drawn in (`outliers.py`); `kernel_of_folds.py` that
for other smooth losses, those of classes among them, which are fitted to folds. Where
the user names a kernel its parameters are learned as `GradientSearchCV` learns them, in
the units of X.

The priors are those of the kernels. Rows are those of dense arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from okl.kernels import Kernel, Learnable
from okl.operators import Dense
from okl.problems import Formulation, Observed
from okl.selection.criteria import choose_criterion
from okl.selection.folds import Folds
from okl.selection.kernel_of_folds import kernel_of_folds
from okl.selection.learning import learn
from okl.selection.likeliest_kernel import likeliest_kernel
from okl.selection.linear_plus import scaled
from okl.selection.outliers import (
    near_medians,
    near_predictions,
    predicted_without,
    typical_error,
)
from okl.selection.path import largest_alpha
from okl.selection.sensitivity import shares_of_columns
from okl.selection.standard_columns import StandardColumns
from okl.selection.standard_kernel import StandardKernel
from okl.selection.standard_rows import StandardRows
from okl.solvers import solve
from okl.structures import Identity

# Tolerance and iterations of the fit that tells how much each column counts.
_TOL, _MAX_ITER = 1e-4, 500
# What the names of a kernel's parameters begin with in a model.
_PREFIX = "kernel__"


@dataclass(frozen=True)
class LearnedKernel:
    """A kernel that was learned, in the units of X.

    Attributes
    ----------
    kernel : Kernel
        Resolved. If it was made of the data and the loss is squared, or bears outliers,
        its size is that of the outputs: the alpha at which it fits independent outputs
        best is the variance of their noise. For other losses that alpha is one.
    relevances : array (n_features,) or None
        The share of each column in the squared derivatives of the predictions at that
        alpha, times its variance; they sum to one, or are all zero. None for a kernel
        that was named.
    smallest : float
        The alpha that was learned, divided by the largest that matters for the
        structure that it was learned with, which is independent outputs at first.
    standard : StandardKernel or None
        What it was made of; None for a kernel that was named.
    errors : tuple of two float, or None
        The typical sizes of the errors of predictions, and of targets about their
        medians, for losses that bear outliers.
    """

    kernel: Kernel
    relevances: np.ndarray | None
    smallest: float
    standard: StandardKernel | None = None
    errors: tuple[float, float] | None = None


def learn_kernel(
    X: np.ndarray,
    observed: Observed,
    folds: Folds,
    learnable: Learnable,
    *,
    fit_intercept: bool,
    row_weights: np.ndarray | None = None,
    constant: float | None = None,
    budget: float = float("inf"),
) -> LearnedKernel:
    """Learn a kernel for all outputs.

    Parameters
    ----------
    X : array (n_samples, n_features)
        Not all columns may be constant.
    observed : Observed
        The targets, normalised, of a loss that is smooth or bears outliers; not in long
        form.
    folds : sequence of pairs of arrays
        Row numbers to train on and to test, for losses that are learned from folds.
    learnable : Learnable
        The kernel that the user named, or none.
    fit_intercept : bool
    row_weights : array (n_samples,), optional
        How much each row counts for means and variances.
    constant : float, optional
        What is added to a kernel of the recipe, once it was learned, in the place of
        the free intercepts that it was learned with.
    budget : float, default=infinity
        The bytes that arrays of the size of the kernel matrix may take.
    """
    learned = partial(
        _learned,
        X,
        learnable=learnable,
        fit_intercept=fit_intercept,
        row_weights=row_weights,
        constant=constant,
        budget=budget,
    )
    if "robust" not in observed.loss.capabilities:
        return learned(observed, folds)[0]
    near = near_medians(observed)
    found, noise = learned(near, [])
    nearer = near_predictions(
        observed, near, found.kernel, X, noise, fit_intercept=fit_intercept
    )
    found, noise = learned(nearer, [])
    centres = predicted_without(
        nearer, found.kernel, X, noise, fit_intercept=fit_intercept
    )
    sizes = typical_error(observed, centres), typical_error(observed)
    return replace(found, errors=sizes)


def _learned(
    X: np.ndarray,
    observed: Observed,
    folds: Folds,
    *,
    learnable: Learnable,
    fit_intercept: bool,
    row_weights: np.ndarray | None,
    constant: float | None,
    budget: float,
) -> tuple[LearnedKernel, float]:
    """Return a kernel for a loss that bears no outliers, and the alpha learned."""
    if learnable.kernel is not None:
        rows = StandardRows(X, observed, fit_intercept, row_weights)
        return _of_named(learnable, rows, folds, budget)
    columns = StandardColumns.of(X, row_weights, centred=fit_intercept)
    rows = StandardRows(columns.rows(X), observed, fit_intercept, row_weights)
    deviations = columns.deviations
    if "quadratic" in observed.loss.capabilities:
        kernel = likeliest_kernel(rows)
    else:
        scales = [columns, columns.in_one_unit()] if columns.differ else [columns]
        choices = [replace(rows, Z=one.rows(X)) for one in scales]
        number, kernel = kernel_of_folds(choices, folds)
        columns, rows = scales[number], choices[number]
    fit, noise = _fit(rows, kernel, deviations / columns.deviations), 1.0
    if "quadratic" in observed.loss.capabilities:
        noise = fit.variance
        kernel = scaled(kernel, noise)
    smallest, standard = fit.smallest, StandardKernel(columns, kernel, constant)
    if constant is not None:
        rows = replace(rows, fit_intercept=False)
        smallest = noise / _largest_alpha(rows, standard.whole)
    learned, relevances = standard.on(X, row_weights), columns.of_all(fit.relevances)
    return LearnedKernel(learned, relevances, smallest, standard), noise


def _of_named(
    learnable: Learnable, rows: StandardRows, folds: Folds, budget: float
) -> tuple[LearnedKernel, float]:
    """Learn the parameters of a kernel that was named, and alpha."""
    X, observed, free = rows.Z, rows.observed, rows.fit_intercept
    criterion = choose_criterion(
        "auto",
        observed,
        Identity(),
        folds,
        n_features=X.shape[1],
        fit_intercept=free,
    )
    found = learn(
        X,
        observed,
        learnable.kernel,
        Identity(),
        1.0,
        criterion,
        fit_intercept=free,
        parameters=_with_alpha(learnable.parameters),
        row_weights=rows.row_weights,
        budget=budget,
    )
    values = {
        name.removeprefix(_PREFIX): value
        for name, value in found.parameters.items()
        if name.startswith(_PREFIX)
    }
    kernel = clone(learnable.kernel).set_params(**values)
    # a kernel that is the same for all rows leaves no alpha that matters
    largest = max(_largest_alpha(rows, kernel), found.alpha)
    return LearnedKernel(kernel, None, found.alpha / largest), found.alpha


def _with_alpha(parameters: Any) -> Any:
    """Return parameters with alpha among them, where only some are named."""
    if parameters is None or isinstance(parameters, Mapping):
        return parameters
    names = [parameters] if isinstance(parameters, str) else list(parameters)
    return names if "alpha" in names else [*names, "alpha"]


def _largest_alpha(rows: StandardRows, kernel: Kernel) -> float:
    """Return the largest alpha that matters for independent outputs."""
    return largest_alpha(_formulation(rows, kernel).problem, decomposes=False)


def _formulation(rows: StandardRows, kernel: Kernel) -> Formulation:
    inputs = rows.observed.inputs(
        Dense(kernel(rows.Z)), fit_intercept=rows.fit_intercept
    )
    return rows.observed.formulate(inputs, Identity())


class _Fit(NamedTuple):
    """A fit of independent outputs at alpha = 1.

    Attributes
    ----------
    relevances : array (n_varying,)
        The shares of the columns.
    smallest : float
        That alpha divided by the largest that matters.
    variance : float
        What the kernel, and noise of variance one, is to be multiplied by to have the
        size of the outputs: their mean y'P y over the degrees of freedom, which the
        restricted likelihood profiles out.
    """

    relevances: np.ndarray
    smallest: float
    variance: float


def _fit(rows: StandardRows, kernel: Kernel, deviations: np.ndarray) -> _Fit:
    """Return what the fit at alpha = 1 tells, with deviations of the rows' columns."""
    formulation = _formulation(rows, kernel)
    solution = solve(formulation.problem, 1.0, tol=_TOL, max_iter=_MAX_ITER)
    coefficients = formulation.coefficients(solution.dual_coef)
    targets, weights = rows.observed.targets, rows.observed.weights
    observed = np.ones_like(targets) * (1.0 if weights is None else weights > 0)
    free = observed.sum(axis=0) - rows.fit_intercept
    variances = np.sum(targets * coefficients, axis=0) / np.maximum(free, 1.0)
    return _Fit(
        shares_of_columns(kernel, rows.Z, coefficients, deviations),
        1.0 / largest_alpha(formulation.problem, decomposes=False),
        float(np.mean(variances)),
    )
