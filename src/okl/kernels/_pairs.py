"""Two sets of rows: their checks by scikit-learn, distances and inner products.

scikit-learn's own functions check in each call, and more than once, what kind of arrays
they get: a data frame, or one of another library. For a few dozen rows that takes ten
times as long as the distances. Here rows skip these checks if a quick test shows that
they are plain, finite arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import cdist
from sklearn.metrics import DistanceMetric
from sklearn.metrics.pairwise import check_pairwise_arrays, manhattan_distances
from sklearn.utils import check_array
from sklearn.utils.extmath import row_norms, safe_sparse_dot

# With squared norms up to this, twice an inner product is finite.
_LARGEST_SQUARE = 1e307
# From so many columns on, distances are found from inner products; those of rows whose
# squared distance is less than this part of their squared norms are not.
_MANY_COLUMNS, _NEAR = 100, 0.01


def pairs(X: Any, Z: Any = None) -> tuple[Any, Any]:
    """Return two sets of rows after the checks of `check_pairwise_arrays`.

    Parameters
    ----------
    X, Z : array or sparse matrix, (n_samples, n_features), (n_other, n_features)
        The rows; Z is X if None.

    Returns
    -------
    tuple of two arrays or csr matrices
        Float64; the second *is* the first where Z is X or None.

    Raises
    ------
    ValueError
        For rows that are not finite, not of two axes, or of different numbers of
        columns.
    """
    if Z is None or Z is X:
        if _is_plain(X):
            return X, X
    elif _is_plain(X) and _is_plain(Z) and X.shape[1] == Z.shape[1]:
        return X, Z
    return check_pairwise_arrays(X, Z, dtype=np.float64)


def checked(X: Any) -> Any:
    """Return one set of rows after the checks of `check_array`, float64."""
    return X if _is_plain(X) else check_array(X, accept_sparse="csr", dtype=np.float64)


def inner_products(X: Any, Z: Any) -> np.ndarray:
    """Return X Z', as `sklearn.metrics.pairwise.linear_kernel` does."""
    X, Z = pairs(X, Z)
    return safe_sparse_dot(X, Z.T, dense_output=True)


def squared_distances(X: Any, Z: Any) -> np.ndarray:
    """Return the squares of `sklearn.metrics.pairwise.euclidean_distances`.

    They are right up to the rounding of the squared norms of the rows; infinite, and
    without a warning, where they leave the range of floating point numbers.
    """
    X, Z = pairs(X, Z)
    norms = row_norms(X, squared=True)
    others = norms if Z is X else row_norms(Z, squared=True)
    dense = not (issparse(X) or issparse(Z))
    if dense and not max(norms.max(), others.max()) < _LARGEST_SQUARE:
        return cdist(X, Z, "sqeuclidean")
    squares = safe_sparse_dot(X, Z.T, dense_output=True)
    squares *= -2.0
    squares += norms[:, np.newaxis]
    squares += others
    np.maximum(squares, 0.0, out=squares)
    if Z is X:
        np.fill_diagonal(squares, 0.0)
    return squares


def distances(X: Any, Z: Any) -> np.ndarray:
    """Return the distances, with full accuracy also for rows that nearly coincide.

    Sums over columns one by one take some ten times as long as inner products where
    there are many columns, but these leave few digits for rows that are near.
    """
    X, Z = pairs(X, Z)
    if issparse(X) or issparse(Z):
        return DistanceMetric.get_metric("euclidean").pairwise(X, Z)
    X, Z = _row_by_row(X, Z)
    if X.shape[1] < _MANY_COLUMNS:
        return cdist(X, Z)
    squares = squared_distances(X, Z)
    others = row_norms(Z, squared=True)
    norms = others if Z is X else row_norms(X, squared=True)
    for i, found in enumerate(squares):
        start = 0
        if Z is X:
            start, found[:i] = i + 1, squares[:i, i]  # exactly symmetric
        least = _NEAR * (norms[i] + others[start:])
        near = start + np.flatnonzero(found[start:] < least)
        if 2 * len(near) > len(found) - start:  # to copy most rows takes longer
            found[start:] = cdist(X[i : i + 1], Z[start:], "sqeuclidean")[0]
        elif len(near):
            found[near] = cdist(X[i : i + 1], Z[near], "sqeuclidean")[0]
    return np.sqrt(squares, out=squares)


def city_block_distances(X: Any, Z: Any) -> np.ndarray:
    """Return the sums of the absolute differences of all columns."""
    X, Z = pairs(X, Z)
    if issparse(X) or issparse(Z):
        return manhattan_distances(X, Z)
    return cdist(*_row_by_row(X, Z), "cityblock")


def _row_by_row(X: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both sets with the entries of a row side by side in memory.

    SciPy takes seven times as long where there are many columns and they are not: those
    of a data frame, or standardised ones.
    """
    first = np.ascontiguousarray(X)
    return first, first if Z is X else np.ascontiguousarray(Z)


def _is_plain(X: Any) -> bool:
    """Tell whether this is an array of finite float64 numbers with two axes."""
    if type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2 or not X.size:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        # the sum is finite only if all entries are; if not, scikit-learn checks each
        # entry
        return bool(np.isfinite(X.sum()))
