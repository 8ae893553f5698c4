"""Regression: from numbers to targets, and from scores to predictions."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from okl.estimators.base import OutputKernelModel
from okl.estimators.calls import checks_its_arguments, spread_asked
from okl.estimators.given import given_targets
from okl.estimators.long_form import enter_long_form
from okl.estimators.no_process import required
from okl.estimators.output_names import matched, set_output_names, weights_in_order
from okl.estimators.process import Process
from okl.estimators.quantile_shift import check_shift, set_shift
from okl.estimators.refits import Refits
from okl.estimators.score_of_numbers import ScoreOfNumbers
from okl.estimators.shared_intercepts import SHARED
from okl.estimators.targets import TrainingTargets, observed_targets
from okl.estimators.training import (
    Training,
    is_for_one_output,
    predictive_variance,
)
from okl.estimators.units import in_units
from okl.estimators.weights import checked_weights, of_rows
from okl.estimators.weights_of_noise import warn_of_weights
from okl.losses import Loss
from okl.numerics.validation import check_flag, check_probability
from okl.problems import Formulation, Observed
from okl.solvers import Solution


class RegressionMixin(MultiOutputMixin, RegressorMixin, OutputKernelModel):
    """From numbers to targets, and from scores to predictions."""

    _task = "regression"
    _other_intercept = SHARED
    normalize_y: bool
    shift: Any
    _chosen_shift: ClassVar[str | None] = None  # the word for one to be chosen

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
        sample_weight = weights_in_order(self, sample_weight)
        y, tasks = enter_long_form(self, y, task)
        given = y, sample_weight, tasks, self._names_of_outputs
        targets, weights = observed_targets(*given)
        observed = Observed(targets, loss, weights, tasks)
        self._shares_intercepts = self._asks_for_shared_intercepts(X, tasks)
        free, shared = self._asks_for_free_intercept, self._shares_intercepts
        how = {"normalize": normalize, "free_intercept": free, "shared": shared}
        units, observed = in_units(observed, **how)
        entered = TrainingTargets(
            observed,
            one_dimensional=y.ndim == 1 and tasks is None,
            units=units,
            row_weights=of_rows(weights),
            score_weights=checked_weights(sample_weight, targets.shape),
        )
        m = observed.n_outputs
        self._given_shift = check_shift(self.shift, loss, m, self._chosen_shift)
        set_shift(self, self._given_shift, entered)
        return X, y, entered

    def _predictions(self, X: Any, task: Any) -> np.ndarray:
        """Return the scores of `OutputKernelModel`, moved by ``shift_``."""
        scores, shift = self._scores(X, task), getattr(self, "shift_", None)
        if shift is None:
            return scores
        return scores + (shift if task is None else self._tasks_of(task, X).rows(shift))

    def _adopt(
        self,
        training: Training,
        formulation: Formulation,
        solution: Solution,
        *,
        alpha: float,
        targets: TrainingTargets,
    ) -> None:
        """Set the fitted attributes, those of units and of the process among them."""
        super()._adopt(training, formulation, solution, alpha=alpha, targets=targets)
        self._process = Process.of(
            predictive_variance(
                training, formulation, self._output_kernel, alpha, targets.observed
            ),
            self._function,
            targets,
            self._units,
            Refits.of(formulation, targets.observed, alpha, self.max_iter),
        )
        shown = targets.shown_units or self._units
        mean, scale = shown.mean, shown.scale
        one = targets.one_dimensional
        self.y_mean_ = float(mean[0]) if one else mean
        self.y_scale_ = float(scale[0]) if one else scale

    @checks_its_arguments
    def score(
        self, X: Any, y: Any, sample_weight: Any = None, task: Any = None
    ) -> float:
        """Return the mean R^2 of the outputs over their observed targets.

        With ``loss="huber"`` and ``"quantile"`` it is D^2, the same of absolute errors,
        or of the pinball loss (`okl.metrics.d2_pinball_score`).

        Parameters
        ----------
        X, y, sample_weight
            Rows, targets and weights as in `fit`. Columns of a data frame are found by
            the names of the outputs.
        task : array (n_samples,), optional
            After a fit in long form, the task of each row. The score is that of all
            rows: one of a task says little where it has a few. `okl.metrics.r2_score`
            has the mean of those of tasks, which is the score of the target matrix.
        """
        self._require_task(task)
        y, weights = matched(self, y, sample_weight)
        score, predicted = ScoreOfNumbers.of(self.loss_), self.predict(X, task=task)
        return float(score(y, predicted, sample_weight=weights))

    @property
    def noise_variance_(self) -> Any:
        """The variance of the noise of each output (n_outputs,) or float."""
        variance = self._gaussian_process().noise_variance()
        return variance if len(self._theta.shape) == 2 else float(variance[0])

    @property
    def residual_covariance_(self) -> np.ndarray:
        """The covariance of the noise of the outputs of a row."""
        return self._gaussian_process().residual_covariance()

    @checks_its_arguments
    def predict(
        self,
        X: Any,
        return_std: bool = False,
        task: Any = None,
        *,
        return_cov: bool = False,
        include_noise: bool = False,
        given: Any = None,
    ) -> Any:
        """Predict the targets, and say how sure that is.

        The standard deviation is that of f + b in the Gaussian process whose mean the
        model is, in the units of the targets: f of output j has the prior variance
        k(x, x) L_jj, taken as given (with hardly a target a row, L is learned again
        without rows, and what errors are larger by is added), targets have noise of
        variance alpha / weight, intercepts a flat prior, and all three are multiplied
        by ``noise_variance_ / (alpha * y_scale_**2)``, which puts signal and noise in
        proportion to the errors in rows left out. (An `okl.kernels.Row` is noise too:
        the diagonal of ``residual_kernel_`` is added to ``alpha * y_scale_**2``.) A new
        target of weight one has the variance ``std**2 + noise_variance_``, which is
        what ``include_noise`` takes the root of. Weights thus say how exact targets
        are; a row that stands for several is to be repeated instead.

        With ``given`` the targets known in the same rows are used too: the prediction
        is the mean of the others given them, with the covariance that ``return_cov``
        gives with noise.

        The first call decomposes the kernel matrix of the training rows; targets
        observed in different rows, as they are in long form, take a larger system for
        each block of outputs that L ties together and, if L was learned, five fits.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n_samples, n_features)
            Rows; ``K(X, X_train)`` for ``kernel="precomputed"``.
        return_std : bool, default=False
            Whether to return the standard deviation; for ``loss="squared"``.
        task : array (n_samples,), optional
            After a fit in long form, the one task to predict in each row; None for all
            tasks, a column for each.
        return_cov : bool, default=False
            Whether to return the covariance of the outputs of each row; see the notes.
        include_noise : bool, default=False
            Whether standard deviation and covariance are those of new targets of weight
            one rather than of f + b; only with either of them.
        given : array or DataFrame (n_samples, n_outputs), optional
            The targets that are known in these rows, NaN elsewhere; of a DataFrame
            those outputs that it has. They are returned as they are, without variance.
            For ``loss="squared"``.

        Returns
        -------
        prediction : array (n_samples, n_outputs) or (n_samples,)
        std : array of the same shape
            Only if ``return_std``.
        cov : array (n_samples, n_outputs, n_outputs)
            Only if ``return_cov``.

        Raises
        ------
        ValueError
            For a task that was not there in the fit; for ``given`` of another shape or
            with columns that are no outputs; for noise without standard deviation or
            covariance; or if anything beside the prediction itself is asked of another
            loss, or of a precomputed kernel, which does not know k(x, x) of new rows.
        MemoryError
            If what the standard deviation needs cannot fit, or the covariance.

        Notes
        -----
        If L has entries beside its diagonal, the covariance of f + b is the posterior
        one with L, and the noise has the covariance ``residual_covariance_``. Of
        outputs that L leaves independent, signal and noise have the correlations R of
        the errors in rows left out: with every target observed, f of covariance k(x,
        x') R_jk and noise of covariance alpha R_jk predict as independent outputs do.
        With ``kernel=[k, Row()]`` those of noise are from rows left out too, unless L_2
        was given: a learned one is too flat. See `okl.posterior.calibration`.
        """
        flags = {"return_std": return_std, "return_cov": return_cov}
        spread = spread_asked(include_noise, **flags)
        if given is None and not spread:
            return self._predictions(X, task)
        process = self._gaussian_process()
        if include_noise:
            warn_of_weights(process.weights, process.tasks, 3)
        if task is not None and (given is not None or return_cov):
            raise ValueError(
                "return_cov and given are about all tasks of a row; leave task out."
            )
        tasks = None if task is None else self._tasks_of(task, X)
        rows = self._validate_rows(X, reset=False)
        shape = (-1, *self._theta.shape[1:])
        if given is not None:
            m, names = len(self._units.scale), self._names_of_outputs
            known = given_targets(given, rows.shape[0], m, names)
            if return_cov:
                found = process.conditioned(rows, known, include_noise=include_noise)
                return found.mean.reshape(shape), found.covariance
            mean, std = process.conditional(rows, known, include_noise=include_noise)
            mean = mean.reshape(shape)
            return (mean, std.reshape(shape)) if return_std else mean
        prediction = self._scores(X, task)
        if return_cov:
            return prediction, process.covariance(rows, include_noise=include_noise)
        deviation = process.deviation(rows, tasks, include_noise=include_noise)
        return prediction, deviation.reshape(shape if tasks is None else -1)

    def predict_interval(
        self, X: Any, coverage: float = 0.95, *, task: Any = None, given: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Predict intervals that hold new targets with a given probability.

        They are the prediction plus and minus its standard deviation with noise times a
        quantile. For each output it is that of the rows left out, not of a normal
        distribution: the size of their standardised residuals that the share
        ``coverage`` of n + 1 rows does not exceed. An output of too few rows for that
        has the one of all outputs. With weights they are of targets of weight one.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n_samples, n_features)
            Rows.
        coverage : float, default=0.95
            The probability, between 0 and 1, for each target by itself.
        task, given
            As in `predict`.

        Returns
        -------
        lower, upper : array (n_samples, n_outputs) or (n_samples,)

        Raises
        ------
        ValueError, MemoryError
            As `predict` for standard deviations, and for a coverage out of range.
        """
        coverage = check_probability(coverage, "coverage")
        options = {"return_std": True, "include_noise": True, "given": given}
        mean, std = self.predict(X, task=task, **options)
        tasks = None if task is None else self._tasks_of(task, X)
        quantiles = self._gaussian_process().quantiles(coverage, tasks)
        width = (std.reshape(len(std), -1) * quantiles).reshape(std.shape)
        return mean - width, mean + width

    def _gaussian_process(self) -> Process:
        """Return the process whose mean the model is."""
        check_is_fitted(self)
        return required(self._process, self.kernel_, self.loss)
