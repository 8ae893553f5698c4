"""The Matern kernels: like the Gaussian, with a chosen smoothness.

``nu`` says how often the functions can be differentiated: not at all for 1/2, once
for 3/2, twice for 5/2. For these three the kernel is a polynomial of the distance
times its exponential.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import DistanceMetric

from okl.kernels._scaling import one_width, rescaled_differences, resolved_length_scale
from okl.kernels.base import Kernel, Matrix

# Coefficients of p_nu, constant term first.
POLYNOMIALS = {0.5: (1.0,), 1.5: (1.0, 1.0), 2.5: (1.0, 1.0, 1.0 / 3.0)}


class Matern(Kernel):
    """Matern kernel, k(x, z) = p_nu(r) exp(-r).

    Here r = sqrt(2 nu) ||(x - z) / length_scale||, divided feature by feature, and
    p_nu(r) is 1, 1 + r or 1 + r + r^2 / 3 for nu = 1/2, 3/2 or 5/2. It is
    `sklearn.gaussian_process.kernels.Matern` for these nu.

    Parameters
    ----------
    length_scale : float, array-like of shape (n_features,) or "scale", default=1.0
        One number > 0 for all features, or one per feature. ``"scale"`` is the root of
        n_features times the mean variance of the columns of the training data; such a
        kernel must be resolved before it is called.
    nu : {0.5, 1.5, 2.5}, default=1.5
        Smoothness.
    """

    name = "matern"

    def __init__(self, length_scale=1.0, nu=1.5):
        self.length_scale = length_scale
        self.nu = nu

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> np.ndarray:
        """Return p_nu(r) exp(-r) for all pairs of rows."""
        X, Z = rescaled_differences(self, "length_scale", -1.0, X, Z)
        # Not euclidean_distances: near zero it is only right to the square root of
        # the rounding error, and this kernel, unlike the Gaussian, is not flat there.
        r = DistanceMetric.get_metric("euclidean").pairwise(X, Z)
        r *= np.sqrt(2.0 * self.nu)
        *lower, highest = self._polynomial()
        K = np.full_like(r, highest)
        for coefficient in reversed(lower):
            K *= r
            K += coefficient
        np.negative(r, out=r)
        K *= np.exp(r, out=r)
        return K

    def diagonal(self, X: Matrix) -> np.ndarray:
        """Return ones."""
        return np.ones(np.shape(X)[0])

    def of_one_width(self, n_features: int) -> list[np.ndarray]:
        """Return all columns, unless each has a length_scale of its own."""
        return one_width(self.length_scale, n_features)

    def resolve(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Return a copy whose length scale is numeric, after checking nu."""
        self._polynomial()
        return Matern(resolved_length_scale(self, X, weights), self.nu)

    def _polynomial(self) -> tuple[float, ...]:
        for nu, coefficients in POLYNOMIALS.items():
            if self.nu == nu:
                return coefficients
        raise ValueError(
            f"nu of Matern must be 0.5, 1.5 or 2.5, got {self.nu!r}. For a very smooth "
            "function use okl.kernels.Gaussian, for another nu pass "
            "sklearn.gaussian_process.kernels.Matern as the kernel."
        )
