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
from okl.operators.by_task import FeaturesByTask


class Features(KernelOperator):
    """K = (Phi - r mu') (Phi - r mu')' for Phi (n_samples, n_features).

    A sparse Phi is centred on the fly, never in memory. Everything costs
    O(n_features) per sample and the eigendecomposition is that of a matrix
    (n_features, n_features); no array is (n_samples, n_samples).

    Parameters
    ----------
    features : array or SciPy sparse matrix (n_samples, n_features)
        Phi, kept by reference.
    means : array (n_features,), optional
        mu; None for zero.
    roots : array (n_samples, 1), optional
        r; None for one.
    """

    def __init__(
        self, features: Any, means: Array | None = None, roots: Array | None = None
    ) -> None:
        self._features = features
        self._means = means
        self._roots = roots

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return int(self._features.shape[0])

    def _forward(self, right: Array) -> Array:
        """Return the centred features times a matrix (n_features, p)."""
        product = self._features @ right
        if self._means is None:
            return product
        shift = self._means @ right
        return product - (shift if self._roots is None else self._roots * shift)

    def _adjoint(self, right: Any) -> Array:
        """Return the transposed centred features times a matrix (n_samples, p)."""
        product = self._features.T @ right
        if self._means is None:
            return product
        roots = self._roots
        if roots is None:
            roots = namespace(self._means).ones((self.n_samples, 1))
        return product - self._means[:, None] * (roots[:, 0] @ right)

    def __matmul__(self, right: Array) -> Array:
        """Return Phi (Phi' times a matrix)."""
        return self._forward(self._adjoint(right))

    @property
    def work(self) -> float:
        """Two for each entry of the features that is stored."""
        if scipy.sparse.issparse(self._features):
            return 2.0 * self._features.nnz
        return 2.0 * self._features.shape[0] * self._features.shape[1]

    def diagonal(self) -> Array:
        """Return the squared norms of the centred features."""
        if scipy.sparse.issparse(self._features):
            squares = np.asarray(self._features.multiply(self._features).sum(axis=1))
            squares = squares.ravel()
            if self._means is not None:
                roots = 1.0 if self._roots is None else self._roots[:, 0]
                squares = squares - 2 * roots * (self._features @ self._means)
                squares = squares + roots**2 * (self._means @ self._means)
            return np.clip(squares, 0.0, None)
        centered = self._features
        if self._means is not None:
            roots = 1.0 if self._roots is None else self._roots
            centered = centered - roots * self._means[None, :]
        return namespace(centered).sum(centered * centered, axis=1)

    def columns(self, rows: Any) -> Array:
        """Return the products of all features with those of some rows."""
        some = self.restrict(rows)
        like = self.diagonal()
        identity = namespace(like).eye(some.n_samples, dtype=like.dtype)
        return self._forward(some._adjoint(identity))

    def by_task(self, tasks: Tasks) -> FeaturesByTask:
        """Return what multiplies matrices with one entry a row, in feature space."""
        return FeaturesByTask(self._features, self._means, self._roots, tasks)

    def _decompose(self) -> Spectrum:
        if scipy.sparse.issparse(self._features):
            values, vectors = eigh(
                _gram(self._features, self._means, self._roots), overwrite=True
            )
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
        gram = _gram(self._features, self._means, self._roots)
        xp = namespace(gram)
        gram = gram + shift * xp.eye(gram.shape[0], dtype=gram.dtype)
        inside = solve_definite(gram, self._adjoint(right), overwrite=True)
        return (right - self._forward(inside)) / shift

    def centered(self, weights: Array | None = None) -> tuple[Features, Array]:
        """Return the centred features, and the means of the rows of K."""
        if scipy.sparse.issparse(self._features):
            # leave out constant columns: their differences would be rounding
            means, varies = _means_and_varying(self._features.tocsr(), weights)
            kernel_means = self._forward(
                means if self._means is None else means - self._means
            )
            return Features(self._features[:, varies], means[varies]), kernel_means
        xp = namespace(self._features)
        if weights is None:
            means = xp.mean(self._features, axis=0)
        else:
            means = weights @ self._features
        largest = xp.max(xp.abs(self._features), axis=0)
        centered = self._features - means
        left = xp.max(xp.abs(centered), axis=0)
        constant = left <= CENTERING_ROUNDING * epsilon(means) * largest
        centered = xp.where(constant, xp.zeros_like(centered), centered)
        return Features(centered), self._features @ means

    def scaled(self, roots: Array) -> Features:
        """Multiply the rows of the features."""
        roots = roots[:, None]
        if scipy.sparse.issparse(self._features):
            features = self._features.multiply(roots).tocsr()
        else:
            features = self._features * roots
        return Features(features, self._means, roots)

    def restrict(self, rows: Any) -> Features:
        """Return the features of some rows."""
        roots = None if self._roots is None else self._roots[rows, :]
        if scipy.sparse.issparse(self._features):
            return Features(self._features[rows], self._means, roots)
        xp = namespace(self._features)
        chosen = xp.take(self._features, xp.asarray(rows), axis=0)
        return Features(chosen, self._means, roots)

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


def _gram(features: Any, means: Array | None, roots: Array | None) -> Array:
    """Return the centred Phi'Phi (n_features, n_features)."""
    gram = features.T @ features
    if scipy.sparse.issparse(gram):
        gram = gram.toarray()
    if means is None:
        return gram
    xp = namespace(means)
    if roots is None:
        roots = xp.ones((features.shape[0], 1), dtype=means.dtype)
    crossed = (features.T @ roots) * means
    gram = gram - crossed - crossed.T
    return gram + xp.sum(roots * roots) * (means[:, None] * means)


def _means_and_varying(
    rows: Any, weights: Array | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the means of sparse columns, and which are not constant."""
    means, variances = mean_variance_axis(rows, axis=0, weights=weights)
    rounding = CENTERING_ROUNDING * epsilon(means) * np.abs(means)
    return means, np.sqrt(variances) > rounding
