"""The variance of predictions at new rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from okl.coding.tasks import COLUMNS, Tasks
from okl.kernels import Kernel
from okl.numerics.memory import blocks_of_rows, require_memory
from okl.output_kernels import OutputKernel
from okl.posterior.base import Posterior
from okl.posterior.coordinates import Coordinates, coordinates_of
from okl.posterior.moments import EntryMoments, OutputSystems, RowMoments

# what is computed once, and is larger than the model
_PREPARED = {"_prepared", "_moments", "_systems"}


@dataclass(frozen=True)
class PredictiveVariance(Posterior):
    r"""Variance of f(x) + b, noise not added, with L and the kernel given.

    For targets that are complete, and weights w_i of rows, with K_w = W^(1/2) K
    W^(1/2) = U diag(d) U', L = V diag(l) V' and a = U'W^(1/2) k(x),

    .. math:: \operatorname{var} f_t(x) = \sum_j V_{tj}^2\, l_j \Big( k(x, x)
              - \sum_i \frac{a_i^2\, l_j}{d_i l_j + \alpha} \Big)
              + \frac{\alpha}{\sum_i w_i};

    with a free intercept. Then K and k(x) are centred at the weighted mean of the
    training rows; without one there is no last term. For weights of entries see
    `okl.posterior.moments`.

    Attributes
    ----------
    kernel : Kernel
        With its data-dependent parameters resolved.
    rows : array or sparse matrix (n_samples, n_features)
        Training rows.
    output_kernel : OutputKernel
        L.
    alpha : float
        The noise variance of an entry of weight one.
    weights : array (n_samples, n_outputs) or (n_samples, 1), or None
        Of each entry, or row; 0 where it was not observed, None for one everywhere.
    free_intercept : bool
        Whether there is an intercept, with a flat prior.
    tasks : Tasks or None
        For data in long form the task of each row; weights are (n_samples, 1) then.
    """

    kernel: Kernel
    rows: Any
    output_kernel: OutputKernel
    alpha: float
    weights: np.ndarray | None
    free_intercept: bool
    tasks: Tasks | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the decomposition behind: it is larger than the model."""
        return {k: v for k, v in vars(self).items() if k not in _PREPARED}

    def prior(self) -> tuple[Kernel, np.ndarray] | None:
        """Return the kernel and the diagonal of L; None with tasks or relations."""
        if self.tasks is not None or self.couples:
            return None
        return self.kernel, np.asarray(self.output_kernel.diagonal())

    @property
    def couples(self) -> bool:
        """Whether outputs have a covariance, as far as is known."""
        return self.output_kernel.couples

    def __call__(self, X: Any, tasks: Tasks | None = None) -> np.ndarray:
        """Return the variance at rows of X, (n, n_outputs), or (n, 1) of own tasks.

        The first call decomposes the kernel matrix of the training rows, which later
        ones use. Rows are taken in blocks that fit into scikit-learn's
        ``working_memory``.

        Raises
        ------
        MemoryError
            If that decomposition cannot fit.
        """
        own = self.output_kernel.diagonal()
        variance = np.empty((X.shape[0], len(own) if tasks is None else 1))
        if not self._takes_moments(X.shape[0], tasks):
            # what a target tells of each row, before and after it is whitened
            width = variance.shape[1] + 3 * self._systems.largest
            for rows, phi, prior in self._in_blocks(X, width):
                asked = None if tasks is None else tasks.restrict(rows)
                rest = self._rest(phi, prior)
                variance[rows] = self._systems.variances(phi, rest, asked)
            return np.clip(variance, 0.0, None, out=variance)
        moments = self._moments
        for rows, phi, prior in self._in_blocks(X, variance.shape[1]):
            asked = None if tasks is None else tasks.restrict(rows)
            variance[rows] = moments(phi, asked)
            if not self._coordinates.complete:
                variance[rows] += prior[:, None] * (asked or COLUMNS).spread(own)
        return np.clip(variance, 0.0, None, out=variance)

    def covariance(self, X: Any) -> np.ndarray:
        """Return the covariance of the outputs at each row of X, (n, m, m).

        Raises
        ------
        MemoryError
            If the result, or a decomposition, cannot fit.
        """
        n, m = X.shape[0], self.output_kernel.n_outputs
        require_memory(
            3 * 8 * n * m**2,
            f"The covariance of {m} outputs at {n} rows",
            "Ask for fewer rows at a time, or for return_std=True.",
        )
        covariance = np.empty((n, m, m))
        axes = self.along_axes(X)
        if axes is not None:
            variances, V, off_axes = axes
            np.matmul(variances[:, None] * V - off_axes * V, V.T, out=covariance)
            covariance += off_axes * np.eye(m)
            return covariance
        # what a target tells of each output, before and after it is whitened
        width = m**2 + 3 * m * self._systems.largest
        for rows, phi, prior in self._in_blocks(X, width):
            covariance[rows] = self._systems(phi, self._rest(phi, prior))
        return covariance

    def along(self, X: Any, Z: Any, direction: np.ndarray) -> np.ndarray:
        """Return the covariance of a combination of outputs between rows (n_X, n_Z).

        Direction (n_outputs,) has the coefficients of f + b. It is the covariance
        between different rows, while `covariance` has that of outputs in one row.
        """
        (phi, _), (other, _) = self._coordinates(X), self._coordinates(Z)
        size = float(direction @ self.output_kernel.multiply(direction[None])[0])
        prior = size * self._coordinates.products(X, Z)
        if self._prepared[2]:
            moments = self._moments
            assert isinstance(moments, RowMoments)
            found = moments.along(phi, other, direction)
            return found if self._coordinates.complete else found + prior
        return self._systems.along(phi, other, direction) + prior - size * phi @ other.T

    def along_axes(self, X: Any) -> tuple[np.ndarray, np.ndarray, float] | None:
        """Return variances (n, q) along the eigenvectors V (m, q) of L, and V.

        Along them f is independent where targets are complete; else None. The last
        number is the variance of what is orthogonal to V, that of the intercept.
        """
        if not self._prepared[2]:
            return None
        moments = self._moments
        assert isinstance(moments, RowMoments)
        variances = np.empty((X.shape[0], moments.axes.rank))
        for rows, phi, prior in self._in_blocks(X, variances.shape[1]):
            rest = np.zeros_like(prior) if self._coordinates.complete else prior
            variances[rows] = moments.along_axes(phi, rest)
        np.clip(variances, 0.0, None, out=variances)
        return variances, moments.axes.axes(), moments.intercept

    def _in_blocks(
        self, X: Any, n_columns: int
    ) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield rows of X, phi and k(x, x), in blocks that fit."""
        coordinates = self._coordinates
        # k(x, x_i), phi, and what becomes of both
        width = self.rows.shape[0] + 3 * len(coordinates.eigenvalues) + n_columns
        known = None
        if X is self.rows and len(self._prepared[1]) == X.shape[0]:
            known = coordinates.training()  # without a product with the kernel matrix
        for rows in blocks_of_rows(X.shape[0], 8 * width):
            if known is None:
                yield rows, *coordinates(X[rows])
            else:
                yield rows, known[rows], np.sum(known[rows] ** 2, axis=1)

    def _takes_moments(self, n_rows: int, tasks: Tasks | None) -> bool:
        """Tell whether variances come from a matrix, or diagonal, of each output."""
        coordinates, weights, by_row = self._prepared
        if by_row or (tasks is None and "_moments" in vars(self)):
            return True
        size = len(coordinates.eigenvalues) + self.free_intercept
        observed = int(np.count_nonzero(weights))
        counts = size, self.output_kernel.n_outputs, observed
        return tasks is None and EntryMoments.pay(n_rows, *counts)

    def _rest(self, phi: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """Return what k(x, x) has beside phi'phi (n,)."""
        if self._coordinates.complete:
            return np.zeros_like(prior)
        return prior - np.sum(phi * phi, axis=1)

    @property
    def _coordinates(self) -> Coordinates:
        return self._prepared[0]

    @cached_property
    def _prepared(self) -> tuple[Coordinates, np.ndarray, bool]:
        """Coordinates of what was observed, weights, and whether they are of rows."""
        rows, weights = self.rows, self.weights
        if weights is None:
            weights = np.ones((rows.shape[0], 1))
        if self.tasks is not None:  # a target matrix with one entry a row
            weights = self.tasks.scatter(weights)
        seen = weights.any(axis=1)
        if not seen.all():
            rows, weights = rows[seen], weights[seen]
        by_row = bool(np.all(weights == weights[:, :1]))
        # weights of entries leave the coordinates as they are
        of_rows = weights[:, 0] if by_row else np.ones(len(weights))
        heaviest = 1.0 if by_row else float(weights.max())
        largest = heaviest * self.output_kernel.largest_eigenvalue
        coordinates = coordinates_of(
            self.kernel,
            rows,
            of_rows,
            centre=self.free_intercept,
            # smaller eigenvalues tell less than rounding does
            floor=np.finfo(float).eps * self.alpha / largest if largest else np.inf,
        )
        return coordinates, weights, by_row

    @cached_property
    def _moments(self) -> RowMoments | EntryMoments:
        coordinates, weights, by_row = self._prepared
        kind: type[RowMoments] | type[EntryMoments]
        kind = RowMoments if by_row else EntryMoments
        return kind.of(
            coordinates,
            self.output_kernel,
            self.alpha,
            weights,
            free_intercept=self.free_intercept,
        )

    @cached_property
    def _systems(self) -> OutputSystems:
        coordinates, weights, _ = self._prepared
        return OutputSystems.of(
            coordinates,
            self.output_kernel,
            self.alpha,
            weights,
            free_intercept=self.free_intercept,
        )
