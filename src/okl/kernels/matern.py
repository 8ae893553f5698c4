"""The Matern kernels: like the Gaussian, with a chosen smoothness.

``nu`` says how often the functions can be differentiated: not at all for 1/2, once
for 3/2, twice for 5/2. For these three the kernel is a polynomial of the distance
times its exponential.
"""

from __future__ import annotations

import numpy as np

from okl.kernels._contractions import sums_of_squares
from okl.kernels._hyperparameters import length_parameter
from okl.kernels._pairs import distances
from okl.kernels._scaling import one_width, rescaled_differences, resolved_length_scale
from okl.kernels.base import Kernel, Matrix
from okl.kernels.differentiable import Derivatives, Evaluated
from okl.parameters.hyperparameter import Hyperparameter

# Coefficients of p_nu, constant term first.
POLYNOMIALS = {0.5: (1.0,), 1.5: (1.0, 1.0), 2.5: (1.0, 1.0, 1.0 / 3.0)}

# Beyond this distance exp(-r) is zero in floating point numbers.
_FAR = 1e3

# Coefficients of (p_nu(r) - p_nu'(r)) / r; for nu = 1/2 it is 1 / r.
SLOPES = {1.5: (1.0,), 2.5: (1.0 / 3.0, 1.0 / 3.0)}


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
        r = self._distances(*rescaled_differences(self, "length_scale", -1.0, X, Z))
        K = _polynomial(self._coefficients(), r)
        np.negative(r, out=r)
        K *= np.exp(r, out=r)
        return K

    def hyperparameters(
        self, X: Matrix, weights: np.ndarray | None = None
    ) -> list[Hyperparameter]:
        """Return the length scale."""
        return [length_parameter(self, X, weights)]

    def value_and_pullback(self, X: Matrix, Z: Matrix | None = None) -> Evaluated:
        """Return p(r) exp(-r), and the inner products of W with its derivatives.

        The derivatives by the log of the length scale of feature j are
        2 nu (x_j - z_j)^2 / length_scale_j^2 exp(-r) (p(r) - p'(r)) / r.
        """
        X, Z = rescaled_differences(self, "length_scale", -1.0, X, Z)
        r = self._distances(X, Z)
        decay = np.exp(-r)

        def pullback(W: np.ndarray) -> Derivatives:
            M = W * decay
            M *= _slope(r) if self.nu == 0.5 else _polynomial(SLOPES[self.nu], r)
            if np.ndim(self.length_scale):
                return {"length_scale": 2.0 * self.nu * sums_of_squares(M, X, Z)}
            M *= r
            return {"length_scale": float(np.vdot(M, r))}

        return _polynomial(self._coefficients(), r) * decay, pullback

    def diagonal(self, X: Matrix) -> np.ndarray:
        """Return ones."""
        return np.ones(np.shape(X)[0])

    def of_one_width(self, n_features: int) -> list[np.ndarray]:
        """Return all columns, unless each has a length_scale of its own."""
        return one_width(self.length_scale, n_features)

    def resolve(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Return a copy whose length scale is numeric, after checking nu."""
        self._coefficients()
        return Matern(resolved_length_scale(self, X, weights), self.nu)

    def _distances(self, X: Matrix, Z: Matrix) -> np.ndarray:
        # Not squared_distances: near zero it is only right to the square root of
        # the rounding error, and this kernel, unlike the Gaussian, is not flat there.
        r = distances(X, Z)
        np.minimum(r, _FAR, out=r)  # an infinite polynomial times zero is NaN
        r *= np.sqrt(2.0 * self.nu)
        return r

    def _coefficients(self) -> tuple[float, ...]:
        for nu, coefficients in POLYNOMIALS.items():
            if self.nu == nu:
                return coefficients
        raise ValueError(
            f"nu of Matern must be 0.5, 1.5 or 2.5, got {self.nu!r}. For a very smooth "
            "function use okl.kernels.Gaussian, for another nu pass "
            "sklearn.gaussian_process.kernels.Matern as the kernel."
        )


def _polynomial(coefficients: tuple[float, ...], r: np.ndarray) -> np.ndarray:
    """Return the polynomial of all distances, by Horner's rule."""
    *lower, highest = coefficients
    result = np.full_like(r, highest)
    for coefficient in reversed(lower):
        result *= r
        result += coefficient
    return result


def _slope(r: np.ndarray) -> np.ndarray:
    """Return 1 / r, and zero for rows that are equal up to rounding.

    For such rows the derivative is negligible, as it is about r. But 1 / r would
    magnify the rounding of the squares that it multiplies.
    """
    apart = r > 1e-8 * r.max(initial=0.0)
    return np.divide(1.0, r, out=np.zeros_like(r), where=apart)
