"""Sums over all pairs of rows, feature by feature: what derivatives of kernels need.

A kernel of d weighted columns has d derivatives, each the inner product of its own
n x n matrix with weights M. One product M B gives them for all columns; where that is
not possible, they are computed column by column in one array that is used again.

Shapes: M is (n_samples, n_other); A (n_samples, n_features) and B (n_other, n_features)
are dense or sparse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

# Entries of the array for one column: it stays in a processor's cache.
_CACHED_ENTRIES = 2**16


def sums_of_products(M: np.ndarray, A: Any, B: Any) -> np.ndarray:
    """Return sum_ij M_ij a_ik b_jk for each column k."""
    product = M @ B
    if sparse.issparse(A):
        return np.asarray(A.multiply(product).sum(axis=0)).ravel()
    return np.einsum("ik,ik->k", A, product)


def sums_of_squares(M: np.ndarray, A: Any, B: Any) -> np.ndarray:
    """Return sum_ij M_ij (a_ik - b_jk)^2 for each column k."""
    rows, columns = M.sum(axis=1), M.sum(axis=0)
    return rows @ _squared(A) + columns @ _squared(B) - 2.0 * sums_of_products(M, A, B)


def sums_of_distances(M: np.ndarray, A: Any, B: Any) -> np.ndarray:
    """Return sum_ij M_ij |a_ik - b_jk| for each column k.

    With |a - b| = a + b - 2 min(a, b), only the minimum needs all pairs.
    """
    smaller = np.zeros(A.shape[1])
    A_columns, B_columns = _columns(A), _columns(B)
    n_rows = max(1, _CACHED_ENTRIES // max(1, M.shape[1]))
    for rows in gen_batches(M.shape[0], n_rows):
        start = rows.start if A is B else 0  # each pair of equal sets once
        weights = _paired(M, rows) if A is B else M[rows]
        minimum = np.empty(weights.shape)
        for k in range(A.shape[1]):
            np.minimum.outer(A_columns(k)[rows], B_columns(k)[start:], out=minimum)
            smaller[k] += np.vdot(weights, minimum)
    return M.sum(axis=1) @ A + M.sum(axis=0) @ B - 2.0 * smaller


def _paired(M: np.ndarray, rows: slice) -> np.ndarray:
    """Return M_ij + M_ji for some rows i and all j from their first on."""
    weights = M[rows, rows.start :] + M[rows.start :, rows].T
    weights[:, : rows.stop - rows.start] *= 0.5  # these pairs come twice
    return weights


def _squared(A: Any) -> Any:
    return A.multiply(A).tocsr() if sparse.issparse(A) else A**2


def _columns(A: Any) -> Any:
    """Return the function that gives column k as a dense vector in one piece."""
    if sparse.issparse(A):
        by_column = sparse.csc_array(A)
        return lambda k: by_column[:, [k]].toarray().ravel()
    transposed = np.ascontiguousarray(A.T)
    return lambda k: transposed[k]
