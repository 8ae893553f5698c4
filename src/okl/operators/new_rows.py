"""Products of the kernel between new rows and training rows, with coefficients.

The kernel is evaluated in blocks of rows that fit into scikit-learn's
``working_memory``, or not at all where it has few features.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse

from okl.coding.tasks import LongCoefficients, Tasks
from okl.kernels import Kernel, KernelTerms, PerOutput
from okl.numerics.memory import blocks_of_rows, working_memory
from okl.operators.by_task import (
    ByTask,
    DenseByTask,
    FeaturesByTask,
    SparseFeaturesByTask,
)
from okl.operators.centred_rows import CentredRows

_FLOAT = 8  # bytes


def multiply_rows(
    kernel: Kernel | PerOutput | KernelTerms, X: Any, training: Any, dual_coef: Any
) -> np.ndarray:
    """Return k(X, training) times dual_coef, (len(X), n_outputs).

    Parameters
    ----------
    kernel : Kernel, PerOutput or KernelTerms
        With its data-dependent parameters resolved.
    X, training : array or sparse matrix (., n_features)
        New and training rows.
    dual_coef : array (n_training, n_outputs), or TermCoefficients
        The right-hand side, of several kernels one for each. That of a `Row` is not
        used: rows are new ones.
    """
    if isinstance(kernel, KernelTerms):
        pairs = zip(kernel.of_inputs, dual_coef.parts, strict=False)
        products = [multiply_rows(one, X, training, part) for one, part in pairs]
        return np.sum(products, axis=0)
    if isinstance(kernel, PerOutput):
        result = np.empty((X.shape[0], dual_coef.shape[1]))
        for term in kernel.terms():
            scaled = dual_coef[:, term.outputs] * term.scales
            result[:, term.outputs] = multiply_rows(term.kernel, X, training, scaled)
        return result
    features = kernel.features(training)
    if features is not None and _by_features(features, dual_coef):
        return kernel.features(X) @ (features.T @ dual_coef)
    result = np.empty((X.shape[0], dual_coef.shape[1]))
    for rows in blocks_of_rows(X.shape[0], _FLOAT * training.shape[0]):
        result[rows] = kernel(X[rows], training) @ dual_coef
    return result


def multiply_own(
    kernel: Kernel | str, X: Any, training: Any, theta: LongCoefficients, tasks: Tasks
) -> np.ndarray:
    """Return k(X, training) times Theta, in each row for its own task, (len(X), 1).

    That costs what a single output does, however many tasks there are.

    Parameters
    ----------
    kernel : Kernel or "precomputed"
        With its data-dependent parameters resolved.
    X : array or sparse matrix (n, n_features)
        New rows; ``k(X, training)`` itself if it is precomputed.
    training : array or sparse matrix (n_training, n_features)
        Training rows.
    theta : LongCoefficients
    tasks : Tasks
        The task of each new row.
    """
    # only the rows of L for the tasks that are asked for
    distinct, codes = np.unique(tasks.codes, return_inverse=True)
    between = theta.output_kernel.rows(distinct)
    result = np.empty((X.shape[0], 1))
    for rows, by_task in _by_task(
        kernel, X, training, theta, Tasks(codes, len(distinct))
    ):
        functions = by_task.functions(theta.column)
        result[rows] = by_task.coupled(functions, between)
    return result if theta.scale is None else result * tasks.spread(theta.scale)


def _by_task(
    kernel: Any, X: Any, training: Any, theta: LongCoefficients, tasks: Tasks
) -> Iterator[tuple[slice, ByTask]]:
    """Yield blocks of new rows, and what multiplies coefficients there."""
    precomputed = isinstance(kernel, str)
    features = None if precomputed else kernel.features(training)
    if features is not None and _by_features(features, theta):
        kind: Any = FeaturesByTask
        there = kernel.features(X)
        if issparse(features):
            kind = SparseFeaturesByTask
            features, there = CentredRows(features), CentredRows(there)
        yield slice(None), kind(features, theta.tasks, (there, tasks))
        return
    for rows in blocks_of_rows(X.shape[0], _FLOAT * len(theta.column)):
        block = X[rows] if precomputed else kernel(X[rows], training)
        yield rows, DenseByTask(block.T, theta.tasks, tasks.restrict(rows))


def _by_features(features: Any, dual_coef: Any) -> bool:
    """Tell whether to multiply by features (n_samples, n_features) one by one.

    Their coefficients (n_features, n_outputs) are formed on the way: fewer than the
    dual coefficients, or, where features are sparse, as many as fit.
    """
    n_samples, n_features = features.shape
    if n_features <= n_samples:
        return True
    size = _FLOAT * n_features * dual_coef.shape[1]
    return issparse(features) and size <= working_memory()
