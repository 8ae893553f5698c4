"""The interface of the posterior of f + b."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from okl.coding.tasks import Tasks
from okl.kernels import Kernel


class Posterior(ABC):
    """The posterior of f + b, in units in which the noise of weight one is alpha.

    Attributes
    ----------
    couples : bool
        Whether outputs have a covariance, as far as is known.
    row_covariance : array (n_outputs, n_outputs) or None
        What noise has in common in the targets of a row, beside the alpha / weight of
        each: the covariance of the term of a row, if there is one.
    row_is_given : bool
        Whether that was given, not learned.
    """

    row_covariance: np.ndarray | None = None
    row_is_given: bool = False

    def prior(self) -> tuple[Kernel, np.ndarray] | None:
        """Return the kernel of unrelated outputs, and its factors (n_outputs,).

        None where outputs have kernels of their own, are related, or are tasks.
        """
        return None

    @property
    @abstractmethod
    def couples(self) -> bool:
        """Whether outputs have a covariance, as far as is known."""

    @abstractmethod
    def __call__(self, X: Any, tasks: Tasks | None = None) -> np.ndarray:
        """Return the variance at rows of X, (n, n_outputs), or (n, 1) of own tasks."""

    @abstractmethod
    def covariance(self, X: Any) -> np.ndarray:
        """Return the covariance of outputs at rows of X, (n, n_outputs, n_outputs)."""

    def along_axes(self, X: Any) -> tuple[np.ndarray, np.ndarray, float] | None:
        """Return variances (n, q) along directions V (m, q) in which f is independent.

        The second result is V, the third the variance of what is orthogonal to it; None
        where there are no such directions.
        """
        return None


class UnrelatedPosterior(Posterior):
    """Base of those of outputs that have nothing in common."""

    @property
    def couples(self) -> bool:
        """False."""
        return False

    def covariance(self, X: Any) -> np.ndarray:
        """Return diagonal matrices (n, n_outputs, n_outputs)."""
        variance = self(X)
        return variance[:, :, None] * np.eye(variance.shape[1])
