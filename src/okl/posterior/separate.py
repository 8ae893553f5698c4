"""The variance of predictions of outputs that have nothing in common.

Each may have a kernel of its own, or in long form rows of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from okl.coding.tasks import Tasks
from okl.kernels import Kernel, PerOutput
from okl.numerics.memory import require_memory
from okl.output_kernels import SpectralKernel
from okl.posterior.base import UnrelatedPosterior
from okl.posterior.variance import PredictiveVariance

_FLOAT = 8  # bytes


@dataclass(frozen=True)
class SeparateVariances(UnrelatedPosterior):
    """Variance of f(x) + b for outputs that have nothing in common.

    Outputs whose kernels are equal up to a factor share one decomposition: theirs is
    K (x) L with the factors on the diagonal of L.

    Attributes
    ----------
    parts : tuple of PredictiveVariance
    outputs : tuple of arrays of int
        The numbers of the outputs of each part.
    """

    parts: tuple[PredictiveVariance, ...]
    outputs: tuple[np.ndarray, ...]

    @classmethod
    def of(
        cls,
        kernels: PerOutput,
        rows: Any,
        alpha: float,
        weights: np.ndarray | None,
        *,
        free_intercept: bool,
    ) -> SeparateVariances:
        """Take a resolved kernel for each output; the rest as `PredictiveVariance`."""
        terms = kernels.terms()
        parts = tuple(
            PredictiveVariance(
                term.kernel,
                rows,
                SpectralKernel(term.scales),
                alpha,
                _of_outputs(weights, term.outputs),
                free_intercept,
            )
            for term in terms
        )
        return cls(parts, tuple(term.outputs for term in terms))

    def __call__(self, X: Any, tasks: Tasks | None = None) -> np.ndarray:
        """Return the variance at rows of X, (n, n_outputs), or (n, 1) of own tasks.

        Raises
        ------
        MemoryError
            If the decompositions, which are all kept, cannot fit.
        """
        n_outputs = sum(map(len, self.outputs))
        variance = np.empty((X.shape[0], n_outputs if tasks is None else 1))
        for part, outputs in zip(self._affordable, self.outputs, strict=True):
            if tasks is None:
                variance[:, outputs] = part(X)
                continue
            rows = np.flatnonzero(np.isin(tasks.codes, outputs))
            places = np.searchsorted(outputs, tasks.codes[rows])
            if len(rows):
                variance[rows] = part(X[rows], Tasks(places, len(outputs)))
        return variance

    def __getstate__(self) -> dict[str, Any]:
        """Forget that there was memory: elsewhere there may be less."""
        return {k: v for k, v in vars(self).items() if k != "_affordable"}

    @cached_property
    def _affordable(self) -> tuple[PredictiveVariance, ...]:
        """The parts, once it is known that all of them fit together."""
        require_memory(
            _FLOAT * sum(map(_entries, self.parts)),
            f"The standard deviation with {len(self.parts)} kernel matrices",
            "Fit each output by itself.",
        )
        return self.parts


@dataclass(frozen=True)
class TaskVariances(UnrelatedPosterior):
    """Variance of f(x) + b in long form for tasks that have nothing in common.

    Attributes
    ----------
    kernel, rows, alpha, weights, free_intercept
        As in `PredictiveVariance`, weights (n_samples, 1).
    variances : array (n_tasks,)
        The diagonal of L.
    tasks : Tasks
        The task of each row.
    """

    kernel: Kernel
    rows: Any
    variances: np.ndarray
    alpha: float
    weights: np.ndarray | None
    tasks: Tasks
    free_intercept: bool

    def __getstate__(self) -> dict[str, Any]:
        """Leave the decompositions behind."""
        return {k: v for k, v in vars(self).items() if k != "_separate"}

    def __call__(self, X: Any, tasks: Tasks | None = None) -> np.ndarray:
        """Return the variance at rows of X; see `SeparateVariances`."""
        return self._separate(X, tasks)

    @cached_property
    def _separate(self) -> SeparateVariances:
        numbers = np.arange(self.tasks.n_tasks)
        own = [np.flatnonzero(self.tasks.codes == task) for task in numbers]
        parts = tuple(
            PredictiveVariance(
                self.kernel,
                self.rows[seen],
                SpectralKernel(self.variances[[task]]),
                self.alpha,
                None if self.weights is None else self.weights[seen],
                self.free_intercept,
            )
            for task, seen in zip(numbers, own, strict=True)
        )
        return SeparateVariances(parts, tuple(numbers[:, None]))


def _entries(part: PredictiveVariance) -> int:
    """Return the size of a decomposition: of the matrix, or of fewer features."""
    n_samples, features = part.rows.shape[0], part.kernel.features(part.rows)
    width = n_samples if features is None else min(n_samples, features.shape[1])
    return int(n_samples * width)


def _of_outputs(weights: np.ndarray | None, outputs: np.ndarray) -> np.ndarray | None:
    """Return the columns of weights of some outputs; one column serves all."""
    if weights is None or weights.shape[1] == 1:
        return weights
    return weights[:, outputs]
