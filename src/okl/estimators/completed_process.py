"""The process of a fit to a table with missing targets filled in.

Its means are those of the last fit, which knows of each output what the others told.
How large errors are the first fit says, which has seen nothing but what was observed:
targets that were filled in follow those that were observed, and so predict them when
these are left out, and the posterior of a complete table is that of more observations
than there are. Standard deviations by the last fit are far too small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from okl.coding.tasks import Tasks
from okl.estimators.process import Process
from okl.posterior import ConditionedRows, Posterior


@dataclass(frozen=True)
class CompletedProcess:
    """What a model asks a `Process`, answered by two of them.

    Attributes
    ----------
    last : Process
        Of the fit to the table as it was filled in.
    first : Process
        Of the fit to what was observed.
    """

    last: Process
    first: Process

    @property
    def posterior(self) -> Posterior:
        """That of what was observed."""
        return self.first.posterior

    @property
    def weights(self) -> np.ndarray | None:
        """Of the targets."""
        return self.last.weights

    @property
    def tasks(self) -> Tasks | None:
        """None: a table is no data in long form."""
        return self.last.tasks

    def noise_variance(self) -> np.ndarray:
        """Return the variance of the noise of each output (n_outputs,)."""
        return self.first.noise_variance()

    def residual_covariance(self) -> np.ndarray:
        """Return the covariance of the noise of a row (n_outputs, n_outputs)."""
        return self.first.residual_covariance()

    def quantiles(self, coverage: float, tasks: Tasks | None = None) -> np.ndarray:
        """Return how many standard deviations cover targets."""
        return self.first.quantiles(coverage, tasks)

    def deviation(
        self, X: Any, tasks: Tasks | None = None, *, include_noise: bool
    ) -> np.ndarray:
        """Return the standard deviation of f + b (n, n_outputs)."""
        return self.first.deviation(X, tasks, include_noise=include_noise)

    def covariance(self, X: Any, *, include_noise: bool) -> np.ndarray:
        """Return the covariances of the outputs of rows (n, n_outputs, n_outputs)."""
        return self.first.covariance(X, include_noise=include_noise)

    def conditioned(
        self, X: Any, given: np.ndarray, *, include_noise: bool
    ) -> ConditionedRows:
        """Condition rows on the targets given (n, n_outputs), NaN elsewhere."""
        one, two = (
            process.conditioned(X, given, include_noise=include_noise)
            for process in (self.first, self.last)
        )
        return replace(one, mean=two.mean)

    def conditional(
        self, X: Any, given: np.ndarray, *, include_noise: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean and standard deviation of `conditioned`."""
        mean, _ = self.last.conditional(X, given, include_noise=include_noise)
        _, std = self.first.conditional(X, given, include_noise=include_noise)
        return mean, std

    def conditioned_training_rows(self) -> ConditionedRows:
        """Condition what each training row misses on what it has."""
        one = self.first.conditioned_training_rows()
        return replace(one, mean=self.last.conditioned_training_rows().mean)
