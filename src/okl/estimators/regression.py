"""Regression: from numbers to targets, and from scores to predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from okl.estimators.base import OutputKernelModel
from okl.estimators.long_form import enter_long_form
from okl.estimators.targets import TrainingTargets, observed_targets, set_output_names
from okl.estimators.training import is_for_one_output, is_precomputed
from okl.estimators.units import Units
from okl.estimators.weights import checked_weights, of_rows
from okl.losses import Loss
from okl.metrics import r2_score
from okl.numerics.validation import check_flag
from okl.problems import Observed


class RegressionMixin(MultiOutputMixin, RegressorMixin, OutputKernelModel):
    """From numbers to targets, and from scores to predictions."""

    _task = "regression"
    normalize_y: bool

    def __sklearn_tags__(self) -> Any:
        """Declare several outputs, unless the kernel is of one only."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = not is_for_one_output(self.kernel)
        return tags

    def _enter(
        self, X: Any, y: Any, loss: Loss, sample_weight: Any, task: Any
    ) -> tuple[Any, np.ndarray, TrainingTargets]:
        """Check what was given to fit; return X, y and the normalised targets."""
        normalize = check_flag(self.normalize_y, "normalize_y")
        names = y
        X, y = self._validate_numbers(X, y)
        if y.shape[1:] == (1,) and is_for_one_output(self.kernel):
            y = column_or_1d(y, warn=True)
        set_output_names(self, names)
        y, tasks = enter_long_form(self, y, task)
        targets, weights = observed_targets(y, sample_weight, tasks)
        units = None
        if normalize:
            free = self.fit_intercept
            units = Units.of(targets, weights, tasks, free_intercept=free)
            targets = units.normalised(targets, weights, tasks)
        return (
            X,
            y,
            TrainingTargets(
                Observed(targets, loss, weights, tasks),
                one_dimensional=y.ndim == 1 and tasks is None,
                row_weights=of_rows(weights),
                score_weights=checked_weights(sample_weight, targets.shape),
                units=units,
            ),
        )

    def _adopt(self, *fitted: Any, targets: TrainingTargets, **given: Any) -> None:
        """Set the fitted attributes, those of the units among them."""
        super()._adopt(*fitted, targets=targets, **given)
        mean, scale = self._units.mean, self._units.scale
        one = targets.one_dimensional
        self.y_mean_ = float(mean[0]) if one else mean
        self.y_scale_ = float(scale[0]) if one else scale

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, task: Any = None
    ) -> float:
        """Return the mean R^2 of the outputs over their observed targets.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n_samples, n_features)
            Rows.
        y : array (n_samples, n_outputs) or (n_samples,)
            Targets; NaN where they were not observed.
        sample_weight : array (n_samples,) or (n_samples, n_outputs), optional
            Weights of the rows, or of each target.
        task : array (n_samples,), optional
            After a fit in long form, the task of each row. The score is R^2 of y and
            ``predict(X, task)`` over all rows: that of a task alone says little where
            a task has a few rows. `okl.metrics.r2_score` has their mean, which is the
            score of the target matrix.
        """
        self._require_task(task)
        return r2_score(y, self.predict(X, task=task), sample_weight=sample_weight)

    def predict(self, X: Any, return_std: bool = False, task: Any = None) -> Any:
        """Predict the targets, and say how sure that is.

        The standard deviation is that of f + b in the Gaussian process whose mean the
        model is, in the units of the targets: f has the prior covariance k(x, x')
        ``output_kernel_``, taken as given (a learned one is not certain, so that the
        true spread is larger), targets have noise of variance ``alpha * y_scale_**2``
        / weight, and the intercept a flat prior. Noise is not added: a new target has
        the variance ``std**2 + alpha * y_scale_**2``. Where the noise of an output is
        known to have the variance s2, multiply its ``std`` by ``sqrt(s2 / alpha) /
        y_scale_``, which leaves the predictions as they are.

        The first call decomposes the kernel matrix of the training rows; targets
        observed in different rows, as they are in long form, take a larger system for
        each block of outputs that L ties together.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n_samples, n_features)
            Rows; ``K(X, X_train)`` for ``kernel="precomputed"``.
        return_std : bool, default=False
            Whether to return the standard deviation; for ``loss="squared"``.
        task : array (n_samples,), optional
            After a fit in long form, the one task to predict in each row; None for all
            tasks.

        Returns
        -------
        prediction : array (n_samples, n_outputs) or (n_samples,)
        std : array of the same shape
            Only if ``return_std``.

        Raises
        ------
        ValueError
            For a task that was not there in the fit; or if the standard deviation is
            asked of another loss, or of a precomputed kernel, which does not know
            k(x, x) of new rows.
        MemoryError
            If what the standard deviation needs cannot fit.
        """
        if return_std:
            deviation = self._standard_deviation(X, task)
            return self._scores(X, task), deviation
        return self._scores(X, task)

    def _standard_deviation(self, X: Any, task: Any = None) -> np.ndarray:
        """Return the standard deviation of f + b, of the dimension of the targets."""
        check_is_fitted(self)
        if is_precomputed(self.kernel_):
            raise ValueError(
                "return_std=True needs k(x, x) of new rows, which "
                "kernel='precomputed' does not have. Pass kernel=Gram(matrix) of "
                "okl.kernels, the matrix over training and new rows, and row numbers "
                "as X."
            )
        if self._variance is None:
            raise ValueError(
                "return_std=True is for loss='squared', the loss of Gaussian noise; "
                f"this model was fitted with loss={self.loss!r}."
            )
        X = self._validate_rows(X, reset=False)
        if task is None:
            deviation = self._units.deviations(np.sqrt(self._variance(X)))
            return deviation.reshape(-1, *self._theta.shape[1:])
        tasks = self._tasks_of(task, X)
        deviation = np.sqrt(self._variance(X, tasks))
        return self._units.deviations(deviation, tasks)[:, 0]
