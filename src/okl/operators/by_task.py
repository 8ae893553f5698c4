"""Products with a matrix that has one entry a row, at the cost of one column.

With data in long form dual variables C (n_samples, n_tasks) have one entry a row, that
of the row's task, and of the products K C L, too, only that entry of each row is asked
for. Such a product takes two steps. The first finds for each task t the function

    f_t = sum over the rows j of task t of c_j k(., x_j),

and the second evaluates at each row, of task s, the mixture sum_t L[s, t] f_t alone. A
function is represented by p numbers: its values at the rows, or its weights of the
features. Only the classes here know which. The rows where functions are evaluated are
those that they are made of, or others: rows that were held out, or new ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from okl.coding.tasks import LongCoefficients, Tasks
from okl.numerics.arrays import Array, namespace
from okl.operators.centred_rows import CentredRows


class ByTask:
    """Functions by their values at the rows, from products with K.

    Parameters
    ----------
    operator : object
        K, or the block of K between other rows and the n_samples that functions are
        made of: what multiplies an array (n_samples, n_tasks).
    tasks : Tasks
        The task of each row that functions are made of.
    at : Tasks, optional
        Those of the rows where they are evaluated; None for the same rows.
    """

    def __init__(self, operator: Any, tasks: Tasks, at: Tasks | None = None) -> None:
        self._operator = operator
        self._tasks = tasks
        self._at = tasks if at is None else at

    def functions(self, column: Array) -> Array:
        """Return f_t for each task (n_tasks, p), for a column c (n_samples, 1)."""
        return (self._operator @ self._tasks.scatter(column)).T

    def coupled(self, functions: Array, output_kernel: Array) -> Array:
        """Return sum_t L[s_i, t] f_t(x_i) at each row i of task s_i, (n, 1).

        L has a row for each task of the rows where functions are evaluated.
        """
        mixed = self._at.rows(output_kernel) * functions.T
        return namespace(functions).sum(mixed, axis=1, keepdims=True)

    def gram(self, column: Array, functions: Array) -> Array:
        """Return <g_s, f_t> (n_tasks, n_tasks), g the functions of a column."""
        return self._tasks.aggregate(column, functions.T)

    def __matmul__(self, theta: LongCoefficients) -> Array:
        """Return the predictions of a model, for each row of its own task, (n, 1)."""
        functions = self.functions(theta.column)
        values = self.coupled(functions, theta.output_kernel.matrix())
        return values if theta.scale is None else values * self._at.spread(theta.scale)


class DenseByTask(ByTask):
    """Functions by their values at the rows, in one pass over a stored matrix.

    Parameters
    ----------
    matrix : array (n_samples, n)
        K, or its entries between the rows that functions are made of and others.
    tasks, at
        As in `ByTask`.
    """

    def __init__(self, matrix: Array, tasks: Tasks, at: Tasks | None = None) -> None:
        super().__init__(None, tasks, at)
        # rows are read one by one; of a symmetric matrix they are columns as well
        symmetric = at is None and isinstance(matrix, np.ndarray)
        self._matrix = matrix.T if symmetric and matrix.flags.f_contiguous else matrix

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
        As in `ByTask`.
    elsewhere : tuple (array (n, n_features), Tasks), optional
        The features and tasks of the rows where functions are evaluated.
    """

    def __init__(
        self,
        features: Array,
        tasks: Tasks,
        elsewhere: tuple[Array, Tasks] | None = None,
    ) -> None:
        super().__init__(None, tasks, elsewhere and elsewhere[1])
        if isinstance(features, np.ndarray):
            features = np.ascontiguousarray(features)  # rows are taken one by one
        self._features = features
        self._there = features if elsewhere is None else elsewhere[0]

    def functions(self, column: Array) -> Array:
        """Return C'Phi."""
        return self._tasks.aggregate(column, self._features)

    def coupled(self, functions: Array, output_kernel: Array) -> Array:
        """Return the product of each row with the weights of its own mixture."""
        own = self._at.rows(output_kernel @ functions)
        return namespace(own).sum(self._there * own, axis=1, keepdims=True)

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
        As in `ByTask`.
    elsewhere : tuple (CentredRows, Tasks), optional
        The features and tasks of the rows where functions are evaluated.
    """

    def __init__(
        self,
        rows: CentredRows,
        tasks: Tasks,
        elsewhere: tuple[CentredRows, Tasks] | None = None,
    ) -> None:
        super().__init__(None, tasks, elsewhere and elsewhere[1])
        self._rows = rows
        self._there = rows if elsewhere is None else elsewhere[0]
        self._entries = self._there.sparse.tocoo()

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
        entries, codes = self._entries, self._at.codes
        products = entries.data * weights[codes[entries.row], entries.col]
        values = np.bincount(entries.row, products, minlength=len(codes))[:, None]
        means, roots = self._there.means, self._there.roots
        if means is None:
            return values
        shift = self._at.spread(weights @ means)
        return values - (shift if roots is None else roots[:, None] * shift)

    def gram(self, column: Array, functions: Array) -> Array:
        """Return the products of the weights."""
        return self.functions(column) @ functions.T
