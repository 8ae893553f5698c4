"""The Gaussian kernel: similar means close, at a scale set by ``gamma``.

The default choice for dense features. It is bounded by one, infinitely smooth, and
with enough samples it fits any continuous function.
"""

from __future__ import annotations

import numpy as np

from okl.kernels._contractions import sums_of_squares
from okl.kernels._hyperparameters import feature_parameter
from okl.kernels._pairs import squared_distances
from okl.kernels._scaling import (
    one_width,
    rescaled_differences,
    resolved_gamma,
    symmetrized,
)
from okl.kernels.base import Kernel, Matrix
from okl.kernels.differentiable import Evaluated
from okl.parameters.hyperparameter import Hyperparameter


class Gaussian(Kernel):
    """Gaussian kernel, k(x, z) = exp(-sum_j gamma_j (x_j - z_j)^2).

    With one gamma it is `sklearn.metrics.pairwise.rbf_kernel`.

    Parameters
    ----------
    gamma : "scale", float or array-like of shape (n_features,), default="scale"
        Inverse squared width: one number > 0 for all features, or one per feature.
        ``"scale"`` is 1 / (n_features * X.var()) of the training data, as in
        `sklearn.svm.SVC`; such a kernel must be resolved before it is called.
    """

    name = "rbf"
    aliases = ("gaussian",)

    def __init__(self, gamma="scale"):
        self.gamma = gamma

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> np.ndarray:
        """Return the matrix; the one of X alone is exactly symmetric."""
        X, Z = rescaled_differences(self, "gamma", 0.5, X, Z)
        return _of_squares(squared_distances(X, Z), Z is X)

    def hyperparameters(
        self, X: Matrix, weights: np.ndarray | None = None
    ) -> list[Hyperparameter]:
        """Return gamma, with a prior around 1 / (n_features * variance of a column)."""
        return [feature_parameter(self, "gamma", X, weights)]

    def value_and_pullback(self, X: Matrix, Z: Matrix | None = None) -> Evaluated:
        """Return K, and the inner products of W with -K gamma_k (x_k - z_k)^2."""
        X, Z = rescaled_differences(self, "gamma", 0.5, X, Z)
        squares = squared_distances(X, Z)
        if np.ndim(self.gamma):
            K = _of_squares(squares, Z is X)
            return K, lambda W: {"gamma": -sums_of_squares(W * K, X, Z)}
        K = _of_squares(squares.copy(), Z is X)
        return K, lambda W: {"gamma": -float(np.vdot(W * K, squares))}

    def diagonal(self, X: Matrix) -> np.ndarray:
        """Return ones."""
        return np.ones(np.shape(X)[0])

    def of_one_width(self, n_features: int) -> list[np.ndarray]:
        """Return all columns, unless each has a gamma of its own."""
        return one_width(self.gamma, n_features)

    def resolve(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Return a copy whose gamma is numeric."""
        return Gaussian(resolved_gamma(self, X, weights))


def _of_squares(squares: np.ndarray, symmetric: bool) -> np.ndarray:
    """Return the matrix, written over the squared distances."""
    np.negative(squares, out=squares)
    K = np.exp(squares, out=squares)
    # scikit-learn adds the norms of rows and columns one after the other, so its
    # matrix is symmetric up to rounding only.
    return symmetrized(K) if symmetric else K
