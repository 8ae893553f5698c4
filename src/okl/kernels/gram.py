"""A given kernel matrix as a kernel: the samples are row numbers.

A matrix that was computed elsewhere (from graphs, strings, trees) has no features.
Here X has a single column that holds the number of each sample in the matrix.
Cross-validation then splits row numbers, and several matrices can be averaged,
which the single matrix of ``kernel="precomputed"`` does not allow.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from okl.kernels.base import Kernel, Matrix


class Gram(Kernel):
    """Lookup in a stored matrix, k(x, z) = matrix[x, z] for row numbers x, z.

    Parameters
    ----------
    matrix : array-like of shape (n_known, n_known)
        Symmetric positive semi-definite. It is never copied: a clone refers to the same
        matrix. The kernel has no parameters to be learned.
    """

    def __init__(self, matrix):
        self.matrix = matrix

    def __sklearn_clone__(self) -> Gram:
        return Gram(self.matrix)

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> np.ndarray:
        """Return the rows and columns of the stored matrix that X and Z name."""
        rows = self._row_numbers(X)
        others = rows if Z is None else self._row_numbers(Z)
        block = np.asarray(self.matrix)[np.ix_(rows, others)]
        return block.astype(np.float64, copy=False)

    def diagonal(self, X: Matrix) -> np.ndarray:
        """Return the diagonal entries of the given rows."""
        diagonal = np.diagonal(self.matrix)[self._row_numbers(X)]
        return diagonal.astype(np.float64, copy=False)

    @property
    def is_psd(self) -> bool:
        """Return False: what the user gave is not known to be a kernel."""
        return False

    def resolve(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Return a kernel with the same matrix after checking it and the row numbers.

        Raises
        ------
        ValueError
            If the matrix is not square, finite and symmetric, or if X is not one
            column of row numbers of it.
        """
        self._check_matrix()
        self._row_numbers(X)
        return Gram(self.matrix)

    def _check_matrix(self) -> None:
        M = check_array(self.matrix, input_name="matrix of Gram", copy=False)
        if M.shape[0] != M.shape[1]:
            raise ValueError(
                f"matrix of Gram must be square, got shape {M.shape}. Rows of a "
                "rectangular matrix of features go into X, with another kernel."
            )
        # The largest entry of a positive semi-definite matrix is on its diagonal and
        # at most the largest eigenvalue, and it costs no decomposition.
        gap = np.abs(M - M.T).max()
        if gap > 1e-5 * np.abs(M).max():
            raise ValueError(
                f"matrix of Gram must be symmetric, but M and M' differ by {gap:.3g}. "
                "If that is rounding, pass (M + M.T) / 2."
            )

    def _row_numbers(self, X: Matrix) -> np.ndarray:
        if sparse.issparse(X):
            X = X.toarray()
        X = check_array(X, dtype=np.float64)
        n_known = np.shape(self.matrix)[0]
        if X.shape[1] != 1:
            raise ValueError(
                "Gram takes X with a single column, the row number of each sample in "
                f"the matrix, got {X.shape[1]} columns. Use Columns(Gram(matrix), "
                "column) if X has more, kernel='precomputed' if X is the matrix."
            )
        rows = X[:, 0]
        wrong = rows[(rows != np.floor(rows)) | (rows < 0) | (rows >= n_known)]
        if wrong.size:
            raise ValueError(
                f"Gram takes row numbers from 0 to {n_known - 1} as X, got "
                f"{wrong[0]:g}. Do not scale or encode the column of row numbers."
            )
        return rows.astype(np.intp)
