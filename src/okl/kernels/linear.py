"""The linear kernel: the inner product of the features.

It is the kernel of linear models. Its features are known and few, so `features` returns
them: with more samples than features the solvers then work on X and never form the
matrix X X'.

Where the intercept is free, the origin matters only for rounding, as
x'w + b = (x - c)'w + (b + c'w). Products of rows that all have a large offset leave no
digits for their differences. Estimators therefore move the origin to the means of the
training rows.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from okl.kernels._checks import as_numbers, positive_per_feature
from okl.kernels._contractions import sums_of_products
from okl.kernels._hyperparameters import WEIGHT, feature_parameter
from okl.kernels._pairs import inner_products, pairs
from okl.kernels._scaling import column_means, times
from okl.kernels.base import Kernel, Matrix
from okl.kernels.differentiable import Derivatives, Evaluated
from okl.parameters.hyperparameter import Hyperparameter


class Linear(Kernel):
    """Linear kernel, k(x, z) = sum_j s_j (x_j - c_j) (z_j - c_j).

    With c = 0 and s = 1 it is `sklearn.metrics.pairwise.linear_kernel`.

    Parameters
    ----------
    center : array-like of shape (n_features,), default=None
        c, the origin; None for zero. Where an intercept is free it has no influence on
        a model; estimators then put the means of the training rows here, if these are
        dense.
    scales : float or array-like of shape (n_features,), default=None
        s, the weight of each feature: one number > 0, or one per feature, which can be
        learned. None is 1 for all, and is not learned.
    limits : array-like of shape (2, n_features), default=None
        The lowest and the highest value of each feature; values beyond are set to
        these, so that a trend does not continue outside. None for no limits.
    """

    name = "linear"

    def __init__(self, center=None, scales=None, limits=None):
        self.center = center
        self.scales = scales
        self.limits = limits

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> np.ndarray:
        """Return the matrix (X - c) diag(s) (Z - c)', dense also for sparse rows."""
        return inner_products(*self._features(X, Z))

    def hyperparameters(
        self, X: Matrix, weights: np.ndarray | None = None
    ) -> list[Hyperparameter]:
        """Return the scales, if any, prior around 1 / (n_features * variance)."""
        if self.scales is None:
            return []
        return [feature_parameter(self, "scales", X, weights, shared=WEIGHT)]

    def value_and_pullback(self, X: Matrix, Z: Matrix | None = None) -> Evaluated:
        """Return the matrix, and the inner products of W with that of each column."""
        X, Z = self._features(X, Z)
        K = inner_products(X, Z)

        def pullback(W: np.ndarray) -> Derivatives:
            if self.scales is None:
                return {}
            if np.ndim(self.scales):
                return {"scales": sums_of_products(W, X, Z)}
            return {"scales": float(np.vdot(W, K))}

        return K, pullback

    def diagonal(self, X: Matrix) -> np.ndarray:
        """Return the squared distances of the rows from c, weighted by s."""
        return row_norms(self._features(X)[0], squared=True)

    def resolve(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Return a copy after checking the centre, the scales and the limits."""
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
        scales = self.scales
        if scales is not None:
            scales = positive_per_feature(self, "scales", X.shape[1])
        return Linear(center, scales, self._checked_limits(X.shape[1]))

    def centered(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Return the kernel with its origin at the means of dense rows within limits.

        Sparse rows would become dense: for these the kernel stays as it is.
        """
        if sparse.issparse(X):
            return self
        X = np.asarray(X, dtype=np.float64)
        if self.limits is not None:
            X = np.clip(X, *self.limits)
        means = column_means(X, weights)
        return Linear(means, self.scales, self.limits)

    def features(self, X: Matrix) -> Matrix:
        """Return (X - c) sqrt(s), X within its limits.

        Without c, s and limits it is X itself, sparse if it is sparse.
        """
        if sparse.issparse(X) and (self.center is not None or self.limits is not None):
            X = X.toarray()
        if self.limits is not None:
            X = np.clip(X, *self.limits)
        if self.center is not None:
            X = X - self.center
        if self.scales is None:
            return X
        return times(X, positive_per_feature(self, "scales", X.shape[1]) ** 0.5)

    def _checked_limits(self, n_features: int) -> np.ndarray | None:
        if self.limits is None:
            return None
        limits = as_numbers(self.limits)
        if (
            limits is None
            or limits.shape != (2, n_features)
            or not np.all(limits[0] <= limits[1])
        ):
            raise ValueError(
                "limits of Linear must be None, or a lowest and a highest value for "
                f"each of the {n_features} features of X, got {self.limits!r}."
            )
        return limits

    def _features(self, X: Matrix, Z: Matrix | None = None) -> tuple[Matrix, Matrix]:
        """Return the features of X and of Z; the second *is* the first where Z is X."""
        X, Z = pairs(X, Z)
        first = self.features(X)
        return first, first if Z is X else self.features(Z)
