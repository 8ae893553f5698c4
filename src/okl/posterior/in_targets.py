"""What targets tell of a block of outputs, in the observed targets.

See `okl.posterior.systems`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from okl.posterior.entry_system import EntrySystem
from okl.posterior.observed_targets import ObservedTargets, grams, whitened

# Numbers of right sides that are solved for at once.
_AT_ONCE = 4_000_000


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
        asked, number = np.unique(outputs, return_inverse=True)
        own = self.factor[asked]
        told = self.seen @ phi.T
        told *= (self.factor[self.outputs] @ own.T)[:, number]
        prior = np.sum(phi * phi, axis=1) * np.sum(own * own, axis=1)[number]
        return self.observed.variances(prior, told, outputs)

    def all_variances(self, phi: np.ndarray) -> np.ndarray:
        """Return the variances of all outputs."""
        told, size = self.seen @ phi.T, np.sum(phi * phi, axis=1)
        same = np.ones(len(phi), dtype=np.intp)
        found = np.empty((len(phi), len(self.factor)))
        for t, own in enumerate(self.factor):
            shared = (self.factor @ own)[self.outputs]
            prior = size * float(own @ own)
            found[:, t] = self.observed.variances(
                prior, shared[:, None] * told, t * same
            )
        return found

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
