"""Products with a matrix that has one entry a row, at the cost of one column.

With data in long form dual variables C (n_samples, n_tasks) have one entry a row, that
of the row's task, and of what multiplies them only the entries on the observations are
asked for. So a product takes two steps: for each task t the function

    f_t = sum over the rows j of task t of c_j k(., x_j),

and of mixtures of these the value at each row for the row's own task. A function is
represented by p numbers: its values at the rows, or what multiplies the features. Only
the classes here know which.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from okl._array import Array, namespace
from okl._tasks import Tasks


class ByTask:
    """Functions by their values at the rows, from products with K.

    Parameters
    ----------
    operator : KernelOperator
        K.
    tasks : Tasks
        The task of each row.
    """

    def __init__(self, operator: Any, tasks: Tasks) -> None:
        self._operator = operator
        self._tasks = tasks

    def functions(self, column: Array) -> Array:
        """Return f_t for each task (n_tasks, p), for a column c (n_samples, 1)."""
        return (self._operator @ self._tasks.scatter(column)).T

    def coupled(self, functions: Array, output_kernel: Array) -> Array:
        """Return sum_t L[t_i, t] f_t(x_i) at each row i, (n_samples, 1)."""
        mixed = self._tasks.rows(output_kernel) * functions.T
        return namespace(functions).sum(mixed, axis=1, keepdims=True)

    def gram(self, column: Array, functions: Array) -> Array:
        """Return <g_s, f_t> (n_tasks, n_tasks), g the functions of a column."""
        return self._tasks.aggregate(column, functions.T)


class DenseByTask(ByTask):
    """Functions by their values at the rows, in one pass over a stored matrix.

    Parameters
    ----------
    matrix : array (n_samples, n_samples)
        K.
    tasks : Tasks
    """

    def __init__(self, matrix: Array, tasks: Tasks) -> None:
        super().__init__(None, tasks)
        # rows are taken one by one, and are columns as well
        transposed = isinstance(matrix, np.ndarray) and matrix.flags.f_contiguous
        self._matrix = matrix.T if transposed else matrix

    def functions(self, column: Array) -> Array:
        """Return C'K."""
        return self._tasks.aggregate(column, self._matrix)


class FeaturesByTask(ByTask):
    """Functions by the weights of features: K = (Phi - r mu') (Phi - r mu')'.

    Parameters
    ----------
    features : array or SciPy sparse matrix (n_samples, n_features)
        Phi.
    means : array (n_features,) or None
        mu; None for zero.
    roots : array (n_samples, 1) or None
        r; None for one.
    tasks : Tasks
    """

    def __init__(
        self, features: Any, means: Array | None, roots: Array | None, tasks: Tasks
    ) -> None:
        super().__init__(None, tasks)
        if isinstance(features, np.ndarray):
            features = np.ascontiguousarray(features)  # rows are taken one by one
        self._features = features
        self._means = means
        self._roots = roots

    def functions(self, column: Array) -> Array:
        """Return C'(Phi - r mu')."""
        weights = self._tasks.aggregate(column, self._features)
        if self._means is None:
            return weights
        counted = column if self._roots is None else self._roots * column
        return weights - self._tasks.sums(counted)[:, None] * self._means

    def coupled(self, functions: Array, output_kernel: Array) -> Array:
        """Return the product of each row with the weights of its own mixture."""
        weights = output_kernel @ functions
        values = self._own_products(weights)
        if self._means is None:
            return values
        shift = self._tasks.spread(weights @ self._means)
        return values - (shift if self._roots is None else self._roots * shift)

    def _own_products(self, weights: Array) -> Array:
        """Return the product of each row of Phi with the weights of its own task."""
        if not scipy.sparse.issparse(self._features):
            own = self._tasks.rows(weights)
            return namespace(own).sum(self._features * own, axis=1, keepdims=True)
        entries = self._features.tocoo()
        own = weights[self._tasks.codes[entries.row], entries.col]
        n_samples = self._features.shape[0]
        products = entries.data * own
        return np.bincount(entries.row, products, minlength=n_samples)[:, None]

    def gram(self, column: Array, functions: Array) -> Array:
        """Return the products of the weights."""
        return self.functions(column) @ functions.T
