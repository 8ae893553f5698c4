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

from okl.coding.tasks import Tasks
from okl.numerics.arrays import Array, namespace
from okl.operators.centred_rows import CentredRows


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
    """Functions by the weights of features: K = Phi Phi'.

    Parameters
    ----------
    features : array (n_samples, n_features)
        Phi.
    tasks : Tasks
    """

    def __init__(self, features: Array, tasks: Tasks) -> None:
        super().__init__(None, tasks)
        if isinstance(features, np.ndarray):
            features = np.ascontiguousarray(features)  # rows are taken one by one
        self._features = features

    def functions(self, column: Array) -> Array:
        """Return C'Phi."""
        return self._tasks.aggregate(column, self._features)

    def coupled(self, functions: Array, output_kernel: Array) -> Array:
        """Return the product of each row with the weights of its own mixture."""
        own = self._tasks.rows(output_kernel @ functions)
        return namespace(own).sum(self._features * own, axis=1, keepdims=True)

    def gram(self, column: Array, functions: Array) -> Array:
        """Return the products of the weights."""
        return self.functions(column) @ functions.T


class SparseFeaturesByTask(ByTask):
    """Functions by the weights of sparse features: K = A A', A = Phi - r mu'.

    Parameters
    ----------
    rows : CentredRows
        A.
    tasks : Tasks
    """

    def __init__(self, rows: CentredRows, tasks: Tasks) -> None:
        super().__init__(None, tasks)
        self._rows = rows
        self._entries = rows.sparse.tocoo()

    def functions(self, column: Array) -> Array:
        """Return C'A."""
        weights = self._tasks.aggregate(column, self._rows.sparse)
        means, roots = self._rows.means, self._rows.roots
        if means is None:
            return weights
        counted = column if roots is None else roots[:, None] * column
        return weights - self._tasks.sums(counted)[:, None] * means

    def coupled(self, functions: Array, output_kernel: Array) -> Array:
        """Return the product of each row with the weights of its own mixture."""
        weights = output_kernel @ functions
        entries, codes = self._entries, self._tasks.codes
        products = entries.data * weights[codes[entries.row], entries.col]
        values = np.bincount(entries.row, products, minlength=len(codes))[:, None]
        means, roots = self._rows.means, self._rows.roots
        if means is None:
            return values
        shift = self._tasks.spread(weights @ means)
        return values - (shift if roots is None else roots[:, None] * shift)

    def gram(self, column: Array, functions: Array) -> Array:
        """Return the products of the weights."""
        return self.functions(column) @ functions.T
