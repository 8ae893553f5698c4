"""The rational quadratic kernel: Gaussians of many widths at once.

It is the mean of Gaussian kernels whose inverse squared widths have a gamma
distribution; the smaller ``alpha``, the more they differ. It decays as a power of the
distance, so that rows far apart still have something in common.
"""

from __future__ import annotations

import numpy as np

from okl.kernels._checks import positive_number
from okl.kernels._contractions import sums_of_squares
from okl.kernels._hyperparameters import length_parameter, shape_parameter
from okl.kernels._pairs import squared_distances
from okl.kernels._scaling import (
    one_width,
    rescaled_differences,
    resolved_length_scale,
    symmetrized,
)
from okl.kernels.base import Kernel, Matrix
from okl.kernels.differentiable import Derivatives, Evaluated
from okl.parameters.hyperparameter import Hyperparameter


class RationalQuadratic(Kernel):
    """Rational quadratic kernel, k(x, z) = (1 + r^2 / (2 alpha))^-alpha.

    Here r = ||(x - z) / length_scale||, divided feature by feature. With one length
    scale it is `sklearn.gaussian_process.kernels.RationalQuadratic`.

    Parameters
    ----------
    length_scale : "scale", float or array-like of shape (n_features,), default="scale"
        One number > 0 for all features, or one per feature. ``"scale"`` is the root of
        n_features times the mean variance of the columns of the training data; such a
        kernel must be resolved before it is called.
    alpha : float, default=1.0
        A number > 0: the larger, the closer to the Gaussian kernel.
    """

    name = "rational_quadratic"

    def __init__(self, length_scale="scale", alpha=1.0):
        self.length_scale = length_scale
        self.alpha = alpha

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> np.ndarray:
        """Return (1 + r^2 / (2 alpha))^-alpha for all pairs of rows."""
        X, Z = rescaled_differences(self, "length_scale", -1.0, X, Z)
        K = np.log1p(self._ratios(X, Z))
        K *= -self.alpha
        np.exp(K, out=K)
        return symmetrized(K) if Z is X else K

    def hyperparameters(
        self, X: Matrix, weights: np.ndarray | None = None
    ) -> list[Hyperparameter]:
        """Return the length scale, and alpha, with a prior around one."""
        return [
            length_parameter(self, X, weights),
            shape_parameter("alpha", self.alpha),
        ]

    def value_and_pullback(self, X: Matrix, Z: Matrix | None = None) -> Evaluated:
        """Return the matrix, and the inner products of W with its derivatives.

        With t = r^2 / (2 alpha) these are K / (1 + t) times the squares of the
        features, and alpha K (t / (1 + t) - log(1 + t)).
        """
        X, Z = rescaled_differences(self, "length_scale", -1.0, X, Z)
        t = self._ratios(X, Z)
        K = np.exp(-self.alpha * np.log1p(t))
        t /= 1.0 + t  # so that 1 / (1 + t) is 1 - t from here on

        def pullback(W: np.ndarray) -> Derivatives:
            M = W * K
            negative_logs = -t
            np.log1p(negative_logs, out=negative_logs)
            of_ratios = float(np.vdot(M, t))
            by_alpha = self.alpha * (of_ratios + float(np.vdot(M, negative_logs)))
            del negative_logs
            if np.ndim(self.length_scale) == 0:
                by_length = 2.0 * self.alpha * of_ratios
                return {"length_scale": by_length, "alpha": by_alpha}
            M *= 1.0 - t
            return {"length_scale": sums_of_squares(M, X, Z), "alpha": by_alpha}

        return symmetrized(K) if Z is X else K, pullback

    def diagonal(self, X: Matrix) -> np.ndarray:
        """Return ones."""
        return np.ones(np.shape(X)[0])

    def of_one_width(self, n_features: int) -> list[np.ndarray]:
        """Return all columns, unless each has a length_scale of its own."""
        return one_width(self.length_scale, n_features)

    def resolve(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Return a copy whose length scale is numeric, after checking alpha."""
        alpha = positive_number(self, "alpha")
        return RationalQuadratic(resolved_length_scale(self, X, weights), alpha)

    def _ratios(self, X: Matrix, Z: Matrix) -> np.ndarray:
        """Return r^2 / (2 alpha) of rescaled rows."""
        ratios = squared_distances(X, Z)
        ratios /= 2.0 * positive_number(self, "alpha")
        return ratios
