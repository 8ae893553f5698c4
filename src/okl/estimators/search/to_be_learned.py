"""The place in a list of kernels of one that a search learns first.

``kernel=["auto", k]`` of a search is a model of two terms, of which the first has the
kernel that is learned from the targets. Until then a kernel without a matrix stands for
it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from okl.kernels import Kernel, KernelTerms

AUTO = "auto"


class ToBeLearned(Kernel):
    """Stands for a kernel that is not known yet."""

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return what was given."""
        return repr(AUTO)

    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        """Raise TypeError: there is no matrix."""
        raise TypeError("This kernel has not been learned yet.")

    def diagonal(self, X: Any) -> np.ndarray:
        """Raise TypeError: there is no matrix."""
        raise TypeError("This kernel has not been learned yet.")


def is_auto(kernel: Any) -> bool:
    """Tell whether a kernel is to be learned."""
    return isinstance(kernel, str) and kernel == AUTO


def learns_one(kernel: Any) -> bool:
    """Tell whether a kernel is to be learned, or one in a list is."""
    return is_auto(kernel) or (
        isinstance(kernel, list | tuple) and any(map(is_auto, kernel))
    )


def marked(kernels: list[Any]) -> list[Any]:
    """Return a list of kernels as given, with a kernel in the place of ``"auto"``."""
    return [ToBeLearned() if is_auto(kernel) else kernel for kernel in kernels]


def with_learned(kernel: Any, learned: Kernel) -> Any:
    """Return a kernel to try, once the one that was to be learned is known."""
    if isinstance(kernel, KernelTerms):
        return KernelTerms(
            [learned if isinstance(k, ToBeLearned) else k for k in kernel.kernels]
        )
    return learned if is_auto(kernel) else kernel


def has_kernel(kernel: Any, learned: Kernel) -> bool:
    """Tell whether a kernel is the one that was learned, or a list that has it."""
    kernels = kernel.kernels if isinstance(kernel, KernelTerms) else [kernel]
    return any(one is learned for one in kernels)
