"""What targets tell of a block of outputs, in the coordinates of rows.

See `okl.posterior.systems`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from okl.posterior.entry_system import EntrySystem
from okl.posterior.observed_targets import (
    cholesky_root,
    gram_by_row,
    inverse_of,
    whitened,
)


@dataclass(frozen=True)
class InCoordinates(EntrySystem):
    """The precision of (z, b).

    Attributes
    ----------
    root : array (q r + m, q r + m), or (q r, q r) without an intercept
        Its Cholesky factor, lower.
    factor : array (m, q)
        B.
    width : int
        r.
    free_intercept : bool
    """

    root: np.ndarray
    factor: np.ndarray
    width: int
    free_intercept: bool

    @classmethod
    def of(
        cls,
        training: np.ndarray,
        weights: np.ndarray,
        factor: np.ndarray,
        alpha: float,
        free_intercept: bool,
    ) -> InCoordinates:
        """Assemble and factorise; see `system_of`."""
        (m, q), r = factor.shape, training.shape[1]
        precision = np.zeros((q * r + m * free_intercept,) * 2, order="F")
        for a in range(q):
            rows = slice(a * r, (a + 1) * r)
            for b in range(a + 1):
                pair = weights @ (factor[:, a] * factor[:, b]) / alpha
                columns = slice(b * r, (b + 1) * r)
                precision[rows, columns] = training.T @ (pair[:, None] * training)
            if free_intercept:
                crossed = training.T @ (weights * factor[:, a]) / alpha
                precision[q * r :, rows] = crossed.T
        precision.flat[:: len(precision) + 1] += np.concatenate(
            [np.ones(q * r), weights.sum(axis=0)[: m * free_intercept] / alpha]
        )
        root = cholesky_root(precision) if len(precision) else precision
        return cls(root, factor, r, free_intercept)

    @property
    def size(self) -> int:
        """The number of coordinates and intercepts."""
        return len(self.root)

    def moments(self) -> np.ndarray:
        """Return the covariance of (theta_t, b_t) of each output."""
        (m, q), r = self.factor.shape, self.width
        if len(self.root) == 0:
            return np.zeros((m, r, r))
        covariance = inverse_of(self.root)
        size = r + self.free_intercept
        moments = np.empty((m, size, size))
        by_factor = covariance[: q * r].reshape(q, r, len(covariance))
        for t in range(m):
            half = np.tensordot(self.factor[t], by_factor, 1)
            inside = half[:, : q * r].reshape(r, q, r)
            moments[t, :r, :r] = np.einsum("kal,a->kl", inside, self.factor[t])
            if self.free_intercept:
                moments[t, :r, r] = moments[t, r, :r] = half[:, q * r + t]
                moments[t, r, r] = covariance[q * r + t, q * r + t]
        return moments

    def variances(self, phi: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Return the variance of the output of each row."""
        n, m = len(phi), len(self.factor)
        if len(self.root) == 0:
            return np.zeros(n)
        ends = np.einsum("ik,ia->aki", phi, self.factor[outputs]).reshape(-1, n)
        if self.free_intercept:
            ends = np.vstack([ends, np.eye(m)[:, outputs]])
        return np.sum(whitened(self.root, ends) ** 2, axis=0)

    def all_variances(self, phi: np.ndarray) -> np.ndarray:
        """Return the variances of all outputs."""
        same = np.ones(len(phi), dtype=np.intp)
        found = [self.variances(phi, t * same) for t in range(len(self.factor))]
        return np.column_stack(found)

    def covariance(self, phi: np.ndarray) -> np.ndarray:
        """Return the covariance of outputs at each row."""
        n, m = len(phi), len(self.factor)
        if len(self.root) == 0:
            return np.zeros((n, m, m))
        found = np.einsum("ik,ta->akit", phi, self.factor).reshape(-1, n * m)
        if self.free_intercept:
            found = np.vstack([found, np.tile(np.eye(m), n)])
        return gram_by_row(whitened(self.root, found).reshape(-1, n, m))

    def along(
        self, phi: np.ndarray, other: np.ndarray, direction: np.ndarray
    ) -> np.ndarray:
        """Return the covariance of a combination of outputs between rows."""
        ends = []
        for rows in (phi, other):
            end = np.kron((direction @ self.factor)[:, None], rows.T)
            if self.free_intercept:
                of_mean = np.broadcast_to(direction, (len(rows), len(direction))).T
                end = np.vstack([end, of_mean])
            ends.append(whitened(self.root, end) if len(end) else end)
        return ends[0].T @ ends[1]
