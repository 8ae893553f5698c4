"""Averages of kernels: several descriptions of the same samples, combined.

The kernels may be on different columns (`Columns`), have different scales, or be given
matrices (`Gram`); the average compares samples by all of them. Weights are normalised
to sum to one: they say how much each kernel counts, and do not change the overall
scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from okl.kernels._checks import as_numbers
from okl.kernels._hyperparameters import weight_parameter
from okl.kernels._list import KernelList
from okl.kernels.base import Kernel, Matrix
from okl.kernels.differentiable import Derivatives, Evaluated
from okl.parameters.hyperparameter import Hyperparameter


class Average(KernelList, Kernel):
    """Weighted average, k(x, z) = sum_q w_q k_q(x, z) / sum_q w_q.

    Parameters
    ----------
    kernels : list of Kernel
        At least one. Their parameters are tuned as ``kernels__0__gamma``,
        ``kernels__1__gamma`` and so on, and the kernels themselves as
        ``kernels__0``.
    weights : array-like of shape (n_kernels,), default=None
        Nonnegative, not all zero; equal if None. A search by gradient learns them
        unless one is zero: a kernel with weight zero stays out.
    """

    def __init__(self, kernels, weights=None):
        self.kernels = kernels
        self.weights = weights

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> np.ndarray:
        """Return the average of the matrices."""
        return self._weighted_sum(lambda kernel: kernel(X, Z))

    def diagonal(self, X: Matrix) -> np.ndarray:
        """Return the average of the diagonals."""
        return self._weighted_sum(lambda kernel: kernel.diagonal(X))

    @property
    def is_psd(self) -> bool:
        """Whether all kernels are positive semi-definite by construction."""
        return all(kernel.is_psd for kernel in self.kernels)

    def resolve(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Return the average of the resolved kernels, with the given weights."""
        self._check_kernels()
        self._normalized_weights()
        resolved = [kernel.resolve(X, weights) for kernel in self.kernels]
        return Average(resolved, self.weights)

    def centered(self, X: Matrix, weights: np.ndarray | None = None) -> Kernel:
        """Centre all kernels."""
        centered = [kernel.centered(X, weights) for kernel in self.kernels]
        return Average(centered, self.weights)

    def hyperparameters(
        self, X: Matrix, weights: np.ndarray | None = None
    ) -> list[Hyperparameter]:
        """Return the parameters of all kernels, and the weights."""
        inner = [
            one.within(f"kernels__{q}")
            for q, kernel in enumerate(self.kernels)
            for one in kernel.hyperparameters(X, weights)
        ]
        # only their ratios count: they are scaled to be around one, as the prior has
        # them
        own = len(self.kernels) * self._normalized_weights()
        if len(own) == 1 or not own.all():
            return inner
        return [*inner, weight_parameter("weights", own)]

    def value_and_pullback(self, X: Matrix, Z: Matrix | None = None) -> Evaluated:
        """Return the average and its derivatives, from those of the kernels."""
        shares = self._normalized_weights()
        parts = [kernel.value_and_pullback(X, Z) for kernel in self.kernels]
        total = shares[0] * parts[0][0]
        for share, (K, _) in zip(shares[1:], parts[1:], strict=True):
            total += share * K

        def pullback(W: np.ndarray) -> Derivatives:
            inner = [np.vdot(W, K) for K, _ in parts]
            result: Derivatives = {}
            for q, (share, (_, one)) in enumerate(zip(shares, parts, strict=True)):
                derivatives = one(W)
                result |= {
                    f"kernels__{q}__{name}": share * value
                    for name, value in derivatives.items()
                }
            if shares.all():
                result["weights"] = shares * (inner - shares @ inner)
            return result

        return total, pullback

    def _weighted_sum(self, evaluate: Any) -> np.ndarray:
        weights = self._normalized_weights()
        total = evaluate(self.kernels[0])
        total *= weights[0]
        for weight, kernel in zip(weights[1:], self.kernels[1:], strict=True):
            term = evaluate(kernel)
            term *= weight
            total += term
        return total

    def _normalized_weights(self) -> np.ndarray:
        n_kernels = len(self.kernels)
        if self.weights is None:
            return np.full(n_kernels, 1.0 / n_kernels)
        weights = as_numbers(self.weights)
        if (
            weights is None
            or weights.shape != (n_kernels,)
            or not np.all((weights >= 0) & np.isfinite(weights))
            or not weights.any()
        ):
            raise ValueError(
                f"weights of Average must be {n_kernels} finite numbers >= 0, one per "
                f"kernel and not all zero, got {self.weights!r}."
            )
        return weights / weights.sum()
