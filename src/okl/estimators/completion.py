"""Missing targets filled in by a fit, which is then repeated on the whole table.

Let independent outputs have the kernel K and noise alpha, and let B be the covariance
between outputs, of signal and noise alike. With complete targets the posterior mean
does not depend on B. Missing targets have a mean given all that were observed, in their
row and in others, which is one linear system (`okl.posterior.missing_targets`); a fit
to the table filled in with it has the mean of the whole process. Only B takes several
rounds: it is measured anew in each, on what was observed. Outputs that L relates keep
the first fit: L shares already what they tell of each other, and one that is learned
anew from what it has filled in itself goes astray where targets are few. How large
errors are the first fit says in any case (`okl.estimators.completed_process`).

Where independent outputs have kernels of their own there is no such system to
decompose. Each missing target is set to its mean given the others of its row and the
fit to all rows, and the fit is repeated: Jacobi's method, row by row. It may overshoot,
more each time, where an output of few rows follows the others closely; once targets
change by more than the time before, steps are halved from there on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from okl.estimators.completed_process import CompletedProcess
from okl.estimators.frames import titled
from okl.estimators.regression import RegressionMixin
from okl.estimators.regressor import OutputKernelRegressor
from okl.operators import KernelOperator, Spectrum, operator_of
from okl.posterior import expected_targets
from okl.problems import Inputs

# Largest change of a target that was filled in, in standard deviations, at the end.
_TOLERANCE = 1e-3


def completed(model: Any, X: Any, values: np.ndarray, n_iter: int) -> RegressionMixin:
    """Return a regressor fitted again, to a table with missing targets filled in.

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
    first = model._gaussian_process()
    if first.posterior.couples:
        return model
    scale = np.nanstd(values, axis=0)
    again = OutputKernelRegressor(
        model.kernel_,
        model.structure_,
        model._alpha_of_fit,
        fit_intercept=model.fit_intercept,
        normalize_y=model.normalize_y,
        solver=getattr(model, "solver", "auto"),
        tol=model.tol,
        max_iter=model.max_iter,
        max_memory=model.max_memory,
    )
    fill = _RowByRow() if first.posterior.prior() is None else _Together(X, values)
    names, filled = getattr(model, "output_names_", None), None
    for _ in range(n_iter):
        before, filled = filled, fill(model, filled)
        if before is not None and np.all(np.abs(filled - before) <= _TOLERANCE * scale):
            break
        model = again.fit(X, titled(filled, names))
        model._process = replace(model._gaussian_process(), filled=missing)
    model._process = CompletedProcess(model._gaussian_process(), first)
    return model


class _Together:
    """All missing targets at once, by the system of a kernel that all outputs share."""

    def __init__(self, X: Any, values: np.ndarray) -> None:
        self.X, self.values = X, values
        self._spectrum: Spectrum | None = None

    def __call__(self, model: Any, filled: np.ndarray | None) -> np.ndarray:
        """Return the table filled in with signal and noise as a model measured them."""
        process = model._gaussian_process()
        kernel, variances = process.posterior.prior()
        # signal and noise share the correlations of errors (okl.posterior.calibration)
        deviations = np.sqrt(variances * process.calibration.factors)
        deviations *= process.units.scale
        signal = process.correlation * np.outer(deviations, deviations)
        if self._spectrum is None:
            operator = operator_of(kernel, model._validate_rows(self.X, reset=False))
            inputs = Inputs.of(operator, fit_intercept=model.fit_intercept)
            assert isinstance(inputs.operator, KernelOperator)
            self._spectrum = inputs.operator.spectrum
        return expected_targets(
            self._spectrum,
            signal,
            process.residual_covariance(),
            self.values,
            centered=model.fit_intercept,
            start=filled,
        )


class _RowByRow:
    """The missing targets of a row given its others and the fit, damped."""

    def __init__(self) -> None:
        self._share, self._last = 1.0, np.inf

    def __call__(self, model: Any, filled: np.ndarray | None) -> np.ndarray:
        """Return the table filled in by a model, which was fitted to ``filled``."""
        process = model._gaussian_process()
        found = process.conditioned_training_rows().mean
        if filled is None:
            return found
        scale = np.std(filled, axis=0)
        change = found - filled
        size = np.sum(np.square(change / np.where(scale > 0, scale, 1.0)))
        self._share = self._share if size < self._last else self._share / 2
        self._last = size
        return filled + self._share * change
