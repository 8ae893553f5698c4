"""Feature weights: what ``gamma`` and ``length_scale`` do to the columns of X.

A weighted distance is the plain distance of rescaled columns,
sum_j g_j (x_j - z_j)^2 = ||w x - w z||^2 with w_j = sqrt(g_j), and a weighted
inner product is the plain one of the same columns. A kernel therefore rescales the
columns and calls scikit-learn's function with gamma = 1; one number for all features
and one number per feature need no separate code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.sparsefuncs import mean_variance_axis

from okl.kernels._checks import is_scale, positive_per_feature
from okl.kernels._pairs import checked, pairs

# The median of about so many rows is taken.
_LOOKED_AT = 100
_LARGEST = np.finfo(np.float64).max


def resolved_gamma(
    kernel: BaseEstimator, X: Any, weights: np.ndarray | None = None
) -> float | np.ndarray:
    """Return the numbers that ``kernel.gamma`` stands for on the training data.

    ``"scale"`` is 1 / (n_features * X.var()), as in `sklearn.svm.SVC`, or 1 where
    all entries of X are equal; with weights, a row of weight two counts as two rows.
    """
    X = checked(X)
    if not is_scale(kernel.gamma):
        return positive_per_feature(kernel, "gamma", X.shape[1])
    variance = _variance(X, weights)
    return float(1.0 / (X.shape[1] * variance)) if variance > 0 else 1.0


def resolved_length_scale(
    kernel: BaseEstimator, X: Any, weights: np.ndarray | None = None
) -> float | np.ndarray:
    """Return the numbers that ``kernel.length_scale`` stands for on the training data.

    ``"scale"`` is the root of n_features times the mean variance of the columns: on
    average half the squared distance of two rows is the square of this number. It is 1
    where no column varies; with weights, a row of weight two counts as two rows.
    """
    X = checked(X)
    if not is_scale(kernel.length_scale):
        return positive_per_feature(kernel, "length_scale", X.shape[1])
    total = float(column_variances(X, weights).sum())
    return total**0.5 if total > 0 else 1.0


def column_means(X: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the mean of each column, exactly if the column is constant.

    With a rounded mean, a constant column less its mean would consist of rounding,
    which would count as a feature like any other.
    """
    if weights is not None and np.any(weights > 0):
        X, weights = X[weights > 0], weights[weights > 0]
    means = np.average(X, axis=0, weights=weights)
    return np.where(np.ptp(X, axis=0) == 0, X[0], means)


def midst(X: np.ndarray) -> np.ndarray:
    """Return a number for each column that is among most of its entries.

    It is the median of some rows. The mean would not do: a row far away, of codes for
    unknown values, say, would draw it away from all others.
    """
    return np.median(X[:: max(len(X) // _LOOKED_AT, 1)], axis=0)


def column_variances(X: Any, weights: np.ndarray | None) -> np.ndarray:
    """Return the variance of each column (n_features,)."""
    if sparse.issparse(X):
        return mean_variance_axis(X, axis=0, weights=weights)[1]
    # relative to a row with a weight, so that a constant column has the variance zero
    X = X - X[0 if weights is None else np.argmax(weights)]
    distances = X - np.average(X, axis=0, weights=weights)
    return np.average(distances**2, axis=0, weights=weights)


def rescaled(
    kernel: BaseEstimator, name: str, power: float, X: Any, Z: Any = None
) -> tuple[Any, Any]:
    """Multiply column j of X and Z by the j-th value of a parameter to some power.

    Parameters
    ----------
    kernel : Kernel
        The kernel that holds the parameter.
    name : str
        Name of the parameter: a number > 0 or one per feature.
    power : float
        Exponent, 1/2 where the kernel squares what it gets, -1 for a length.
    X, Z : array or sparse matrix, (n_samples, n_features), (n_other, n_features)
        The rows; Z is X if None.

    Returns
    -------
    tuple of two arrays or csr matrices
        Float64; the second *is* the first where Z is X, which is how the callers
        know that their matrix is square and symmetric.
    """
    X, Z = pairs(X, Z)
    factors = positive_per_feature(kernel, name, X.shape[1]) ** power
    first = times(X, factors)
    return first, first if Z is X else times(Z, factors)


def one_width(value: Any, n_features: int) -> list[np.ndarray]:
    """Return one group of all columns if a parameter is one number, or a word."""
    return [np.arange(n_features)] if np.ndim(value) == 0 else []


def rescaled_differences(
    kernel: BaseEstimator, name: str, power: float, X: Any, Z: Any = None
) -> tuple[Any, Any]:
    """Move both sets of rows to the midst of the second one, then rescale the columns.

    Parameters and result are those of `rescaled`. For kernels that depend only on the
    differences of rows. scikit-learn computes distances from norms and products, which
    leaves no digits for rows far from the origin, such as rows with a date in seconds.
    Sparse rows are not moved. Numbers beyond the range of floating point numbers are
    cut to the largest of these.
    """
    X, Z = pairs(X, Z)
    if sparse.issparse(X) or sparse.issparse(Z):
        return rescaled(kernel, name, power, X, None if Z is X else Z)
    origin = midst(Z)
    factors = positive_per_feature(kernel, name, X.shape[1]) ** power
    first = _moved(X, origin, factors)
    return first, first if Z is X else _moved(Z, origin, factors)


def _moved(X: np.ndarray, origin: np.ndarray, factors: float | np.ndarray) -> Any:
    """Return (X - origin) * factors, finite."""
    with np.errstate(over="ignore"):
        moved = (X - origin) * factors
    np.minimum(moved, _LARGEST, out=moved)
    return np.maximum(moved, -_LARGEST, out=moved)


def symmetrized(K: np.ndarray) -> np.ndarray:
    """Replace K in place by (K + K') / 2, which is exactly symmetric.

    Strips of rows are taken in turn: NumPy would copy all of K' for ``K += K.T``.
    """
    for start in range(0, K.shape[0], 128):
        rows = slice(start, start + 128)
        strip = K[rows, start:] + K[start:, rows].T
        strip *= 0.5
        K[rows, start:] = strip
        K[start:, rows] = strip.T
    return K


def _variance(X: Any, weights: np.ndarray | None) -> float:
    """Return the variance of all entries.

    For a sparse matrix it is the variance within columns plus that between them. The
    mean square minus the squared mean would be shorter, but it cancels: equal entries
    may give a variance of 1e-15 instead of 0, and a meaningless gamma.
    """
    if sparse.issparse(X):
        means, variances = mean_variance_axis(X, axis=0, weights=weights)
        return float(variances.mean() + means.var())
    if weights is None:
        return float(X.var())
    # relative to an entry with a weight, so that equal entries have the variance zero
    X = X - X[np.argmax(weights), 0]
    distance = X - np.average(X, axis=0, weights=weights).mean()
    return float(np.average(distance**2, axis=0, weights=weights).mean())


def times(X: Any, factors: float | np.ndarray) -> Any:
    """Return the rows with column j multiplied by the j-th factor."""
    if not sparse.issparse(X):
        return X * factors
    # One factor per column even if all are equal, so that the result always comes
    # out of the same conversion: canonical, with sorted indices.
    scaled = X.multiply(np.broadcast_to(factors, (1, X.shape[1]))).tocsr()
    if max(scaled.nnz, *scaled.shape) <= np.iinfo(np.int32).max:
        # scikit-learn's city-block distance takes no others
        scaled.indices = scaled.indices.astype(np.int32, copy=False)
        scaled.indptr = scaled.indptr.astype(np.int32, copy=False)
    return scaled
