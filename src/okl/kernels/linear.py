"""The linear kernel: the inner product of the features.

The kernel of linear models. It is the one kernel here whose features are known and
few, so `features` returns them: with more samples than features the solvers then
work on X and never form the matrix X X'.

Where the intercept is free the origin does not matter but for rounding, as x'w + b =
(x - c)'w + (b + c'w): products of rows that all have a large offset leave no digits for
their differences. Estimators therefore use the kernel seen from the means of the
training rows.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import check_pairwise_arrays, linear_kernel
from sklearn.utils.extmath import row_norms

from okl.kernels._checks import as_numbers
from okl.kernels._scaling import column_means
from okl.kernels.base import Kernel, Matrix


class Linear(Kernel):
    """Linear kernel, k(x, z) = sum_j (x_j - c_j) (z_j - c_j).

    With c = 0 it is `sklearn.metrics.pairwise.linear_kernel`.

    Parameters
    ----------
    center : array-like of shape (n_features,), default=None
        c, the point that rows are seen from; None for zero. Where an intercept is free
        it has no influence on a model; estimators then put the means of the training
        rows here, if these are dense.
    """

    name = "linear"

    def __init__(self, center=None):
        self.center = center

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> np.ndarray:
        """Return the matrix (X - c)(Z - c)', dense also for sparse rows."""
        X, Z = check_pairwise_arrays(X, Z, dtype=np.float64)
        first = self._moved(X)
        return linear_kernel(first, first if Z is X else self._moved(Z))

    def diagonal(self, X: Matrix) -> np.ndarray:
        """Return the squared distances of the rows from c."""
        X, _ = check_pairwise_arrays(X, None, dtype=np.float64)
        return row_norms(self._moved(X), squared=True)

    def resolve(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Return a copy after checking the centre."""
        center = self.center
        if center is not None:
            center = as_numbers(center)
            if (
                center is None
                or center.shape != (X.shape[1],)
                or not np.all(np.isfinite(center))
            ):
                raise ValueError(
                    f"center of Linear must be None or {X.shape[1]} finite numbers, "
                    f"one per feature of X, got {self.center!r}."
                )
        return Linear(center)

    def centered(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Return the kernel seen from the means of dense rows.

        Sparse rows would be dense after it, and keep the kernel as it is.
        """
        if sparse.issparse(X):
            return self
        return Linear(column_means(np.asarray(X, dtype=np.float64), weights))

    def features(self, X: Matrix) -> Matrix:
        """Return X - c; X itself, sparse if it is sparse, without a centre."""
        return self._moved(X)

    def _moved(self, X: Matrix) -> Matrix:
        if self.center is None:
            return X
        return (X.toarray() if sparse.issparse(X) else X) - self.center
