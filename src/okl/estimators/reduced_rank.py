"""Linear regression of several outputs with coefficients of low rank.

A least-squares fit treats the outputs one by one. Bounding the rank of the matrix of
coefficients ties them together: every output is a combination of the same few linear
functions of the features. Among the few problems with a bound on a rank it has a closed
form. With B1 the ridge solution and the penalty written as further rows of data,

    ||Y - XB||^2 + alpha ||B||^2 = constant + ||Z (B1 - B)||^2,  Z = [X; sqrt(alpha) I],

so Z B is the best approximation of Z B1 of that rank, its truncated singular value
decomposition, and B = B1 VV' with V the leading right singular vectors of Z B1.

Z is never formed. With the thin decomposition X = U diag(d) W', the part of Z on the
span of W has the singular values s = sqrt(d^2 + alpha) and the same W, hence

    B1 = W diag(d / s^2) U'Y,        Z B1 ~ diag(d / s) U'Y,

the second up to a rotation of its rows, which V does not see.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from okl.estimators.failed_fits import whole_or_not_at_all
from okl.estimators.frames import validated
from okl.estimators.output_names import in_order_of_fit, set_output_names
from okl.numerics.dates import refuse_dates
from okl.numerics.missing import refuse_masked
from okl.numerics.validation import check_count, check_flag, check_not_negative

_EPS = np.finfo(np.float64).eps


class ReducedRankRegression(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Linear regression of several outputs with a bound on the rank.

    It minimises

    .. math:: \|Y - XB - 1b'\|_F^2 + \alpha \|B\|_F^2, \qquad
              \operatorname{rank} B \le \text{rank},

    over B (n_features, n_outputs) and the intercept b, in closed form. The factors are
    those of `sklearn.linear_model.Ridge`, which it equals where the rank is no bound;
    with ``alpha=0`` it is `sklearn.linear_model.LinearRegression` with a bound on the
    rank. For ``alpha=0`` it is also what `OutputKernelRegressor` with a linear kernel,
    ``structure=LowRank(rank)`` and ``normalize_y=False`` tends to as its own alpha goes
    to zero.

    Parameters
    ----------
    rank : int, default=1
        The largest rank of B, at least 1. From ``min(n_features, n_outputs)`` on it is
        no bound.
    alpha : float, default=0.0
        Strength of the ridge penalty, not negative.
    fit_intercept : bool, default=True
        Whether to fit b, which is not penalised.

    Attributes
    ----------
    coef_ : array (n_outputs, n_features) or (n_features,)
        B'; of the minimisers the one of smallest norm, where features are linearly
        dependent and alpha is zero.
    intercept_ : array (n_outputs,) or float
        b; 0.0 without an intercept.
    rank_ : int
        The rank of B, below ``rank`` where fewer linear functions are all that the
        data hold.
    output_names_ : array of str (n_outputs,)
        The column names of y, if it was a DataFrame.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    The cost is that of a thin singular value decomposition of X, O(n d min(n, d)) for n
    samples of d features, and one of a matrix (min(n, d), n_outputs). X is dense.

    References
    ----------
    Izenman (1975), Reduced-rank regression for the multivariate linear model. Journal
    of Multivariate Analysis 5(2).

    Mukherjee & Zhu (2011), Reduced rank ridge regression and its kernel extensions.
    Statistical Analysis and Data Mining 4(6).

    Examples
    --------
    >>> import numpy as np
    >>> from okl import ReducedRankRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 6))
    >>> Y = X[:, :1] @ rng.normal(size=(1, 4)) + 0.1 * rng.normal(size=(50, 4))
    >>> model = ReducedRankRegression(rank=1).fit(X, Y)
    >>> model.coef_.shape, model.rank_
    ((4, 6), 1)
    """

    def __init__(
        self, rank: int = 1, *, alpha: float = 0.0, fit_intercept: bool = True
    ) -> None:
        self.rank = rank
        self.alpha = alpha
        self.fit_intercept = fit_intercept

    @whole_or_not_at_all
    def fit(self, X: Any, y: Any) -> ReducedRankRegression:
        """Fit the coefficients.

        Parameters
        ----------
        X : array or DataFrame (n_samples, n_features)
            Training rows.
        y : array or DataFrame (n_samples, n_outputs) or (n_samples,)
            Targets.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For parameters, shapes or entries that cannot be used.
        TypeError
            For sparse rows.
        """
        rank = check_count(self.rank, "rank")
        alpha = check_not_negative(self.alpha, "alpha")
        check_flag(self.fit_intercept, "fit_intercept")
        names = y
        refuse_masked(y, "y")
        refuse_dates(y, "y")
        X, y = validated(
            self, X, y, multi_output=True, y_numeric=True, dtype=np.float64
        )
        set_output_names(self, names)
        y = y.toarray() if issparse(y) else y
        Y = y.reshape(len(y), -1)
        x_mean, y_mean = np.zeros(X.shape[1]), np.zeros(Y.shape[1])
        if self.fit_intercept:
            x_mean, y_mean = _mean(X), _mean(Y)
        coef, self.rank_ = _solve(X - x_mean, Y - y_mean, rank, alpha)
        intercept = y_mean - coef @ x_mean
        one_dimensional = y.ndim == 1
        self.coef_ = coef[0] if one_dimensional else coef
        if not self.fit_intercept:
            self.intercept_: Any = 0.0
        else:
            self.intercept_ = float(intercept[0]) if one_dimensional else intercept
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean R^2 of the outputs; columns of a DataFrame go by name."""
        return float(super().score(X, in_order_of_fit(self, y), sample_weight))

    def predict(self, X: Any) -> np.ndarray:
        """Predict the targets.

        Parameters
        ----------
        X : array or DataFrame (n_samples, n_features)
            Rows.

        Returns
        -------
        array (n_samples, n_outputs) or (n_samples,)
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False, dtype=np.float64)
        return X @ self.coef_.T + self.intercept_


def _mean(rows: np.ndarray) -> np.ndarray:
    """Return the mean of each column, of a constant one without rounding."""
    # else only rounding would be left of it, and count like any other feature
    constant = np.all(rows == rows[0], axis=0)
    return np.where(constant, rows[0], rows.mean(axis=0))


def _solve(
    X: np.ndarray, Y: np.ndarray, rank: int, alpha: float
) -> tuple[np.ndarray, int]:
    """Return B' (n_outputs, n_features) and its rank, for centred data."""
    left, d, right = np.linalg.svd(X, full_matrices=False)
    kept = d > _EPS * max(X.shape) * d[0]  # others are rounding, their inverse huge
    d, targets = d[kept], left[:, kept].T @ Y
    s = np.hypot(d, np.sqrt(alpha))
    fitted = (d / s)[:, None] * targets
    _, values, outputs = np.linalg.svd(fitted, full_matrices=False)
    coordinates = fitted / s[:, None]  # of the ridge solution, in W
    if rank < len(values):
        outputs = outputs[:rank]
        coordinates = (coordinates @ outputs.T) @ outputs
    largest = values.max(initial=0.0)
    n_factors = int(np.count_nonzero(values > _EPS * max(fitted.shape) * largest))
    return coordinates.T @ right[kept], min(n_factors, rank)
