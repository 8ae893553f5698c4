"""Standardised rows and targets, from which a kernel is learned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from okl.kernels import Kernel
from okl.operators import Dense
from okl.problems import Observed
from okl.selection.criteria import Criterion
from okl.selection.learning import Learned, learn
from okl.structures import Identity


@dataclass(frozen=True)
class StandardRows:
    """What a kernel is learned from.

    Attributes
    ----------
    Z : array (n_samples, n_features)
        Rows whose columns have variance one, each or on average, and mean zero with an
        intercept.
    observed : Observed
        Their targets.
    fit_intercept : bool
    row_weights : array (n_samples,) or None
    """

    Z: np.ndarray
    observed: Observed
    fit_intercept: bool
    row_weights: np.ndarray | None

    def learned(
        self, start: Kernel, criterion: Criterion, max_iter: int, *, near: bool = False
    ) -> Learned:
        """Minimise a criterion over the parameters of a kernel, at alpha = 1.

        ``near`` is whether the search starts near its end.
        """
        return learn(
            self.Z,
            self.observed,
            start,
            Identity(),
            1.0,
            criterion,
            fit_intercept=self.fit_intercept,
            parameters={"alpha": "fixed"},
            row_weights=self.row_weights,
            max_iter=max_iter,
            # all columns vary, but a narrow kernel is zero between rows far apart
            all_matter=False,
            near=near,
        )

    def value(self, kernel: Kernel, criterion: Criterion) -> float:
        """Return a criterion at a kernel and alpha = 1."""
        matrix = kernel(self.Z)
        return criterion.value(Dense(matrix), 1.0, Identity()).value

    def spread(self, enough: int) -> StandardRows:
        """Return every few rows, enough of them; all if a column were constant so."""
        rows = np.arange(0, len(self.Z), len(self.Z) // enough)
        some = self.Z[rows], self.observed.targets[rows]
        if any(np.all(np.ptp(values, axis=0) == 0) for values in some):
            return self
        weights = self.row_weights
        return StandardRows(
            self.Z[rows],
            self.observed.restrict(rows),
            self.fit_intercept,
            None if weights is None else weights[rows],
        )
