r"""The posterior of f + b where the noise of a row's outputs has a covariance.

With a term of its own for each row the targets have the covariance K (x) L + I (x) N,
N = L_2 + alpha I. The outputs Y N^(-1/2) have independent noise of variance one, and
the covariance K (x) N^(-1/2) L N^(-1/2) + I, for which there is the closed form of
complete targets; its results are mapped back by N^(1/2). Where targets are missing N
differs from row to row, see `okl.posterior.term_sum`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from okl.coding.tasks import Tasks
from okl.kernels import Kernel
from okl.output_kernels import OutputKernel, SpectralKernel
from okl.posterior.base import Posterior
from okl.posterior.variance import PredictiveVariance


@dataclass(frozen=True)
class RowTermPosterior(Posterior):
    """The posterior for complete targets, without weights.

    Attributes
    ----------
    whitened : PredictiveVariance
        In outputs of independent noise.
    root : array (n_outputs, n_outputs)
        N^(1/2), symmetric.
    noise_covariance : array (n_outputs, n_outputs)
        N.
    row_covariance : array (n_outputs, n_outputs)
        L_2.
    row_is_given : bool
        Whether that was given, not learned.
    """

    whitened: PredictiveVariance
    root: np.ndarray
    noise_covariance: np.ndarray
    row_covariance: np.ndarray
    row_is_given: bool = False

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        rows: Any,
        output_kernel: OutputKernel,
        row_kernel: OutputKernel,
        alpha: float,
        *,
        free_intercept: bool,
        row_is_given: bool = False,
    ) -> RowTermPosterior:
        """Take L and L_2; the rest as `PredictiveVariance`."""
        shared = row_kernel.matrix()
        N = shared + alpha * np.eye(len(shared))
        values, V = np.linalg.eigh(N)
        inverse = (V / np.sqrt(values)) @ V.T
        L = SpectralKernel.from_matrix(inverse @ output_kernel.matrix() @ inverse)
        whitened = PredictiveVariance(kernel, rows, L, 1.0, None, free_intercept)
        return cls(whitened, (V * np.sqrt(values)) @ V.T, N, shared, row_is_given)

    @property
    def couples(self) -> bool:
        """True."""
        return True

    def __call__(self, X: Any, tasks: Tasks | None = None) -> np.ndarray:
        """Return the variance at rows of X, (n, n_outputs)."""
        assert tasks is None
        axes = self.whitened.along_axes(X)
        assert axes is not None
        variances, V, off_axes = axes
        share = (self.root @ V) ** 2
        return (variances - off_axes) @ share.T + off_axes * np.diag(
            self.noise_covariance
        )

    def covariance(self, X: Any) -> np.ndarray:
        """Return the covariance of the outputs at rows of X, (n, m, m)."""
        return self.root @ self.whitened.covariance(X) @ self.root
