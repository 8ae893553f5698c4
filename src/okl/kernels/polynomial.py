"""The polynomial kernel: all products of up to ``degree`` features.

With ``coef0 > 0`` its functions are the polynomials of the features of at most this
degree, with ``coef0 = 0`` the homogeneous ones.
"""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.utils.extmath import row_norms

from okl.kernels._checks import nonnegative_number
from okl.kernels._contractions import sums_of_products
from okl.kernels._hyperparameters import feature_parameter, weight_parameter
from okl.kernels._pairs import inner_products
from okl.kernels._scaling import rescaled, resolved_gamma
from okl.kernels.base import Kernel, Matrix
from okl.kernels.differentiable import Derivatives, Evaluated
from okl.parameters.hyperparameter import Hyperparameter


class Polynomial(Kernel):
    """Polynomial kernel, k(x, z) = (sum_j gamma_j x_j z_j + coef0)^degree.

    With one gamma it is `sklearn.metrics.pairwise.polynomial_kernel`.

    Parameters
    ----------
    degree : int, default=3
        A whole number >= 1: for others the matrix need not be positive
        semi-definite.
    gamma : "scale", float or array-like of shape (n_features,), default="scale"
        Weight of the inner product: one number > 0 for all features, or one per
        feature. ``"scale"`` is 1 / (n_features * X.var()) of the training data, as
        in `sklearn.svm.SVC`; such a kernel must be resolved before it is called.
    coef0 : float, default=1
        The constant term, a number >= 0.
    """

    name = "poly"

    def __init__(self, degree=3, gamma="scale", coef0=1):
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> np.ndarray:
        """Return (sum_j gamma_j x_ij z_kj + coef0)^degree for all rows i, k."""
        X, Z = rescaled(self, "gamma", 0.5, X, Z)
        return polynomial_kernel(X, Z, gamma=1.0, degree=self.degree, coef0=self.coef0)

    def diagonal(self, X: Matrix) -> np.ndarray:
        """Return (sum_j gamma_j x_ij^2 + coef0)^degree."""
        X, _ = rescaled(self, "gamma", 0.5, X)
        return (row_norms(X, squared=True) + self.coef0) ** self.degree

    def hyperparameters(
        self, X: Matrix, weights: np.ndarray | None = None
    ) -> list[Hyperparameter]:
        """Return gamma, prior around 1 / (n_features * variance), and coef0 if > 0."""
        gamma = feature_parameter(self, "gamma", X, weights)
        return (
            [gamma, weight_parameter("coef0", self.coef0)]
            if self.coef0 > 0
            else [gamma]
        )

    def value_and_pullback(self, X: Matrix, Z: Matrix | None = None) -> Evaluated:
        """Return B^degree, B = X diag(gamma) Z' + coef0, and its derivatives."""
        X, Z = rescaled(self, "gamma", 0.5, X, Z)
        inner = inner_products(X, Z)
        base = inner + self.coef0

        def pullback(W: np.ndarray) -> Derivatives:
            M = self.degree * W * base ** (self.degree - 1)
            result: Derivatives = (
                {"gamma": sums_of_products(M, X, Z)}
                if np.ndim(self.gamma)
                else {"gamma": float(np.vdot(M, inner))}
            )
            return result | {"coef0": self.coef0 * M.sum()} if self.coef0 else result

        return base**self.degree, pullback

    def resolve(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Return a copy whose gamma is numeric."""
        if (
            not isinstance(self.degree, Integral)
            or isinstance(self.degree, bool)
            or self.degree < 1
        ):
            raise ValueError(
                "degree of Polynomial must be a whole number >= 1 (of an integer "
                f"type), got {self.degree!r}."
            )
        coef0 = nonnegative_number(self, "coef0")
        return Polynomial(self.degree, resolved_gamma(self, X, weights), coef0)
