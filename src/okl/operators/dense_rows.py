"""Rows of few dense features, along axes in which these are uncorrelated if wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from okl.numerics.arrays import eigh


@dataclass(frozen=True)
class DenseRows:
    """Phi (n_samples, n_features), with what `CentredRows` has that solvers ask for.

    Attributes
    ----------
    features : array (n_samples, n_features)
    axes : array (n_features, n_features) or None
        Orthogonal, what the features were multiplied by; None for nothing.
    """

    features: np.ndarray
    axes: np.ndarray | None = None
    means: ClassVar[None] = None

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and features."""
        return self.features.shape[0], self.features.shape[1]

    def uncorrelated(self) -> DenseRows:
        """Return the features along the axes in which their products are zero."""
        _, axes = eigh(self.features.T @ self.features, overwrite=True)
        return DenseRows(self.features @ axes, axes)

    def along(self, weights: np.ndarray) -> np.ndarray:
        """Return weights of the features as they were."""
        return weights if self.axes is None else self.axes @ weights

    def single(self) -> DenseRows:
        """Return them in single precision."""
        return DenseRows(self.features.astype(np.float32))

    def some(self, rows: slice) -> np.ndarray:
        """Return what multiplies weights, of some rows."""
        return self.features[rows]

    def forward(self, right: np.ndarray) -> np.ndarray:
        """Return Phi times an array (n_features, p)."""
        return self.features @ right

    def adjoint(self, right: np.ndarray) -> np.ndarray:
        """Return Phi' times an array (n_samples, p)."""
        return self.features.T @ right

    def adjoint_of_squares(self, right: np.ndarray) -> np.ndarray:
        """Return (Phi o Phi)' times an array (n_samples, p)."""
        return (self.features**2).T @ right

    def column_norms(self) -> np.ndarray:
        """Return the squared norms of the columns (n_features,)."""
        return np.einsum("ij,ij->j", self.features, self.features)
