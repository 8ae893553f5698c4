"""The kernel matrix that a criterion judges, and the way back from it to parameters.

A criterion returns thin factors of the weights of entries of K (`Evaluation`). Where
all outputs have one kernel its derivatives are contracted with their product, and the
kernel keeps for that what it computed for K. A kernel for each output (`PerOutput`) has
as many matrices: to keep as much again for all would fill the memory, and kernels are
evaluated once more, block by block, which is little beside the fits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from okl.kernels import Kernel, PerOutput
from okl.operators import Dense, Operator, SeparableSum, Term
from okl.selection.criteria import Evaluation

Pullback = Callable[[Evaluation], dict[str, Any]]


def matrix_of(kernel: Kernel | PerOutput, X: Any) -> Operator:
    """Return the matrix of a kernel, or those of outputs whose kernels differ."""
    if not isinstance(kernel, PerOutput):
        return _dense(kernel, X)
    return SeparableSum(
        tuple(
            Term(_dense(term.kernel, X), term.outputs, term.scales)
            for term in kernel.terms()
        )
    )


def matrix_and_pullback(
    kernel: Kernel | PerOutput, X: Any
) -> tuple[Operator, Pullback]:
    """Return the matrix, and what takes an evaluation there to its derivatives."""
    if isinstance(kernel, PerOutput):

        def of_each(found: Evaluation) -> dict[str, Any]:
            assert found.term.right is not None
            return kernel.gradient(X, found.term.left, found.term.right)

        return matrix_of(kernel, X), of_each
    K, pullback = kernel.value_and_pullback(X)
    operator = Dense(K, owned=False, trusted=kernel.is_psd)
    return operator, lambda found: pullback(found.term.weights())


def _dense(kernel: Kernel, X: Any) -> Dense:
    return Dense(kernel(X), owned=False, trusted=kernel.is_psd)


def mean_diagonal(kernel: Kernel | PerOutput, X: Any) -> float:
    """Return the mean of k(x, x) over the rows, and over the kernels of outputs."""
    kernels = kernel.kernels if isinstance(kernel, PerOutput) else [kernel]
    return float(np.mean([kernel.diagonal(X) for kernel in kernels]))
