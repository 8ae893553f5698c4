"""The periodic kernel: rows a whole number of periods apart are alike.

It is for hours of the day, days of the year, angles. Each column is mapped to a circle,
once around for a period, and the kernel is the Gaussian kernel of the points on these
circles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from okl.kernels._checks import positive_per_feature
from okl.kernels._contractions import sums_of_products, sums_of_squares
from okl.kernels._hyperparameters import OWN, SHARED, feature_parameter
from okl.kernels._pairs import pairs, squared_distances
from okl.kernels._scaling import midst, symmetrized
from okl.kernels.base import Kernel, Matrix
from okl.kernels.differentiable import Derivatives, Evaluated
from okl.parameters.hyperparameter import Hyperparameter


class Periodic(Kernel):
    """Periodic kernel, k(x, z) = exp(-2 sum_j (sin(pi (x_j - z_j) / p_j) / l_j)^2).

    For a single column it is `sklearn.gaussian_process.kernels.ExpSineSquared`. For
    several columns it is the product of one for each, which is positive semi-definite;
    scikit-learn's kernel, of the sine of the distance of two rows, need not be. Use
    ``Columns`` to apply it to some columns only.

    Parameters
    ----------
    length_scale : float or array-like of shape (n_features,), default=1.0
        l, in radians: how far along the circle rows are alike. One number > 0 for all
        features, or one per feature.
    periodicity : float or array-like of shape (n_features,), default=1.0
        p, the period in the units of X: one number > 0 for all features, or one per
        feature. A search for it has many local optima: give it if it is known.

    Notes
    -----
    Sparse rows are refused: a zero is as much a point on the circle as any number.
    """

    name = "periodic"

    def __init__(self, length_scale=1.0, periodicity=1.0):
        self.length_scale = length_scale
        self.periodicity = periodicity

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> np.ndarray:
        """Return exp(-2 sum_j (sin(pi (x_j - z_j) / p_j) / l_j)^2) for all rows."""
        X, Z = self._angles(X, Z)
        first = self._circles(X)
        return _of_circles(first, first if Z is X else self._circles(Z))

    def hyperparameters(
        self, X: Matrix, weights: np.ndarray | None = None
    ) -> list[Hyperparameter]:
        """Return the length scale and the period, with their priors.

        The first is around sqrt(n_features), the second around the deviation of a
        column.
        """
        return [
            feature_parameter(
                self,
                "length_scale",
                X,
                weights,
                of_features=0.5,
                of_variance=0.0,
                own=OWN / 2,
                shared=SHARED / 2,
            ),
            feature_parameter(
                self, "periodicity", X, weights, of_features=0.0, of_variance=0.5
            ),
        ]

    def value_and_pullback(self, X: Matrix, Z: Matrix | None = None) -> Evaluated:
        """Return the matrix, and the inner products of W with its derivatives.

        K = exp(-||a - b||^2) for points a, b on circles. A length scale divides the
        points, a period moves them along the circle, orthogonal to their position.
        """
        X, Z = self._angles(X, Z)
        A = self._circles(X)
        B = A if Z is X else self._circles(Z)
        K = _of_circles(A, B)

        def pullback(W: np.ndarray) -> Derivatives:
            M = W * K
            by_length = 2.0 * _per_angle(sums_of_squares(M, A, B))
            A_moved, B_moved = _moved(A, X), _moved(B, Z)
            by_period = sums_of_products(M, A, B_moved) + sums_of_products(
                M, A_moved, B
            )
            by_period = 2.0 * _per_angle(by_period)
            return {
                "length_scale": _like(self.length_scale, by_length),
                "periodicity": _like(self.periodicity, by_period),
            }

        return K, pullback

    def diagonal(self, X: Matrix) -> np.ndarray:
        """Return ones."""
        return np.ones(np.shape(X)[0])

    def resolve(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Return a copy after checking the parameters."""
        return Periodic(
            positive_per_feature(self, "length_scale", X.shape[1]),
            positive_per_feature(self, "periodicity", X.shape[1]),
        )

    def _angles(self, X: Matrix, Z: Matrix | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the angles of the rows, relative to `midst` of the second ones."""
        if sparse.issparse(X) or sparse.issparse(Z):
            raise TypeError(
                "Periodic takes dense X only, got a sparse matrix: pass X.toarray()."
            )
        X, Z = pairs(X, Z)
        period = positive_per_feature(self, "periodicity", X.shape[1])
        origin = midst(Z)  # angles of large numbers would lose their digits
        first = (X - origin) * (2.0 * np.pi / period)
        return first, first if Z is X else (Z - origin) * (2.0 * np.pi / period)

    def _circles(self, angles: np.ndarray) -> np.ndarray:
        """Return the points on the circles: all first coordinates, then all second.

        With the radius 1 / (sqrt(2) l) two of them have the squared distance
        2 (sin(angle / 2) / l)^2, the angle being that between them.
        """
        length = positive_per_feature(self, "length_scale", angles.shape[1])
        points = np.hstack([np.cos(angles) / length, np.sin(angles) / length])
        return points * 0.5**0.5


def _of_circles(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    K = squared_distances(A, B)
    np.negative(K, out=K)
    np.exp(K, out=K)
    return symmetrized(K) if A is B else K


def _moved(points: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Return the derivative of points on circles by the log of the period."""
    first, second = np.split(points, 2, axis=1)
    return np.hstack([second * angles, -first * angles])


def _per_angle(sums: np.ndarray) -> np.ndarray:
    """Add up the sums of the two coordinates of each angle."""
    return sums.reshape(2, -1).sum(axis=0)


def _like(value: Any, derivatives: np.ndarray) -> np.ndarray | float:
    """Return one derivative for each feature, or their sum if they share a number."""
    return derivatives if np.ndim(value) else float(derivatives.sum())
