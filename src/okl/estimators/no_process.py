"""The error of a model that has no Gaussian process, and what to do instead."""

from __future__ import annotations

from typing import Any

from okl.estimators.process import Process
from okl.estimators.training import is_precomputed


class NoProcessError(ValueError, AttributeError):
    """Raised where a model has no process, nor an attribute that would need one."""


def required(process: Process | None, kernel: Any, loss: Any) -> Process:
    """Return the process of a model with this kernel and loss, which may have none."""
    if is_precomputed(kernel):
        raise NoProcessError(
            "The standard deviation needs k(x, x) of new rows, which "
            "kernel='precomputed' does not have. Pass kernel=Gram(matrix) of "
            "okl.kernels, the matrix over training and new rows, and row numbers "
            "as X."
        )
    if process is None:
        raise NoProcessError(
            "Standard deviations, intervals, given and noise_variance_ are for "
            f"loss='squared', not for loss={loss!r}. Two more fits, of "
            "OutputKernelRegressorCV with loss=Quantile(0.05) and Quantile(0.95), have "
            "the limits of a band."
        )
    return process
