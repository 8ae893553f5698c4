"""A kernel on some columns of X: features of different kinds in one matrix.

``Columns(Gaussian(), slice(0, 10)) + Columns(Linear(), slice(10, None))`` compares
the first ten features by their distance and the others by their inner product.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import check_pairwise_arrays

from okl.kernels.base import Kernel, Matrix, check_is_kernel


class Columns(Kernel):
    """Kernel on selected columns, k(x, z) = kernel(x[columns], z[columns]).

    Parameters
    ----------
    kernel : Kernel
        The kernel on the selected columns, tuned as ``kernel__gamma``.
    columns : slice, int, array-like of int, or mask of shape (n_features,)
        Which columns, at least one; negative numbers count from the end.
    """

    def __init__(self, kernel, columns):
        self.kernel = kernel
        self.columns = columns

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> np.ndarray:
        """Return the matrix of the kernel on the selected columns."""
        return self.kernel(self._select(X), None if Z is None else self._select(Z))

    def diagonal(self, X: Matrix) -> np.ndarray:
        """Return the diagonal of the kernel on the selected columns."""
        return self.kernel.diagonal(self._select(X))

    @property
    def is_psd(self) -> bool:
        """Whether the inner kernel is positive semi-definite by construction."""
        return self.kernel.is_psd

    def resolve(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Return the same columns with the kernel resolved on them."""
        kernel = check_is_kernel(self.kernel, "kernel of Columns")
        return Columns(kernel.resolve(self._select(X), weights), self.columns)

    def features(self, X: Matrix) -> Matrix | None:
        """Return the features of the kernel on the selected columns, if any."""
        return self.kernel.features(self._select(X))

    def _select(self, X: Matrix) -> Matrix:
        X, _ = check_pairwise_arrays(X, None, dtype=np.float64)
        numbers = np.arange(X.shape[1])
        columns = self.columns
        try:
            if not isinstance(columns, slice):
                columns = np.asarray(columns)
            selected = np.atleast_1d(numbers[columns])
        except (IndexError, ValueError) as error:  # ValueError: a ragged list
            raise ValueError(self._message(X.shape[1])) from error
        if selected.ndim != 1 or not selected.size:
            raise ValueError(self._message(X.shape[1]))
        return X[:, selected]

    def _message(self, n_features: int) -> str:
        return (
            f"columns of Columns must select at least one of the {n_features} columns "
            "of X, by a slice, by column numbers or by a boolean mask of length "
            f"{n_features}, got {self.columns!r}."
        )
