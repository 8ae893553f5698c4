"""The linear kernel: the inner product of the features.

The kernel of linear models. It is the one kernel here whose features are known and
few, so `features` returns them: with more samples than features the solvers then
work on X and never form the matrix X X'.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import check_pairwise_arrays, linear_kernel
from sklearn.utils.extmath import row_norms

from okl.kernels.base import Kernel, Matrix


class Linear(Kernel):
    """Linear kernel, k(x, z) = sum_j x_j z_j.

    It is `sklearn.metrics.pairwise.linear_kernel` and has no parameters.
    """

    name = "linear"

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> np.ndarray:
        """Return the matrix X Z', dense also for sparse rows."""
        X, Z = check_pairwise_arrays(X, Z, dtype=np.float64)
        return linear_kernel(X, Z)

    def diagonal(self, X: Matrix) -> np.ndarray:
        """Return the squared norms of the rows."""
        X, _ = check_pairwise_arrays(X, None, dtype=np.float64)
        return row_norms(X, squared=True)

    def features(self, X: Matrix) -> Matrix:
        """Return X itself, sparse if it is sparse."""
        return X
