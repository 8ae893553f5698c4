"""From a kernel and rows of X to an operator, and to products with new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils import gen_batches

from okl._memory import require_memory
from okl.kernels import Kernel, PerOutput
from okl.operators.base import KernelOperator, Operator
from okl.operators.dense import Dense
from okl.operators.features import Features
from okl.operators.separable_sum import SeparableSum, Term

_FLOAT = 8  # bytes


def operator_of(kernel: Kernel | PerOutput, X: Any) -> Operator:
    """Build the operator of a kernel, or of a kernel per output, on the rows of X.

    Parameters
    ----------
    kernel : Kernel or PerOutput
        With its data-dependent parameters resolved.
    X : array or sparse matrix (n_samples, n_features)
        The training rows.

    Returns
    -------
    Operator
        `Features` where the kernel has fewer features than there are rows, else
        `Dense`; a `SeparableSum` of these for a kernel per output. Its arrays belong
        to it, those of X aside.

    Raises
    ------
    MemoryError
        If the kernel matrix and its decomposition cannot fit.
    """
    if not isinstance(kernel, PerOutput):
        return _matrix_of(kernel, X, 1)
    terms = kernel.terms()
    return SeparableSum(
        tuple(
            Term(_matrix_of(term.kernel, X, len(terms)), term.outputs, term.scales)
            for term in terms
        )
    )


def _matrix_of(kernel: Kernel, X: Any, n_matrices: int) -> KernelOperator:
    features = kernel.features(X)
    if features is not None and features.shape[1] < features.shape[0]:
        return Features(features)
    require_matrices(X.shape[0], n_matrices)
    return Dense(kernel(X), trusted=kernel.is_psd)


def require_matrices(n_samples: int, n_matrices: int = 1) -> None:
    """Raise MemoryError unless the matrices of a dense fit, and two more, can fit."""
    require_memory(
        (n_matrices + 2) * _FLOAT * n_samples**2,
        f"A fit on {n_samples} samples with a dense kernel matrix",
        "Fit on fewer rows, or use a kernel with features (kernel='linear') on fewer "
        "columns than rows.",
    )


def multiply_rows(
    kernel: Kernel | PerOutput, X: Any, training: Any, dual_coef: np.ndarray
) -> np.ndarray:
    """Return k(X, training) times dual_coef, (len(X), n_outputs).

    The kernel is evaluated in blocks of rows that fit into scikit-learn's
    ``working_memory``.

    Parameters
    ----------
    kernel : Kernel or PerOutput
        With its data-dependent parameters resolved.
    X, training : array or sparse matrix (., n_features)
        New and training rows.
    dual_coef : array (n_training, n_outputs)
        The right-hand side.
    """
    if isinstance(kernel, PerOutput):
        result = np.empty((X.shape[0], dual_coef.shape[1]))
        for term in kernel.terms():
            scaled = dual_coef[:, term.outputs] * term.scales
            result[:, term.outputs] = multiply_rows(term.kernel, X, training, scaled)
        return result
    features = kernel.features(training)
    if features is not None:
        return kernel.features(X) @ (features.T @ dual_coef)
    budget = int(get_config()["working_memory"] * 2**20)
    block = max(1, budget // (_FLOAT * max(training.shape[0], 1)))
    result = np.empty((X.shape[0], dual_coef.shape[1]))
    for rows in gen_batches(X.shape[0], block):
        result[rows] = kernel(X[rows], training) @ dual_coef
    return result
