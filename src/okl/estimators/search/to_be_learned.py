"""Kernels of a search that are learned from the targets before they are tried.

``"auto"`` and `okl.kernels.Learnable` stand for one, by themselves, in a list of
kernels to choose from, or in a list of terms: ``kernel=["auto", Row()]`` is a model of
two terms, of which the first has the kernel that is learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from okl.kernels import Kernel, KernelTerms, Learnable
from okl.selection.learned_kernel import LearnedKernel

AUTO = "auto"


def is_auto(kernel: Any) -> bool:
    """Tell whether a kernel is to be made of the data."""
    if isinstance(kernel, Learnable):
        return kernel.kernel is None and kernel.parameters is None
    return isinstance(kernel, str) and kernel == AUTO


def marked(kernels: list[Any]) -> list[Any]:
    """Return a list of kernels as given, with a kernel in the place of ``"auto"``."""
    return [Learnable() if is_auto(kernel) else kernel for kernel in kernels]


def learnables(kernels: list[Any]) -> list[Learnable]:
    """Return what is to be learned for kernels to try, in their order."""
    parts: list[Any] = []
    for kernel in kernels:
        parts += kernel.kernels if isinstance(kernel, KernelTerms) else [kernel]
    return [part for part in parts if isinstance(part, Learnable)]


def with_learned(kernel: Any, found: list[tuple[Learnable, Kernel]]) -> Any:
    """Return a kernel to try, once those that were to be learned are known."""
    if isinstance(kernel, KernelTerms):
        return KernelTerms([with_learned(one, found) for one in kernel.kernels])
    return next((learned for stood, learned in found if stood is kernel), kernel)


def learned_parts(kernel: Any, learned: Sequence[LearnedKernel]) -> list[LearnedKernel]:
    """Return which of the kernels that were learned one is, or is a list of."""
    parts = kernel.kernels if isinstance(kernel, KernelTerms) else [kernel]
    return [one for one in learned if any(one.kernel is part for part in parts)]
