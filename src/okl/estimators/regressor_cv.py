"""Regression that chooses alpha and the structure by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.callback import with_callbacks

from okl.estimators.cross_validated import CrossValidated
from okl.estimators.regressor import RegressionMixin
from okl.metrics import r2_score


class _HeldOutRegressor(RegressorMixin, BaseEstimator):
    """Stands for a fitted regressor in front of a scorer: X holds its predictions."""

    def __init__(self, one_dimensional: bool) -> None:
        self.one_dimensional = one_dimensional

    def predict(self, X: np.ndarray) -> np.ndarray:
        return X[:, 0] if self.one_dimensional else X

    def score(self, X: np.ndarray, y: Any, sample_weight: Any = None) -> float:
        return r2_score(y, self.predict(X), sample_weight=sample_weight)


class OutputKernelRegressorCV(RegressionMixin, CrossValidated):
    """`OutputKernelRegressor` that chooses alpha and the structure by itself.

    Every structure is tried at every alpha of its own grid, on the same folds, with
    one eigendecomposition of the kernel matrix a fold; the best is refitted on all
    rows. Kernel parameters (``gamma="scale"``) and grids come from all training
    rows; the folds take blocks of one kernel matrix.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        As in `OutputKernelRegressor`.
    structures : str, Structure or list of them, default="frobenius"
        The structures to try.
    alphas : int or sequence of float, default=25
        The values, or how many, evenly spaced on a log scale from alpha_max of the
        structure down to ``eps`` times it; see `output_kernel_path`.
    eps : float, default=1e-5
        The smallest alpha relative to the largest.
    cv : int, splitter or iterable, default=None
        As in `sklearn.model_selection.GridSearchCV`; None for 5 folds.
    scoring : str or callable, default=None
        As there; None for the mean R^2 over outputs. A callable is given held-out
        predictions in the place of the rows of X, and a stand-in that returns them.
    n_jobs : int, default=None
        Folds in parallel, by joblib.
    loss, fit_intercept, tol, max_iter, max_memory
        As in `OutputKernelRegressor`.

    Attributes
    ----------
    alpha_ : float
        The alpha chosen.
    structure_ : Structure
        The structure chosen.
    alphas_ : array (n_structures, n_alphas)
        The grid of each structure, decreasing.
    scores_ : array (n_structures, n_alphas, n_folds)
        The held-out scores.
    best_score_ : float
        The largest mean over folds.
    dual_coef_, intercept_, output_kernel_, certificate_, ...
        Those of `OutputKernelRegressor` refitted on all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from okl import OutputKernelRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> Y = X[:, :1] + 0.1 * rng.normal(size=(60, 4))
    >>> model = OutputKernelRegressorCV(structures=["identity", "low_rank"]).fit(X, Y)
    >>> model.structure_
    LowRank()
    """

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        task: Any = None,
        **params: Any,
    ) -> OutputKernelRegressorCV:
        """Choose alpha and structure, then fit on all rows.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n_samples, n_features)
            Training rows; the kernel matrix for ``kernel="precomputed"``.
        y : array or DataFrame (n_samples, n_outputs) or (n_samples,)
            Targets; NaN where they were not observed.
        sample_weight : array, optional
            Weights as in `OutputKernelRegressor.fit`, in the fits and in the
            scores of the folds.
        task : array (n_samples,), optional
            The task of each row, as in `OutputKernelRegressor.fit`; folds are of rows,
            and a task without rows in a training part has an intercept of zero there.
        **params : dict
            Metadata for the splitter (``groups``) and the scorer.

        Returns
        -------
        self
        """
        loss = self._checked_loss()
        X, y, targets = self._enter(X, y, loss, sample_weight, task)
        self._search(X, y, targets, _HeldOutRegressor(y.ndim == 1), params)
        return self
