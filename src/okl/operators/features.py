"""A kernel matrix given by features, K = Phi Phi', never formed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from okl._array import Array, eigh, epsilon, namespace, solve_definite
from okl._tasks import Tasks
from okl.operators.base import CENTERING_ROUNDING, KernelOperator, Spectrum


class Features(KernelOperator):
    """K = (Phi - 1 mu') (Phi - 1 mu')' for Phi (n_samples, n_features).

    A sparse Phi is centred on the fly, never in memory. Everything costs
    O(n_features) per sample and the eigendecomposition is that of a matrix
    (n_features, n_features); no array is (n_samples, n_samples).

    Parameters
    ----------
    features : array or SciPy sparse matrix (n_samples, n_features)
        Phi, kept by reference.
    means : array (n_features,), optional
        mu; None for zero.
    """

    def __init__(self, features: Any, means: Array | None = None) -> None:
        self._features = features
        self._means = means

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return int(self._features.shape[0])

    def _forward(self, right: Array) -> Array:
        """Return the centred features times a matrix (n_features, p)."""
        product = self._features @ right
        return product if self._means is None else product - self._means @ right

    def _adjoint(self, right: Array) -> Array:
        """Return the transposed centred features times a matrix (n_samples, p)."""
        product = self._features.T @ right
        if self._means is None:
            return product
        xp = namespace(right)
        return product - self._means[:, None] * xp.sum(right, axis=0)

    def _gram(self) -> Array:
        """Return the centred Phi'Phi (n_features, n_features)."""
        gram = self._features.T @ self._features
        if scipy.sparse.issparse(gram):
            gram = gram.toarray()
        if self._means is not None:
            gram = gram - self.n_samples * (self._means[:, None] * self._means)
        return gram

    def __matmul__(self, right: Array) -> Array:
        """Return Phi (Phi' times a matrix)."""
        return self._forward(self._adjoint(right))

    def diagonal(self) -> Array:
        """Return the squared norms of the centred features."""
        if scipy.sparse.issparse(self._features):
            squares = np.asarray(self._features.multiply(self._features).sum(axis=1))
            squares = squares.ravel()
            if self._means is not None:
                squares = squares - 2 * (self._features @ self._means)
                squares = squares + self._means @ self._means
            return np.clip(squares, 0.0, None)
        centered = self._features
        if self._means is not None:
            centered = centered - self._means
        return namespace(centered).sum(centered * centered, axis=1)

    def column(self, index: int) -> Array:
        """Return the products of all features with those of one row."""
        row = self._features[[index], :]
        row = row.toarray()[0] if scipy.sparse.issparse(row) else row[0, :]
        if self._means is not None:
            row = row - self._means
        return self._forward(row[:, None])[:, 0]

    def functions(self, tasks: Tasks, column: Array) -> Array:
        """Return what multiplies the centred features."""
        weights = tasks.aggregate(column, self._features)
        if self._means is None:
            return weights
        return weights - tasks.sums(column)[:, None] * self._means

    def coupled(self, functions: Array, tasks: Tasks, output_kernel: Array) -> Array:
        """Return the products of each row with the weights of its own mixture."""
        weights = output_kernel @ functions
        if scipy.sparse.issparse(self._features):
            entries = self._features.tocoo()
            own = weights[tasks.codes[entries.row], entries.col]
            values = np.bincount(
                entries.row, weights=entries.data * own, minlength=self.n_samples
            )[:, None]
        else:
            xp = namespace(weights)
            own = tasks.spread(weights)
            values = xp.sum(self._features * own, axis=1, keepdims=True)
        if self._means is None:
            return values
        return values - tasks.spread(weights @ self._means)[:, None]

    def task_gram(self, tasks: Tasks, column: Array, functions: Array) -> Array:
        """Return the products of the weights."""
        return self.functions(tasks, column) @ functions.T

    def _decompose(self) -> Spectrum:
        if scipy.sparse.issparse(self._features):
            values, vectors = eigh(self._gram(), overwrite=True)
            kept = Spectrum.above_rounding(values, vectors, self.n_samples)
            roots = np.sqrt(kept.eigenvalues)
            return Spectrum(kept.eigenvalues, self._forward(kept.vectors / roots))
        # the singular values themselves keep twice the digits of their squares
        xp = namespace(self._features)
        left, values, _ = xp.linalg.svd(self._features, full_matrices=False)
        kept = Spectrum.above_rounding(
            xp.flip(values), xp.flip(left, axis=1), self.n_samples
        )
        return Spectrum(kept.eigenvalues**2, kept.vectors)

    def solve(self, right: Array, shift: float) -> Array:
        """Solve by a Cholesky factorisation in feature space."""
        gram = self._gram()
        xp = namespace(gram)
        gram = gram + shift * xp.eye(gram.shape[0], dtype=gram.dtype)
        inside = solve_definite(gram, self._adjoint(right), overwrite=True)
        return (right - self._forward(inside)) / shift

    def centered(self) -> tuple[Features, Array]:
        """Return the centred features, and the column means of K."""
        if scipy.sparse.issparse(self._features):
            return self._centered_sparse()
        xp = namespace(self._features)
        means = xp.mean(self._features, axis=0)
        largest = xp.max(xp.abs(self._features), axis=0)
        centered = self._features - means
        left = xp.max(xp.abs(centered), axis=0)
        constant = left <= CENTERING_ROUNDING * epsilon(means) * largest
        centered = xp.where(constant, xp.zeros_like(centered), centered)
        return Features(centered), self._features @ means

    def _centered_sparse(self) -> tuple[Features, Array]:
        """Leave out constant columns: their differences would be rounding."""
        means, variances = mean_variance_axis(self._features.tocsr(), axis=0)
        moved = means if self._means is None else means - self._means
        kernel_means = self._forward(moved)
        rounding = CENTERING_ROUNDING * epsilon(means) * np.abs(means)
        varies = np.sqrt(variances) > rounding
        return Features(self._features[:, varies], means[varies]), kernel_means

    def restrict(self, rows: Any) -> Features:
        """Return the features of some rows."""
        if scipy.sparse.issparse(self._features):
            return Features(self._features[rows], self._means)
        xp = namespace(self._features)
        return Features(xp.take(self._features, xp.asarray(rows), axis=0), self._means)

    def cross(self, rows: Any, columns: Any) -> _Cross:
        """Return the product of the features of both sets of rows, not formed."""
        return _Cross(self.restrict(rows), self.restrict(columns))


@dataclass(frozen=True)
class _Cross:
    """Phi_rows Phi_columns'."""

    rows: Features
    columns: Features

    def __matmul__(self, right: Array) -> Array:
        return self.rows._forward(self.columns._adjoint(right))
