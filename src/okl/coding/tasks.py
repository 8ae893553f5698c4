"""Rows that belong to one task each: the long form of several outputs.

In long form an observation is a row x_i, the number t_i of its output, called a task,
and one target. This is a target matrix (n_samples, n_tasks) with one entry in each row,
and the dual variables C are such a matrix as well. C is kept as the column c of its
entries, which takes no more memory than one number for each row. Here are the
operations on such matrices that solvers need: sums over the rows of each task, a number
for each task spread over its rows, and products C'M.

The rows of a task share an intercept, as the entries of a column of a target matrix do:
`Tasks` and `ColumnSharing` are the two ways to share one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse

from okl.numerics.arrays import Array, column_sums, is_numpy, namespace
from okl.output_kernels import OutputKernel


class Sharing(Protocol):
    """Which entries of an array share an intercept."""

    def sums(self, rows: Array) -> Array:
        """Return the sum over all entries that share an intercept, (n_outputs,)."""

    def spread(self, values: Array) -> Array:
        """Return numbers, one per intercept, so that they can be added to the array."""


class ColumnSharing:
    """The entries of each column share an intercept."""

    def sums(self, rows: Array) -> Array:
        """Return the column sums."""
        return column_sums(rows)

    def spread(self, values: Array) -> Array:
        """Return the numbers, which broadcast."""
        return values


COLUMNS = ColumnSharing()


@dataclass(frozen=True)
class Tasks:
    """The task of each row.

    Attributes
    ----------
    codes : array of int (n_samples,)
        t_i, from 0 to n_tasks - 1; a NumPy array, whatever the namespace of the rest.
    n_tasks : int
        The number of tasks; some may have no rows.
    """

    codes: np.ndarray
    n_tasks: int

    def restrict(self, rows: Any) -> Tasks:
        """Return the tasks of some rows."""
        return Tasks(self.codes[rows], self.n_tasks)

    @cached_property
    def _order(self) -> np.ndarray:
        """The rows, task by task."""
        return np.argsort(self.codes, kind="stable")

    @cached_property
    def _first(self) -> np.ndarray:
        """The positions in `_order` where tasks begin, and where the last one ends."""
        counts = np.bincount(self.codes, minlength=self.n_tasks)
        return np.concatenate([[0], np.cumsum(counts)])

    def groups(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield each task that has rows, with the numbers of its rows."""
        for task in np.flatnonzero(np.diff(self._first)).tolist():
            yield task, self._order[self._first[task] : self._first[task + 1]]

    def spread(self, values: Array) -> Array:
        """Return values (n_tasks,) at the task of each row, (n_samples, 1)."""
        return self.rows(values)[:, None]

    def rows(self, values: Array) -> Array:
        """Return the row of an array (n_tasks, ...) for the task of each row."""
        xp = namespace(values)
        return xp.take(values, xp.asarray(self.codes), axis=0)

    def scatter(self, column: Array) -> Array:
        """Return the matrix C (n_samples, n_tasks) of a column c (n_samples, 1).

        For a matrix (n_samples, n_tasks) all entries but each row's own become zero.
        """
        xp = namespace(column)
        own = xp.asarray(self.codes)[:, None] == xp.arange(self.n_tasks)
        return xp.where(own, column, xp.zeros_like(column))

    def own(self, matrix: Array) -> Array:
        """Return each row's own entry of a matrix (n_samples, n_tasks), as a column."""
        xp = namespace(matrix)
        return xp.sum(self.scatter(matrix), axis=1, keepdims=True)

    def aggregate(self, column: Array, matrix: Any) -> Array:
        """Return C'M (n_tasks, p) for a column c (n_samples, 1) and M (n_samples, p).

        It costs O(n_samples p); M may be sparse.
        """
        if not is_numpy(column):
            return self.scatter(column).T @ matrix
        entries = (column[self._order, 0], self._order, self._first)
        shape = (self.n_tasks, len(self.codes))
        return _dense(scipy.sparse.csr_array(entries, shape=shape) @ matrix)

    def times(self, matrix: Any, column: Array) -> Array:
        """Return M C (k, n_tasks) for M (k, n_samples) and a column c."""
        if not is_numpy(column):
            return matrix @ self.scatter(column)
        entries = (column[:, 0], self.codes, np.arange(len(self.codes) + 1))
        shape = (len(self.codes), self.n_tasks)
        return _dense(matrix @ scipy.sparse.csr_array(entries, shape=shape))

    def sums(self, column: Array) -> Array:
        """Return the sum of a column (n_samples, 1) over each task, (n_tasks,)."""
        if is_numpy(column):
            return np.bincount(self.codes, column[:, 0], minlength=self.n_tasks)
        return namespace(column).sum(self.scatter(column), axis=0)


def _dense(matrix: Any) -> Array:
    return matrix.toarray() if scipy.sparse.issparse(matrix) else matrix


@dataclass(frozen=True)
class LongCoefficients:
    """Theta = C L D (n_samples, n_tasks), not formed, for a C with one entry a row.

    It can be multiplied from the left as if it were the array, which `dense` returns.

    Attributes
    ----------
    column : array (n_samples, 1)
        c.
    tasks : Tasks
        The task of each row.
    output_kernel : OutputKernel
        L.
    scale : array (n_tasks,) or None
        The diagonal of D; None for the identity.
    """

    column: Array
    tasks: Tasks
    output_kernel: OutputKernel
    scale: Array | None = None

    # NumPy arrays leave products with this object to its methods
    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_tasks)."""
        return int(self.column.shape[0]), self.tasks.n_tasks

    def __rmatmul__(self, left: Any) -> Array:
        """Return M C L D for M (k, n_samples) or (n_samples,)."""
        if left.ndim == 1:
            return (left[None, :] @ self)[0, :]
        return self._scaled(
            self.output_kernel.multiply(self.tasks.times(left, self.column))
        )

    def __mul__(self, scale: Array) -> LongCoefficients:
        """Return Theta with its columns multiplied by numbers (n_tasks,)."""
        return replace(self, scale=self._scaled(scale))

    def dense(self) -> Array:
        """Return the array."""
        return self._scaled(
            self.output_kernel.multiply(self.tasks.scatter(self.column))
        )

    def _scaled(self, rows: Array) -> Array:
        """Return rows times D, one column for each task."""
        return rows if self.scale is None else rows * self.scale
