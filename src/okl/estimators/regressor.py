"""Regression with several outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted, column_or_1d

from okl.estimators.base import OutputKernelModel, SingleFit
from okl.estimators.long_form import enter_long_form
from okl.estimators.targets import TrainingTargets, observed_targets, set_output_names
from okl.estimators.training import is_for_one_output, is_precomputed
from okl.estimators.weights import checked_weights, of_rows
from okl.losses import Loss
from okl.metrics import r2_score
from okl.problems import Observed


class RegressionMixin(MultiOutputMixin, RegressorMixin, OutputKernelModel):
    """From numbers to targets, and from scores to predictions."""

    _task = "regression"

    def __sklearn_tags__(self) -> Any:
        """Declare several outputs, unless the kernel is of one only."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = not is_for_one_output(self.kernel)
        return tags

    def _enter(
        self, X: Any, y: Any, loss: Loss, sample_weight: Any, task: Any
    ) -> tuple[Any, np.ndarray, TrainingTargets]:
        """Check what was given to fit; return X, y and the targets."""
        names = y
        X, y = self._validate_numbers(X, y)
        if y.shape[1:] == (1,) and is_for_one_output(self.kernel):
            y = column_or_1d(y, warn=True)
        set_output_names(self, names)
        y, tasks = enter_long_form(self, y, task)
        targets, weights = observed_targets(y, sample_weight, tasks)
        return (
            X,
            y,
            TrainingTargets(
                Observed(targets, loss, weights, tasks),
                one_dimensional=y.ndim == 1 and tasks is None,
                row_weights=of_rows(weights),
                score_weights=checked_weights(sample_weight, targets.shape),
            ),
        )

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
        model is: f has the prior covariance k(x, x') L, with L taken as given (a
        learned L is not certain, so that the true spread is larger), targets have
        noise of variance alpha / weight, and the intercept a flat prior. Noise is not
        added: a new target has the variance ``std**2 + alpha``. Where the noise is
        known to have the variance s2, multiply ``std`` by ``sqrt(s2 / alpha)``, which
        leaves the predictions as they are.

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
        deviation = np.sqrt(self._of_own_tasks(self._variance, X, task))
        if task is not None:
            return deviation
        return deviation.reshape(-1, *self._theta.shape[1:])


class OutputKernelRegressor(RegressionMixin, SingleFit):
    r"""Kernel regression of several outputs that learns how they are related.

    With K the kernel matrix of the rows and L the output kernel, it minimises

    .. math::

        \sum_i V(y_i, f(x_i) + b) + \alpha \left(
        \tfrac12 \|f\|_{K,L}^2 + R(L) \right), \qquad
        f(x) = L \sum_i c_i\, k(x, x_i),

    over f, L and the free intercept b: jointly convex, and solved to a relative
    duality gap of ``tol``, which is reported in ``certificate_``.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        The input kernel: a name or object of `okl.kernels`, a function of two
        matrices, a kernel of `sklearn.gaussian_process.kernels`, or
        ``"precomputed"`` (X is the kernel matrix).
    structure : str or Structure, default="frobenius"
        The penalty R on the output kernel, see `okl.structures`. ``"identity"``
        is kernel ridge regression of each output by itself.
    alpha : float, default=1.0
        Strength of the regularisation, > 0; for ``"identity"`` that of
        `sklearn.kernel_ridge.KernelRidge`.
    loss : str or Loss, default="squared"
        The loss V: ``"squared"`` or ``"huber"``, see `okl.losses`.
    fit_intercept : bool, default=True
        Whether to fit b, which is not penalised.
    solver : str or Solver, default="auto"
        See `okl.solvers`.
    tol : float, default=1e-6
        Relative duality gap to stop at.
    max_iter : int, default=1000
        Most iterations of the solver.
    max_memory : float or None, default=None
        MiB that the kernel matrix may take, with what it is decomposed into; None for
        half of what is free. A matrix that does not fit is evaluated again, in blocks
        of rows, for each product.

    Attributes
    ----------
    dual_coef_ : array (n_samples, n_outputs) or (n_samples,)
        C L: predictions are ``K(X, X_fit_) @ dual_coef_ + intercept_``; in long form
        computed when asked for.
    intercept_ : array (n_outputs,) or float
        b; 0.0 without an intercept.
    output_kernel_ : array (n_outputs, n_outputs)
        L, computed when asked for.
    output_kernel_factor_ : array (n_outputs, rank_)
        B with L = B B', computed when asked for.
    rank_ : int
        The rank of L.
    certificate_ : Certificate
        Primal and dual value, gap and status of this very model; `okl.certify`
        computes it again from the attributes.
    history_ : list of dict
        Primal, dual, relative gap and seconds of each iteration.
    n_iter_ : int
        Iterations, 1 for a closed form.
    kernel_, structure_ : Kernel or "precomputed", Structure
        As used, with data-dependent parameters resolved.
    X_fit_ : array or sparse matrix (n_samples, n_features) or None
        The training rows; None for a precomputed kernel.
    output_names_ : array (n_outputs,)
        The column names of y, if it was a DataFrame; in long form the ids of the tasks.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Dinuzzo, Ong, Gehler & Pillonetto (2011), Learning output kernels with block
    coordinate descent. ICML. (structure "frobenius")

    Dinuzzo & Fukumizu (2011), Learning low-rank output kernels. ACML. (structure
    "low_rank")

    Examples
    --------
    >>> import numpy as np
    >>> from okl import OutputKernelRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 3))
    >>> Y = np.column_stack([X[:, 0], X[:, 0] + 0.1 * rng.normal(size=40)])
    >>> model = OutputKernelRegressor(alpha=0.1).fit(X, Y)
    >>> model.certificate_.status
    'optimal'
    >>> model.output_kernel_.shape
    (2, 2)
    """

    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, task: Any = None
    ) -> OutputKernelRegressor:
        """Fit the predictor and the output kernel.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n_samples, n_features)
            Training rows; the kernel matrix for ``kernel="precomputed"``.
        y : array or DataFrame (n_samples, n_outputs) or (n_samples,)
            Targets; NaN where they were not observed.
        sample_weight : array (n_samples,) or (n_samples, n_outputs), optional
            Weights of the loss of the rows, or of each target: 2 is the row twice, 0
            is a target that was not observed.
        task : array (n_samples,), optional
            For data in long form, one target a row: the id of the task, or output,
            that it is for. The outputs are the tasks, ``output_names_`` their sorted
            ids; it is the fit to the target matrix with all other entries missing, at
            the cost of one output.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For parameters, shapes or entries that cannot be used.
        MemoryError
            If the kernel matrix cannot fit.
        """
        loss = self._checked_loss()
        context = self._init_callback_context().call_on_fit_task_begin(
            estimator=self, X=X, y=y
        )
        X, y, targets = self._enter(X, y, loss, sample_weight, task)
        self._fit(X, targets)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self
