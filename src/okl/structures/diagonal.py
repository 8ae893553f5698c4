"""Independent outputs, of given variances."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from okl.numerics.arrays import Array, namespace
from okl.output_kernels import OutputKernel, SpectralKernel
from okl.structures.given import Given


class Diagonal(Given):
    """Independent outputs of given variances, L = diag(variances).

    In a model with several kernels, an output of variance zero has no part in the term
    of this structure. A kernel for each output (`okl.kernels.PerOutput`) in a list of
    kernels is a sum of such terms.

    Parameters
    ----------
    variances : array-like (n_outputs,)
        All >= 0. The regressors normalise outputs first: these are then variances of
        normalised outputs. Labels of a series are names of outputs.
    """

    parameters_of_outputs: ClassVar[dict[str, int]] = {"variances": 1}

    def __init__(self, variances: Any) -> None:
        self.variances = variances

    def validate(self, n_outputs: int) -> None:
        """Check that there is a variance, finite and >= 0, for each output."""
        variances = np.asarray(self.variances, dtype=np.float64)
        if variances.shape != (n_outputs,):
            raise ValueError(
                "Diagonal needs a variance for each output, and PerOutput a kernel: "
                f"{n_outputs}; got an array of shape {variances.shape}."
            )
        if not np.all(variances >= 0) or not np.all(np.isfinite(variances)):
            raise ValueError(
                f"The variances of Diagonal must be finite and >= 0; got {variances}."
            )

    def matrix(self, n_outputs: int) -> np.ndarray:
        """Return ``diag(variances)``."""
        return np.diag(np.asarray(self.variances, dtype=np.float64))

    def known(self, like: Array) -> OutputKernel:
        """Return L, by the positive variances and their columns of the identity.

        Where all variances are positive, no columns are stored: the coordinate axes
        couple no outputs.
        """
        variances = np.asarray(self.variances, dtype=np.float64)
        if np.all(variances > 0):
            return SpectralKernel(namespace(like).asarray(variances, dtype=like.dtype))
        order = np.argsort(-variances, kind="stable")
        order = order[variances[order] > 0]
        xp = namespace(like)
        return SpectralKernel(
            xp.asarray(variances[order], dtype=like.dtype),
            xp.asarray(np.eye(len(variances))[:, order], dtype=like.dtype),
        )
