"""Where rows lie, in coordinates that diagonalise the training rows.

With row weights W and K_w = W^(1/2) K W^(1/2) = U diag(d) U', a row x has the
coordinates phi(x) = diag(d)^(-1/2) U' W^(1/2) k(x). The training rows then have the
weighted moment matrix diag(d), and k(x, x) = phi(x)'phi(x) + a part that no training
row can tell anything about. With features both come without a division: phi(x) are
the features, rotated, and nothing is left over.

With a free intercept K is centred at the weighted mean of the training rows: the mean
of f over these rows is taken up by the intercept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse import diags_array, issparse

from okl.kernels import Kernel, square_matrix
from okl.numerics.arrays import eigh
from okl.numerics.memory import require_memory


class Coordinates(ABC):
    """Base of the two kinds.

    Attributes
    ----------
    eigenvalues : array (r,)
        d >= 0.
    complete : bool
        Whether k(x, x) is all in the coordinates of x.
    """

    eigenvalues: np.ndarray
    complete: bool

    @abstractmethod
    def __call__(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return phi (n, r) and k(x, x) (n,) of rows, centred as the training rows."""

    @abstractmethod
    def products(self, X: Any, Z: Any) -> np.ndarray:
        """Return k(x, z) (n_X, n_Z), centred as the training rows."""

    @abstractmethod
    def training(self) -> np.ndarray:
        """Return phi of the training rows (n_samples, r)."""


def coordinates_of(
    kernel: Kernel, rows: Any, weights: np.ndarray, *, centre: bool, floor: float
) -> Coordinates:
    """Decompose the weighted kernel matrix of the training rows.

    Parameters
    ----------
    kernel : Kernel
        With its data-dependent parameters resolved.
    rows : array or sparse matrix (n_samples, n_features)
        Training rows.
    weights : array (n_samples,)
        Of the rows, positive.
    centre : bool
        Whether there is a free intercept.
    floor : float
        Eigenvalues up to it tell nothing, and may be left out.

    Raises
    ------
    MemoryError
        If the decomposition cannot fit.
    """
    features = kernel.features(rows)
    if features is not None and features.shape[1] < features.shape[0]:
        return _FeatureCoordinates.of(kernel, features, weights, centre)
    return _KernelCoordinates.of(kernel, rows, weights, centre, floor)


@dataclass(frozen=True)
class _KernelCoordinates(Coordinates):
    """From the kernel matrix; ``map`` is W^(1/2) U diag(d)^(-1/2)."""

    kernel: Kernel
    rows: Any
    eigenvalues: np.ndarray
    map: np.ndarray
    weights: np.ndarray
    means: np.ndarray | None  # of the rows of K, weighted
    complete = False

    @classmethod
    def of(
        cls, kernel: Kernel, rows: Any, weights: np.ndarray, centre: bool, floor: float
    ) -> _KernelCoordinates:
        n = rows.shape[0]
        require_memory(
            3 * 8 * n**2,
            f"The standard deviation of predictions from {n} training samples",
            "Fit on fewer rows, or use a kernel with features (kernel='linear') on "
            "fewer columns than rows.",
        )
        K = square_matrix(kernel, rows)
        largest = float(np.max(weights * np.diagonal(K)))
        means = None
        if centre:
            means = np.average(K, axis=0, weights=weights)
            K -= means
            K -= (means - np.average(means, weights=weights))[:, None]
        roots = np.sqrt(weights)
        K *= roots
        K *= roots[:, None]
        values, vectors = eigh(K, overwrite=True)
        rounding = np.finfo(np.float64).eps * n * max(values[-1], largest)
        kept = values > max(rounding, floor)
        values = values[kept]
        # in place: the vectors are as large as the matrix
        scaled = vectors[:, kept]
        scaled *= roots[:, None]
        scaled /= np.sqrt(values)
        return cls(kernel, rows, values, scaled, weights, means)

    def __call__(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        similar = self.kernel(X, self.rows)
        prior = self.kernel.diagonal(X)
        if self.means is not None:
            similar -= self.means
            offsets = np.average(similar, axis=1, weights=self.weights)
            similar -= offsets[:, None]
            mean = np.average(self.means, weights=self.weights)
            prior = prior - 2 * offsets - mean
        return similar @ self.map, prior

    def products(self, X: Any, Z: Any) -> np.ndarray:
        products = self.kernel(X, Z)
        if self.means is not None:
            ends = [
                np.average(self.kernel(some, self.rows), axis=1, weights=self.weights)
                for some in (X, Z)
            ]
            products -= ends[0][:, None] + ends[1]
            products += np.average(self.means, weights=self.weights)
        return products

    def training(self) -> np.ndarray:
        return self.map * (self.eigenvalues / self.weights[:, None])


@dataclass(frozen=True)
class _FeatureCoordinates(Coordinates):
    """From features fewer than the training rows; ``axes`` are orthonormal."""

    kernel: Kernel
    features: Any
    eigenvalues: np.ndarray
    axes: np.ndarray
    origin: np.ndarray
    complete = True

    @classmethod
    def of(
        cls, kernel: Kernel, features: Any, weights: np.ndarray, centre: bool
    ) -> _FeatureCoordinates:
        total = weights.sum()
        origin = np.zeros(features.shape[1])
        if centre:
            origin = features.T @ weights / total
        if issparse(features):
            moments = (features.T @ diags_array(weights) @ features).toarray()
            moments -= total * np.outer(origin, origin)
            values, axes = eigh(moments, overwrite=True)
            return cls(kernel, features, np.clip(values, 0.0, None), axes, origin)
        # singular values keep twice the digits of their squares
        centred = (features - origin) * np.sqrt(weights)[:, None]
        (triangle,) = scipy.linalg.qr(centred, mode="r", check_finite=False)
        _, values, axes = np.linalg.svd(triangle[: features.shape[1]])
        return cls(kernel, features, values**2, axes.T, origin)

    def __call__(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        phi = self._rotate(self.kernel.features(X))
        return phi, np.sum(phi * phi, axis=1)

    def products(self, X: Any, Z: Any) -> np.ndarray:
        return self(X)[0] @ self(Z)[0].T

    def training(self) -> np.ndarray:
        return self._rotate(self.features)

    def _rotate(self, features: Any) -> np.ndarray:
        if issparse(features):
            return features @ self.axes - self.origin @ self.axes
        return (features - self.origin) @ self.axes
