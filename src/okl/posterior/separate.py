"""The variance of predictions where each output has a kernel of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from okl._memory import require_memory
from okl._output_kernel import OutputKernel
from okl.kernels import PerOutput
from okl.posterior.variance import PredictiveVariance

_FLOAT = 8  # bytes


@dataclass(frozen=True)
class SeparateVariances:
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
                OutputKernel(term.scales),
                alpha,
                _of_outputs(weights, term.outputs),
                free_intercept,
            )
            for term in terms
        )
        return cls(parts, tuple(term.outputs for term in terms))

    def __call__(self, X: Any) -> np.ndarray:
        """Return the variance at rows of X, (n, n_outputs).

        Raises
        ------
        MemoryError
            If the decompositions, which are all kept, cannot fit.
        """
        n_samples = self.parts[0].rows.shape[0]
        require_memory(
            len(self.parts) * _FLOAT * n_samples**2,
            f"The standard deviation with {len(self.parts)} different kernels of "
            f"{n_samples} samples",
            "Fit each output by itself, with its kernel.",
        )
        variance = np.empty((X.shape[0], sum(map(len, self.outputs))))
        for part, outputs in zip(self.parts, self.outputs, strict=True):
            variance[:, outputs] = part(X)
        return variance


def _of_outputs(weights: np.ndarray | None, outputs: np.ndarray) -> np.ndarray | None:
    """Return the columns of weights of some outputs; one column serves all."""
    if weights is None or weights.shape[1] == 1:
        return weights
    return weights[:, outputs]
