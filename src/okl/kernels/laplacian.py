"""The Laplacian kernel: like the Gaussian, with the city-block distance.

Its functions have kinks, and a large difference in a single feature counts less than in
the Gaussian kernel: a robust choice for histograms and noisy features.
"""

from __future__ import annotations

import numpy as np

from okl.kernels._contractions import sums_of_distances
from okl.kernels._hyperparameters import feature_parameter
from okl.kernels._pairs import city_block_distances
from okl.kernels._scaling import one_width, rescaled_differences, resolved_gamma
from okl.kernels.base import Kernel, Matrix
from okl.kernels.differentiable import Evaluated
from okl.parameters.hyperparameter import Hyperparameter


class Laplacian(Kernel):
    """Laplacian kernel, k(x, z) = ``exp(-sum_j gamma_j |x_j - z_j|)``.

    With one gamma it is `sklearn.metrics.pairwise.laplacian_kernel`.

    Parameters
    ----------
    gamma : "scale", float or array-like of shape (n_features,), default="scale"
        Inverse width: one number > 0 for all features, or one per feature.
        ``"scale"`` is 1 / (n_features * X.var()) of the training data, as in
        `sklearn.svm.SVC`; such a kernel must be resolved before it is called.
    """

    name = "laplacian"

    def __init__(self, gamma="scale"):
        self.gamma = gamma

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> np.ndarray:
        """Return exp(-sum_j gamma_j |x_ij - z_kj|) for all rows i, k."""
        X, Z = rescaled_differences(self, "gamma", 1.0, X, Z)
        return _of_distances(city_block_distances(X, Z))

    def hyperparameters(
        self, X: Matrix, weights: np.ndarray | None = None
    ) -> list[Hyperparameter]:
        """Return gamma, prior around 1 / (n_features * deviation of a column)."""
        return [feature_parameter(self, "gamma", X, weights, of_variance=-0.5)]

    def value_and_pullback(self, X: Matrix, Z: Matrix | None = None) -> Evaluated:
        """Return K, and the inner products of W with ``-K gamma_k |x_k - z_k|``.

        With a gamma for each feature the derivatives take as long as the matrix itself.
        """
        X, Z = rescaled_differences(self, "gamma", 1.0, X, Z)
        distances = city_block_distances(X, Z)
        if np.ndim(self.gamma):
            K = _of_distances(distances)
            return K, lambda W: {"gamma": -sums_of_distances(W * K, X, Z)}
        K = _of_distances(distances.copy())
        return K, lambda W: {"gamma": -float(np.vdot(W * K, distances))}

    def diagonal(self, X: Matrix) -> np.ndarray:
        """Return ones."""
        return np.ones(np.shape(X)[0])

    def of_one_width(self, n_features: int) -> list[np.ndarray]:
        """Return all columns, unless each has a gamma of its own."""
        return one_width(self.gamma, n_features)

    def resolve(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Return a copy whose gamma is numeric."""
        return Laplacian(resolved_gamma(self, X, weights))


def _of_distances(distances: np.ndarray) -> np.ndarray:
    """Return the matrix, written over the distances."""
    np.negative(distances, out=distances)
    return np.exp(distances, out=distances)
