"""A kernel on standardised columns, and the one on X that it stands for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from okl.kernels import Constant, Kernel
from okl.selection.linear_plus import scaled
from okl.selection.standard_columns import StandardColumns


class StandardKernel(NamedTuple):
    """A kernel on standardised columns.

    Attributes
    ----------
    columns : StandardColumns
    inside : Kernel
        On these columns.
    constant : float or None
        What is added to it in the place of free intercepts.
    """

    columns: StandardColumns
    inside: Kernel
    constant: float | None

    @property
    def whole(self) -> Kernel:
        """The kernel on standardised columns, with the constant."""
        if self.constant is None:
            return self.inside
        return self.inside + Constant(self.constant)

    def with_whole(self, kernel: Kernel) -> StandardKernel:
        """Return another one of the same form as `whole`, on the same columns."""
        if self.constant is None:
            return self._replace(inside=kernel)
        return self._replace(inside=kernel.left, constant=kernel.right.value)

    def times(self, factor: float) -> StandardKernel:
        """Return the kernel multiplied by a factor."""
        constant = None if self.constant is None else self.constant * factor
        return self._replace(inside=scaled(self.inside, factor), constant=constant)

    def on(self, X: np.ndarray, row_weights: np.ndarray | None) -> Kernel:
        """Return the kernel on X; with a constant it is centred here, else in fits."""
        kernel = self.columns.in_units(self.inside)
        if self.constant is None:
            return kernel
        return kernel.centered(X, row_weights) + Constant(self.constant)
