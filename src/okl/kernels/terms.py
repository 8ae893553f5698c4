"""Several kernels in one model, each with an output kernel of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from okl.kernels._list import KernelList
from okl.kernels.base import Kernel, Matrix


class KernelTerms(KernelList):
    """Several kernels, each of which has an output kernel of its own.

    Estimators make it of ``kernel=[k1, k2]``. It is not a kernel itself, as it has no
    matrix.

    Parameters
    ----------
    kernels : list of Kernel or Row
        k_1, k_2, ...; at most one `Row`, the last.
    """

    def __init__(self, kernels: Any) -> None:
        self.kernels = kernels

    def resolve(self, X: Matrix, weights: np.ndarray | None = None) -> KernelTerms:
        """Return the terms with the resolved kernels; see `Kernel.resolve`."""
        return KernelTerms([kernel.resolve(X, weights) for kernel in self.kernels])

    def centered(self, X: Matrix, weights: np.ndarray | None = None) -> KernelTerms:
        """Return the terms with each kernel centred, if it can be."""
        return KernelTerms([kernel.centered(X, weights) for kernel in self.kernels])

    @property
    def of_inputs(self) -> list[Kernel]:
        """The kernels that new rows are predicted by: all but a `Row`."""
        return [kernel for kernel in self.kernels if isinstance(kernel, Kernel)]

    @property
    def has_rows(self) -> bool:
        """Whether the last term is a `Row`."""
        return len(self.of_inputs) < len(self.kernels)
