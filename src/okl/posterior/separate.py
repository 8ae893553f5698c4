"""The variance of predictions where each output has a kernel of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from okl._output_kernel import OutputKernel
from okl.kernels import PerOutput
from okl.posterior.variance import PredictiveVariance


@dataclass(frozen=True)
class SeparateVariances:
    """Variance of f(x) + b for outputs that have nothing in common.

    Attributes
    ----------
    outputs : tuple of PredictiveVariance
        One of a single output each.
    """

    outputs: tuple[PredictiveVariance, ...]

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
        n_outputs = len(kernels.kernels)
        one = OutputKernel(np.ones(1))
        columns = np.arange(n_outputs)
        if weights is not None and weights.shape[1] == 1:
            columns = np.zeros(n_outputs, dtype=int)
        return cls(
            tuple(
                PredictiveVariance(
                    kernel,
                    rows,
                    one,
                    alpha,
                    None if weights is None else weights[:, [column]],
                    free_intercept,
                )
                for kernel, column in zip(kernels.kernels, columns, strict=True)
            )
        )

    def __call__(self, X: Any) -> np.ndarray:
        """Return the variance at rows of X, (n, n_outputs)."""
        return np.concatenate([variance(X) for variance in self.outputs], axis=1)
