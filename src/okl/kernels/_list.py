"""Objects with a list of kernels as their parameter ``kernels``.

Parameters of these kernels are tuned as ``kernels__0__gamma``, ``kernels__1__gamma``
and so on, and the kernels themselves as ``kernels__0``.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from okl.kernels.base import check_is_kernel
from okl.parameters.component import Component
from okl.parameters.listed import ListedParameters


class KernelList(ListedParameters, Component):
    """Base of what has a parameter ``kernels``, a list of kernels."""

    listed: ClassVar[tuple[str, ...]] = ("kernels",)
    kernels: Any

    def _check_kernels(self) -> None:
        """Raise ValueError for an empty list, TypeError for what is not a kernel."""
        name = type(self).__name__
        if not isinstance(self.kernels, list | tuple) or not self.kernels:
            raise ValueError(
                f"kernels of {name} must be a list of at least one kernel, got "
                f"{self.kernels!r}."
            )
        for i, kernel in enumerate(self.kernels):
            check_is_kernel(kernel, f"kernels[{i}] of {name}")

    def of_one_width(self, n_features: int) -> list[np.ndarray]:
        """Return the groups of all kernels, as `Kernel.of_one_width` has them."""
        return [
            group
            for kernel in self.kernels
            for group in kernel.of_one_width(n_features)
        ]
