"""A kernel matrix given by features, K = Phi Phi', never formed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from okl.coding.tasks import Tasks
from okl.numerics.arrays import Array, epsilon, namespace, solve_definite
from okl.operators.base import CENTERING_ROUNDING, KernelOperator, Spectrum
from okl.operators.by_task import FeaturesByTask
from okl.output_kernels import OutputKernel


class Features(KernelOperator):
    """K = Phi Phi' for Phi (n_samples, n_features), with fewer features than samples.

    Everything costs O(n_features) per sample, and no array is (n_samples, n_samples).

    Parameters
    ----------
    features : array (n_samples, n_features)
        Phi, kept by reference.
    means : array (n_features,), optional
        What was subtracted from all rows of the operator that this was made of.
    """

    features: Array

    def __init__(self, features: Array, means: Array | None = None) -> None:
        self.features = features
        self.means = means

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return int(self.features.shape[0])

    def __matmul__(self, right: Array) -> Array:
        """Return Phi (Phi' times a matrix)."""
        return self.features @ (self.features.T @ right)

    @property
    def work(self) -> float:
        """Two for each entry of the features."""
        return 2.0 * self.features.shape[0] * self.features.shape[1]

    def diagonal(self) -> Array:
        """Return the squared norms of the features."""
        return namespace(self.features).sum(self.features**2, axis=1)

    def columns(self, rows: Any) -> Array:
        """Return the products of all features with those of some rows."""
        return self.features @ self.restrict(rows).features.T

    def by_task(
        self, tasks: Tasks, block: tuple[Any, Any] | None = None
    ) -> FeaturesByTask:
        """Return what multiplies matrices with one entry a row, in feature space."""
        if block is None:
            return FeaturesByTask(self.features, tasks)
        rows, columns = block
        cross = self.cross(rows, columns)
        there = cross.rows, tasks.restrict(rows)
        return FeaturesByTask(cross.columns, tasks.restrict(columns), there)

    @cached_property
    def _singular(self) -> tuple[Array, Array, Array]:
        """The thin SVD of Phi, which has twice the digits of a decomposition of K."""
        svd = namespace(self.features).linalg.svd
        left, values, right = svd(self.features, full_matrices=False)
        return left, values, right

    def _decompose(self) -> Spectrum:
        xp = namespace(self.features)
        left, values, _ = self._singular
        kept = Spectrum.above_rounding(
            xp.flip(values), xp.flip(left, axis=1), self.n_samples
        )
        return Spectrum(kept.eigenvalues**2, kept.vectors)

    def solve(self, right: Array, shift: float) -> Array:
        """Solve by a Cholesky factorisation in feature space."""
        xp = namespace(self.features)
        gram = self.features.T @ self.features
        gram = gram + shift * xp.eye(gram.shape[0], dtype=gram.dtype)
        inside = solve_definite(gram, self.features.T @ right, overwrite=True)
        return (right - self.features @ inside) / shift

    def feature_coefficients(
        self, targets: Array, output_kernel: OutputKernel, alpha: float
    ) -> Array:
        """Return W (n_features, n_outputs), ridge regression along the axes of L."""
        left, values, right = self._singular
        axes = output_kernel.spectral()
        rotated = left.T @ axes.coordinates(targets)
        shrunk = values[:, None] ** 2 + alpha / axes.eigenvalues
        inside = right.T @ (values[:, None] * rotated / shrunk)
        return axes.from_coordinates(inside)

    def centered(self, weights: Array | None = None) -> tuple[Features, Array]:
        """Return the centred features, and the means of the rows of K."""
        xp = namespace(self.features)
        if weights is None:
            means = xp.mean(self.features, axis=0)
        else:
            means = weights @ self.features
        largest = xp.max(xp.abs(self.features), axis=0)
        centered = self.features - means
        left = xp.max(xp.abs(centered), axis=0)
        constant = left <= CENTERING_ROUNDING * epsilon(means) * largest
        centered = xp.where(constant, xp.zeros_like(centered), centered)
        return Features(centered, means), self.features @ means

    def scaled(self, roots: Array) -> Features:
        """Multiply the rows of the features."""
        return Features(self.features * roots[:, None])

    def restrict(self, rows: Any) -> Features:
        """Return the features of some rows."""
        xp = namespace(self.features)
        return Features(xp.take(self.features, xp.asarray(rows), axis=0))

    def cross(self, rows: Any, columns: Any) -> _Cross:
        """Return the product of the features of both sets of rows, not formed."""
        return _Cross(self.restrict(rows).features, self.restrict(columns).features)


@dataclass(frozen=True)
class _Cross:
    """Phi_rows Phi_columns'."""

    rows: Array
    columns: Array

    def __matmul__(self, right: Array) -> Array:
        return self.rows @ (self.columns.T @ right)

    def function(self, operator: Features, weights: Array) -> Array:
        """Return the function of weights of an operator's features at these rows.

        The operator was made, by centring or of some rows, of the one that this is of.
        """
        product, means = self.rows @ weights, operator.means
        return product if means is None else product - means @ weights
