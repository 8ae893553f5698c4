"""From a kernel and rows of X to an operator."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from okl.kernels import Kernel, KernelTerms, PerOutput, square_matrix
from okl.operators.base import KernelOperator, Operator
from okl.operators.dense import Dense
from okl.operators.features import Features
from okl.operators.row_blocks import RowBlocks
from okl.operators.separable_sum import SeparableSum, Term
from okl.operators.sparse_features import SparseFeatures, sparse_work
from okl.operators.terms import OperatorTerms, RowOperator

_FLOAT = 8  # bytes
# What `Operator.workspace` is where a decomposition fits.
_DECOMPOSITION = 2.0


def operator_of(
    kernel: Kernel | PerOutput | KernelTerms, X: Any, budget: float = float("inf")
) -> Operator:
    """Build the operator of a kernel, or of a kernel per output, on the rows of X.

    Parameters
    ----------
    kernel : Kernel, PerOutput or KernelTerms
        With its data-dependent parameters resolved.
    X : array or sparse matrix (n_samples, n_features)
        The training rows.
    budget : float, default=infinity
        The bytes that kernel matrices may take, with what they are decomposed into.

    Returns
    -------
    Operator
        `Features` or `SparseFeatures` where the kernel has fewer features than there
        are rows, or very sparse ones, else `Dense`, or `RowBlocks` where the matrix
        does not fit; a `SeparableSum` of these for a kernel per output, `OperatorTerms`
        for several kernels. Its arrays belong to it, those of X aside.

    Raises
    ------
    MemoryError
        If the matrix does not fit, and must be checked as a whole.
    """
    if isinstance(kernel, KernelTerms):
        share = budget / max(len(kernel.of_inputs), 1)
        found = [_matrix_of(one, X, share) for one in kernel.of_inputs]
        rows = [RowOperator(np.ones(X.shape[0]))] * kernel.has_rows
        return OperatorTerms((*found, *rows))
    if not isinstance(kernel, PerOutput):
        return _matrix_of(kernel, X, budget)
    terms = kernel.terms()
    share = budget / len(terms)
    return SeparableSum(
        tuple(
            Term(_matrix_of(term.kernel, X, share), term.outputs, term.scales)
            for term in terms
        )
    )


def _matrix_of(kernel: Kernel, X: Any, budget: float) -> KernelOperator:
    features = kernel.features(X)
    n_samples = X.shape[0]
    matrices = budget / (_FLOAT * n_samples**2)
    if features is not None:
        narrow = features.shape[1] < n_samples
        if issparse(features) and (narrow or sparse_work(features) < n_samples**2):
            # with many features a decomposition forms the kernel matrix
            workspace = max(matrices - 1, 0.0)
            if narrow:  # with few it forms Phi'Phi, and eigenvectors of both
                entries = features.shape[1] * (3 * features.shape[1] + n_samples)
                workspace = _DECOMPOSITION * budget / (_FLOAT * entries)
            return SparseFeatures(features, workspace=workspace)
        if narrow:
            return Features(features)
        del features  # the kernel makes them again
    if matrices >= 1:
        K = square_matrix(kernel, X)
        return Dense(K, trusted=kernel.is_psd, workspace=matrices - 1)
    least = RowBlocks.least_budget(n_samples)
    if kernel.is_psd and budget >= least:
        return RowBlocks(kernel, X, budget)
    if kernel.is_psd:
        raise MemoryError(
            f"Products with the kernel matrix of {n_samples} samples, a row at a time, "
            f"take {least / 2**20:.2g} MiB; max_memory leaves {budget / 2**20:.2g}. "
            "Raise max_memory."
        )
    raise MemoryError(
        f"The kernel matrix of {n_samples} samples does not fit into max_memory "
        f"({budget / 2**20:.0f} MiB), and {kernel} is not known to be positive "
        "semi-definite, which can only be checked on the whole matrix. Raise "
        "max_memory, fit on fewer rows, or use a kernel of okl.kernels that needs no "
        "such check."
    )
