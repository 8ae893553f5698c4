"""Fits to tables of which targets are missing, filled in and fitted again.

Of independent outputs f_j with the kernel K, and noise alpha, both with the covariance
B between outputs, complete targets have the same posterior mean whatever B is. Missing
targets have the mean that makes each the conditional mean given the others of its row,
with the prediction of the row left out for both: at the means of all missing targets
each is what the others, and the fit to all of them, say of it. So filling in and
fitting again, in turn, comes to the mean of the whole process (a row's missing targets
at a time, as Jacobi's method for the linear system of all of them). B is measured anew
each time, on what was observed.

Jacobi's method may go past the solution, and farther each time, where an output of few
rows follows the others closely. Where targets change by more than the time before they
go half as far from there on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from okl.estimators.regression import RegressionMixin
from okl.estimators.regressor import OutputKernelRegressor

# Largest change of a target that was filled in, in standard deviations, at the end.
_TOLERANCE = 1e-3


def completed(model: Any, X: Any, values: np.ndarray, n_iter: int) -> RegressionMixin:
    """Return a regressor fitted to targets that were filled in by one fitted to some.

    Parameters
    ----------
    model : regressor
        Fitted to X and values.
    X : array, sparse matrix or DataFrame (n_samples, n_features)
        Training rows.
    values : array (n_samples, n_outputs)
        Targets, NaN where they were not observed.
    n_iter : int
        How often to fill in and fit again.
    """
    missing = np.isnan(values)
    if n_iter == 0 or not missing.any():
        return model
    scale = np.nanstd(values, axis=0)
    again = OutputKernelRegressor(
        model.kernel_,
        model.structure_,
        model.alpha_ if hasattr(model, "alpha_") else model.alpha,
        fit_intercept=model.fit_intercept,
        normalize_y=model.normalize_y,
        tol=model.tol,
        max_iter=model.max_iter,
        max_memory=model.max_memory,
    )
    filled, share, last = None, 1.0, np.inf
    for _ in range(n_iter):
        process = model._gaussian_process()
        found = process.conditioned_training_rows(include_noise=True).mean
        if filled is None:
            filled = found
        else:
            change = found - filled
            if np.all(np.abs(change) <= _TOLERANCE * scale):
                break
            size = np.sum(np.square(change / np.where(scale > 0, scale, 1.0)))
            share = share if size < last else share / 2
            filled, last = filled + share * change, size
        model = again.fit(X, filled)
        model._process = replace(model._gaussian_process(), filled=missing)
    return model
