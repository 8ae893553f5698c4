r"""What targets tell of a block of outputs that were observed in different rows.

Outputs that L = B B' ties together are theta_t = sum_a B_ta z_a, the z_a standard
normal and as many as B has columns; each has an intercept b of flat prior. Given
the observed targets (z, b) is normal again, and there are two ways to its covariance:

- in coordinates, by the Cholesky factor R of the precision of (z, b): with a_t(x) the
  vector that takes (z, b) to f_t(x) + b_t, the covariance of outputs t and u at x is
  (R^-1 a_t)'(R^-1 a_u);
- in the observed targets, by the factor R of their covariance: the prior covariance
  less (R^-1 k_t)'(R^-1 k_u), k_t(x) the covariance of f_t(x) and the targets, and b by
  generalised least squares.

The smaller of both systems is taken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from okl.numerics.memory import require_memory
from okl.posterior.observed_targets import (
    ObservedTargets,
    cholesky_root,
    gram_by_row,
    grams,
    inverse_of,
    whitened,
)

# Numbers of right sides that are solved for at once.
_AT_ONCE = 4_000_000
REMEDY = (
    "Use weights of shape (n_samples,) and complete targets (the closed form), a "
    "linear kernel, an output kernel of low rank or with many zeros, or fewer rows."
)


class EntrySystem(ABC):
    """A factorised system of a block of outputs."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of unknowns."""

    @abstractmethod
    def moments(self) -> np.ndarray:
        """Return the covariance of (theta_t, b_t) of each output, (m, r + 1, r + 1).

        Without an intercept (m, r, r).
        """

    @abstractmethod
    def variances(self, phi: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Return var(phi'theta_t + b_t), t the output of each row, (n,)."""

    @abstractmethod
    def covariance(self, phi: np.ndarray) -> np.ndarray:
        """Return cov(phi'theta_t + b_t, phi'theta_u + b_u) of each row (n, m, m)."""

    @abstractmethod
    def along(
        self, phi: np.ndarray, other: np.ndarray, direction: np.ndarray
    ) -> np.ndarray:
        """Return the covariance of a combination of outputs between rows (n, n_other).

        Direction (m,) has the coefficients.
        """


def system_of(
    training: np.ndarray,
    weights: np.ndarray,
    factor: np.ndarray,
    alpha: float,
    free_intercept: bool,
) -> EntrySystem:
    """Factorise: training (n, r), weights (n, m), B (m, q).

    Raises
    ------
    MemoryError
        If the system cannot fit.
    numpy.linalg.LinAlgError
        If alpha is at rounding level beside the kernels.
    """
    n_observed = int(np.count_nonzero(weights))
    size = training.shape[1] * factor.shape[1] + weights.shape[1] * free_intercept
    require_memory(
        3 * 8 * min(n_observed, size) ** 2,
        f"The standard deviation with {n_observed} targets observed in different rows",
        REMEDY,
    )
    side = InTargets if n_observed < size else InCoordinates
    return side.of(training, weights, factor, alpha, free_intercept)


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


@dataclass(frozen=True)
class InTargets(EntrySystem):
    """The covariance of the observed targets.

    Attributes
    ----------
    observed : ObservedTargets
    seen : array (n_observed, r)
        phi of the row of each target.
    outputs : array of int (n_observed,)
    factor : array (m, q)
        B.
    """

    observed: ObservedTargets
    seen: np.ndarray
    outputs: np.ndarray
    factor: np.ndarray

    @classmethod
    def of(
        cls,
        training: np.ndarray,
        weights: np.ndarray,
        factor: np.ndarray,
        alpha: float,
        free_intercept: bool,
    ) -> InTargets:
        """Assemble and factorise; see `system_of`."""
        rows, outputs = np.nonzero(weights)
        seen = training[rows]
        system = seen @ seen.T
        system *= factor[outputs] @ factor[outputs].T
        system.flat[:: len(system) + 1] += alpha / weights[rows, outputs]
        observed = ObservedTargets.of(system, outputs, len(factor), free_intercept)
        return cls(observed, seen, outputs, factor)

    @property
    def size(self) -> int:
        """The number of targets."""
        return len(self.outputs)

    def moments(self) -> np.ndarray:
        """Return the covariance of (theta_t, b_t) of each output."""
        m, r = self.factor.shape[0], self.seen.shape[1]
        drift = self.observed.drift
        size = r + (drift is not None)
        if drift is not None:
            covariance = np.linalg.inv(drift.T @ drift)
        moments = np.empty((m, size, size))
        n_at_once = max(_AT_ONCE // max(self.seen.size, 1), 1)
        for first in range(0, m, n_at_once):
            some = np.arange(first, min(first + n_at_once, m))
            own = self.factor[some]
            shared = (self.factor @ own.T)[self.outputs]
            told = self.seen[:, None] * shared[:, :, None]
            told = whitened(self.observed.root, told.reshape(len(told), -1))
            inside = np.sum(own**2, axis=1)[:, None, None] * np.eye(r)
            inside -= grams(told, told, r)
            if drift is not None:
                moved = drift.T @ told
                back = covariance @ moved
                inside += grams(moved, back, r)
                drifts = back.reshape(m, -1, r)[some, range(len(some))]
                moments[some, :r, r] = moments[some, r, :r] = -drifts
                moments[some, r, r] = covariance[some, some]
            moments[some, :r, :r] = inside
        return moments

    def variances(self, phi: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Return the variance of the output of each row."""
        own = self.factor[outputs]
        told = self.seen @ phi.T
        told *= self.factor[self.outputs] @ own.T
        prior = np.sum(phi * phi, axis=1) * np.sum(own * own, axis=1)
        return self.observed.variances(prior, told, outputs)

    def covariance(self, phi: np.ndarray) -> np.ndarray:
        """Return the covariance of outputs at each row."""
        L = self.factor @ self.factor.T
        told = (self.seen @ phi.T)[:, :, None] * L[self.outputs][:, None]
        prior = np.sum(phi * phi, axis=1)[:, None, None] * L
        return self.observed.covariance(prior, told)

    def along(
        self, phi: np.ndarray, other: np.ndarray, direction: np.ndarray
    ) -> np.ndarray:
        """Return the covariance of a combination of outputs between rows."""
        related = self.factor @ (direction @ self.factor)
        seen = self.seen * related[self.outputs][:, None]
        prior = float(direction @ related) * phi @ other.T
        return self.observed.along(prior, seen @ phi.T, seen @ other.T, direction)
