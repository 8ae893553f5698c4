"""A kernel matrix given by sparse features, such as the words of a text.

A product with K = Phi Phi' is one with Phi' and one with Phi. It pays where there are
fewer features than samples, and also where Phi is so sparse that both take less time
than a product with the matrix, however many features there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.sparsefuncs import mean_variance_axis

from okl.coding.tasks import Tasks
from okl.numerics.arrays import eigh, epsilon, solve_definite
from okl.operators.base import CENTERING_ROUNDING, KernelOperator, Spectrum
from okl.operators.by_task import ByTask, SparseFeaturesByTask
from okl.operators.centred_rows import CentredRows
from okl.operators.counting import count_product
from okl.operators.dense import Dense

# Columns that are multiplied at a time.
_COLUMNS = 64
# An entry of a sparse matrix takes as long as so many of a dense one.
_SPARSE = 8.0
# The workspace of a decomposition.
_DECOMPOSED = 2


def sparse_work(features: Any) -> float:
    """Return the dense multiplications that a product of K with one column is worth.

    It reads the entries twice, and writes and reads a number for each feature.
    """
    return _SPARSE * (2.0 * features.nnz + features.shape[1])


class SparseFeatures(KernelOperator):
    """K = Phi Phi' for a sparse Phi (n_samples, n_features), centred on the fly.

    With fewer features than samples the eigendecomposition is that of a matrix
    (n_features, n_features), and nothing is (n_samples, n_samples); with more,
    decomposing and factorising, and they alone, form the kernel matrix.

    Parameters
    ----------
    features : SciPy sparse matrix or CentredRows (n_samples, n_features)
        Phi, kept by reference.
    workspace : float, default=infinity
        See `Operator`.
    kept : array of int, optional
        Which features this has of the operator that it was made of, by centring or of
        some of its rows; None for all.
    """

    def __init__(
        self,
        features: Any,
        *,
        workspace: float = float("inf"),
        kept: np.ndarray | None = None,
    ) -> None:
        centred = isinstance(features, CentredRows)
        self._rows = features if centred else CentredRows(features)
        self.workspace = workspace
        fits = workspace >= _DECOMPOSED and not _is_wide(self._rows)
        self.sparse_rows = self._rows if fits else None
        self.kept = kept

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return int(self._rows.sparse.shape[0])

    def __matmul__(self, right: np.ndarray) -> np.ndarray:
        """Return Phi (Phi' times a matrix)."""
        count_product()
        return _product(self._rows, self._rows, right)

    @property
    def work(self) -> float:
        """See `sparse_work`."""
        return sparse_work(self._rows.sparse)

    def diagonal(self) -> np.ndarray:
        """Return the squared norms of the features."""
        return self._rows.squared_norms()

    def columns(self, rows: Any) -> np.ndarray:
        """Return the products of all features with those of some rows."""
        return self._rows.products(self._rows.restrict(rows))

    def block(self, rows: Any, output: int | None = None) -> np.ndarray:
        """Return the products of the features of some rows."""
        some = self._rows.restrict(rows)
        return some.products(some)

    def by_task(self, tasks: Tasks, block: tuple[Any, Any] | None = None) -> ByTask:
        """Return what multiplies matrices with one entry a row, in feature space.

        With more features than rows, functions are kept as their values at the rows,
        which are fewer.
        """
        if _is_wide(self._rows):
            return super().by_task(tasks, block)
        if block is None:
            return SparseFeaturesByTask(self._rows, tasks)
        rows, columns = block
        cross = self.cross(rows, columns)
        there = cross.rows, tasks.restrict(rows)
        return SparseFeaturesByTask(cross.columns, tasks.restrict(columns), there)

    def _decompose(self) -> Spectrum:
        if _is_wide(self._rows):
            return Dense(self._rows.products(self._rows)).spectrum
        values, vectors = eigh(self._rows.gram(), overwrite=True)
        kept = Spectrum.above_rounding(values, vectors, self.n_samples)
        roots = np.sqrt(kept.eigenvalues)
        return Spectrum(kept.eigenvalues, self._rows.forward(kept.vectors / roots))

    def solve(self, right: np.ndarray, shift: float) -> np.ndarray:
        """Solve by a Cholesky factorisation in feature space, or of the matrix."""
        if _is_wide(self._rows):
            return Dense(self._rows.products(self._rows)).solve(right, shift)
        gram = self._rows.gram()
        gram[np.diag_indices_from(gram)] += shift
        inside = solve_definite(gram, self._rows.adjoint(right), overwrite=True)
        return (right - self._rows.forward(inside)) / shift

    def centered(
        self, weights: np.ndarray | None = None
    ) -> tuple[SparseFeatures, np.ndarray]:
        """Return the features with their means, and the means of the rows of K."""
        sparse, before = self._rows.sparse, self._rows.means
        means, variances = mean_variance_axis(sparse.tocsr(), axis=0, weights=weights)
        # leave out constant columns: their differences would be rounding
        rounding = CENTERING_ROUNDING * epsilon(means) * np.abs(means)
        varies = np.sqrt(np.clip(variances, 0.0, None)) > rounding
        kernel_means = self._rows.forward(means if before is None else means - before)
        rows = CentredRows(sparse[:, varies], means[varies])
        kept = np.flatnonzero(varies) if self.kept is None else self.kept[varies]
        found = SparseFeatures(rows, workspace=self.workspace, kept=kept)
        return found, kernel_means

    def scaled(self, roots: np.ndarray) -> SparseFeatures:
        """Multiply the rows of the features."""
        return SparseFeatures(self._rows.scaled(roots), workspace=self.workspace)

    def restrict(self, rows: Any) -> SparseFeatures:
        """Return the features of some rows, those that are zero there left out."""
        some, kept = self._rows.restrict(rows), None
        if some.means is None:
            kept = np.unique(some.sparse.indices)
            some = CentredRows(some.sparse[:, kept], roots=some.roots)
        return SparseFeatures(some, workspace=self.workspace, kept=kept)

    def cross(self, rows: Any, columns: Any) -> _Cross:
        """Return the product of the features of both sets of rows, not formed."""
        return _Cross(self._rows.restrict(rows), self._rows.restrict(columns))


@dataclass(frozen=True)
class _Cross:
    """Phi_rows Phi_columns'."""

    rows: CentredRows
    columns: CentredRows

    def __matmul__(self, right: np.ndarray) -> np.ndarray:
        return _product(self.rows, self.columns, right)

    def function(self, operator: SparseFeatures, weights: np.ndarray) -> np.ndarray:
        """Return the function of weights of an operator's features at these rows.

        The operator was made, by centring or of some rows, of the one that this is of.
        """
        if operator.kept is None:
            return self.rows.forward(weights)
        product = np.asarray(self.rows.sparse[:, operator.kept] @ weights)
        means = operator._rows.means
        return product if means is None else product - means @ weights


def _is_wide(rows: CentredRows) -> bool:
    """Tell whether there are more features than rows."""
    return bool(rows.sparse.shape[1] > rows.sparse.shape[0])


def _product(left: CentredRows, inner: CentredRows, right: np.ndarray) -> np.ndarray:
    """Return A (B' times a matrix), some of its columns at a time.

    B' times a few columns stays in the cache, and is nowhere as large as all of them;
    with many features that would be more than the product.
    """
    if right.ndim == 1 or right.shape[1] <= _COLUMNS:
        return left.forward(inner.adjoint(right))
    product = np.empty((left.sparse.shape[0], right.shape[1]))
    for first in range(0, right.shape[1], _COLUMNS):
        some = slice(first, first + _COLUMNS)
        inside = inner.adjoint(np.ascontiguousarray(right[:, some]))
        product[:, some] = left.forward(inside)
    return product
