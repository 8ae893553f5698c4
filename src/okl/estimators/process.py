"""The Gaussian process whose mean a model with the squared loss is.

What it returns is in the units of the targets. Its posterior is that of normalised
targets whose noise has the variance alpha. The actual size of noise and signal is
measured once, when it is first asked for, on rows left out
(`okl.posterior.calibration`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from okl.coding.tasks import COLUMNS, Tasks
from okl.estimators.exact_outputs import without_remains
from okl.estimators.refits import Refits
from okl.estimators.score_function import ScoreFunction
from okl.estimators.targets import TrainingTargets
from okl.estimators.units import Units
from okl.numerics.memory import blocks_of_rows, require_memory
from okl.posterior import (
    Calibration,
    ConditionedRows,
    Posterior,
    RowsLeftOut,
    correlation_of_errors,
    covariances_left_out,
)

_MEASURED = {"_residuals", "_left_out", "calibration", "correlation"}


@dataclass(frozen=True)
class Process:
    """Posterior, targets and units of a fitted model.

    Attributes
    ----------
    posterior : Posterior
        Of normalised targets.
    function : ScoreFunction
        What is predicted, in the units of the targets.
    targets : array (n_samples, n_outputs) or (n_samples, 1)
        Normalised; anything where the weight is zero.
    weights : array like it, (n_samples, 1) or None
    noise : array (n_outputs,)
        The variance of the independent noise of a normalised target of weight one, by
        the model: alpha.
    tasks : Tasks or None
        The task of each row, in long form.
    units : Units
    free_intercept : bool
        Whether each output has one.
    filled : array of bool (n_samples, n_outputs) or None
        Targets that were not observed but filled in before the fit: they say nothing of
        the size of errors.
    refits : Refits or None
        Fits without some rows, where the residuals of rows left out need them.
    """

    posterior: Posterior
    function: ScoreFunction
    targets: np.ndarray
    weights: np.ndarray | None
    noise: np.ndarray
    tasks: Tasks | None
    units: Units
    free_intercept: bool
    filled: np.ndarray | None = None
    refits: Refits | None = None

    @classmethod
    def of(
        cls,
        posterior: Posterior | None,
        function: ScoreFunction,
        targets: TrainingTargets,
        units: Units,
        refits: Refits,
    ) -> Process | None:
        """Return the process of a fit; None where there is no posterior."""
        if posterior is None:
            return None
        observed, unit = targets.observed, targets.output_weights
        weights, tasks = observed.weights, observed.tasks
        noise = np.full(observed.n_outputs, refits.alpha)
        if unit is not None:
            noise /= unit
            weights = weights / (unit if tasks is None else tasks.spread(unit))
        told = observed.targets, weights, noise, tasks, units, refits.fit_intercept
        again = refits if refits.needed else None
        return cls(posterior, function, *told, refits=again)

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what can be measured again."""
        return {k: v for k, v in vars(self).items() if k not in _MEASURED}

    @cached_property
    def _residuals(self) -> np.ndarray:
        """Targets less predictions, NaN where none was observed."""
        rows, tasks, units = self.function.rows, self.tasks, self.units
        if tasks is None:
            predicted = units.scores(self.function(rows))
        else:
            own = self.function.of_own_tasks(rows, tasks)
            predicted = units.scores(own, tasks)
        residuals = self.targets - predicted
        if self.weights is not None:
            unseen = np.broadcast_to(self.weights == 0, residuals.shape)
            residuals[unseen] = np.nan
        return residuals

    @cached_property
    def _left_out(self) -> RowsLeftOut:
        left = RowsLeftOut.of(
            self.posterior,
            self.function.rows,
            self._residuals,
            self.weights,
            self.noise,
            self.tasks,
        )
        known = self.targets, self.weights, self.tasks
        return replace(left, residuals=without_remains(left.residuals, *known))

    @cached_property
    def calibration(self) -> Calibration:
        """How large noise and signal are."""
        left_out = self._left_out.without(self.filled)
        refitted = None
        if self.refits is not None:
            found = self.refits.residuals(self.function.kernel, self.function.rows)
            known = self.targets, self.weights, self.tasks
            refitted = without_remains(found, *known)
        return Calibration.of(
            left_out,
            self.tasks,
            self.units.scale,
            own_intercepts=self.free_intercept,
            refitted=refitted,
        )

    @cached_property
    def correlation(self) -> np.ndarray:
        """How errors of outputs go together (n_outputs, n_outputs)."""
        return correlation_of_errors(
            self.posterior,
            self.function.rows,
            self._residuals,
            self._left_out.without(self.filled),
            self.calibration,
            self.tasks,
        )

    def noise_variance(self) -> np.ndarray:
        """Return the variance of the noise of each output (n_outputs,)."""
        return self.calibration.noise * self.units.scale**2

    def residual_covariance(self) -> np.ndarray:
        """Return the covariance of the noise of a row (n_outputs, n_outputs)."""
        deviations = np.sqrt(self.noise_variance())
        return self.correlation * np.outer(deviations, deviations)

    def quantiles(self, coverage: float, tasks: Tasks | None = None) -> np.ndarray:
        """Return how many standard deviations cover targets, (n_outputs,) or (n, 1)."""
        outputs = COLUMNS if tasks is None else tasks
        return outputs.spread(self.calibration.quantiles(coverage, self.tasks))

    def deviation(
        self, X: Any, tasks: Tasks | None = None, *, include_noise: bool
    ) -> np.ndarray:
        """Return the standard deviation of f + b (n, n_outputs), or (n, 1) of tasks.

        With noise that of a new target of weight one.
        """
        outputs = COLUMNS if tasks is None else tasks
        variance = self.posterior(X, tasks)
        variance *= outputs.spread(self.calibration.factors)
        variance += outputs.spread(self.calibration.excess)
        if include_noise:
            variance += outputs.spread(self.calibration.noise)
        return self.units.deviations(np.sqrt(variance), tasks)

    def covariance(self, X: Any, *, include_noise: bool) -> np.ndarray:
        """Return the covariance of the outputs of each row (n, n_outputs, n_outputs).

        Raises
        ------
        MemoryError
            If it cannot fit.
        """
        deviations = np.sqrt(self.calibration.factors) * self.units.scale
        if self.posterior.couples:
            covariance = self.posterior.covariance(X)
            covariance *= np.outer(deviations, deviations)
        else:
            covariance = self._related(np.sqrt(self.posterior(X)) * deviations)
        covariance += self.calibration.excess_covariance(self.units.scale)
        if include_noise:
            covariance += self.residual_covariance()
        return covariance

    def conditioned(
        self, X: Any, given: np.ndarray, *, include_noise: bool
    ) -> ConditionedRows:
        """Condition rows on the targets given (n, n_outputs), NaN elsewhere.

        Raises
        ------
        MemoryError
            If the covariance of the outputs of all rows cannot fit.
        """
        return ConditionedRows.of(
            self.function(X),
            self.covariance(X, include_noise=False),
            self.residual_covariance(),
            given,
            include_noise=include_noise,
        )

    def conditional(
        self, X: Any, given: np.ndarray, *, include_noise: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean and standard deviation of `conditioned`, (n, n_outputs) each.

        Rows are taken in blocks that fit into scikit-learn's ``working_memory``.
        """
        mean, std = np.empty_like(given), np.empty_like(given)
        # the covariance, that of a pattern, and what they are made of
        size = 8 * 6 * given.shape[1] ** 2
        for rows in blocks_of_rows(len(given), size):
            found = self.conditioned(X[rows], given[rows], include_noise=include_noise)
            mean[rows] = found.mean
            std[rows] = np.sqrt(np.einsum("ijj->ij", found.covariance))
        return mean, std

    def conditioned_training_rows(self) -> ConditionedRows:
        """Condition the targets that each training row misses on those it has.

        The row is left out first, so that its targets count once; covariances have
        the noise of the targets. Not in long form.

        Raises
        ------
        MemoryError
            If the covariance of the outputs of all rows cannot fit.
        """
        assert self.tasks is None
        left, units = self._left_out, self.units
        predicted = units.scores(self.function(self.function.rows))
        deviations = np.sqrt(self.calibration.factors) * units.scale
        observed = ~np.isnan(self._residuals)
        if self.posterior.couples:
            known = np.where(observed, self._residuals, 0.0)
            rows, signal = covariances_left_out(
                self.posterior, self.function.rows, left.told, known
            )
            mean = predicted + known - rows
            signal *= np.outer(deviations, deviations)
        else:
            told = ~np.isnan(left.residuals)
            mean = np.where(told, self.targets - left.residuals, predicted)
            signal = self._related(np.sqrt(left.signal) * deviations)
        signal += self.calibration.excess_covariance(units.scale)
        if self.filled is not None:
            observed = observed & ~self.filled
        return ConditionedRows.of(
            units.predictions(mean),
            signal,
            self.residual_covariance(),
            np.where(observed, units.predictions(self.targets), np.nan),
            include_noise=True,
        )

    def _related(self, deviations: np.ndarray) -> np.ndarray:
        """Return covariances (n, m, m) from deviations (n, m) and the correlation."""
        n, m = deviations.shape
        require_memory(
            2 * 8 * n * m**2,
            f"The covariance of {m} outputs at {n} rows",
            "Ask for fewer rows at a time, or for return_std=True.",
        )
        covariance = deviations[:, :, None] * deviations[:, None]
        covariance *= self.correlation
        return covariance
