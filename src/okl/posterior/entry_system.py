"""The interface of the system of a block of outputs observed in different rows."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np


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
    def all_variances(self, phi: np.ndarray) -> np.ndarray:
        """Return var(phi'theta_t + b_t) of all outputs t, (n, m)."""

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
