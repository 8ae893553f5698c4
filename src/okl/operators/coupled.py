"""The kernel of observations that belong to one task each.

Two rows i and j of tasks t_i and t_j have the kernel K_ij L[t_i, t_j]: with L given,
observations in long form are a problem of a single output. A product costs as much as
one with K and a single column, see `okl.operators.by_task`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from okl.coding.tasks import Tasks
from okl.numerics.arrays import Array, namespace
from okl.operators.base import KernelOperator
from okl.operators.joint import JointOperator
from okl.operators.low_rank import NystroemFactor
from okl.output_kernels import OutputKernel, SpectralKernel

# Columns of the factor of K in preconditioners, each of which is multiplied by columns
# of a factor of L.
_COLUMNS = 100


class OneTaskPerRow:
    """A kernel matrix and the task of each row, and what is the same for every L.

    Parameters
    ----------
    operator : KernelOperator
        K.
    tasks : Tasks
        t.
    """

    def __init__(self, operator: KernelOperator, tasks: Tasks) -> None:
        self.operator = operator
        self.tasks = tasks
        self.by_task = operator.by_task(tasks)

    @cached_property
    def factor(self) -> Array:
        """R (n_samples, k) with K ~ R R', the longest columns first."""
        return self.operator.low_rank(_COLUMNS).factors[0]


class Coupled(JointOperator):
    """K_ij L[t_i, t_j], never formed: dual variables are one column.

    Parameters
    ----------
    rows : OneTaskPerRow
        K and t.
    output_kernel : OutputKernel
        L.
    """

    def __init__(self, rows: OneTaskPerRow, output_kernel: OutputKernel) -> None:
        self._rows = rows
        self._factor = output_kernel.factor()
        self._matrix = output_kernel.matrix()
        # L is in the columns of `low_rank`
        one = namespace(self._matrix).ones((1,), dtype=self._matrix.dtype)
        self.output_kernel = SpectralKernel(one)

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return self._rows.operator.n_samples

    @property
    def work(self) -> float:
        """The multiplications of a product."""
        return self._rows.operator.work

    def __matmul__(self, dual: Array) -> Array:
        """Return the product with a column (n_samples, 1)."""
        by_task = self._rows.by_task
        return by_task.coupled(by_task.functions(dual), self._matrix)

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal (n_samples, 1)."""
        own = namespace(self._matrix).linalg.diagonal(self._matrix)
        return (self._rows.operator.diagonal() * self._rows.tasks.rows(own))[:, None]

    def block(self, rows: Array, outputs: Any) -> Array:
        """Return the entries between some rows, (k, k)."""
        xp = namespace(self._matrix)
        chosen = xp.asarray(self._rows.tasks.restrict(rows).codes)
        shared = xp.take(xp.take(self._matrix, chosen, axis=0), chosen, axis=1)
        return self._rows.operator.block(rows) * shared

    def low_rank(self, rank: int) -> NystroemFactor:
        """Return R with R R' close to this matrix, of at most so many columns.

        Each is a column of a factor of K, multiplied in each row by the entry of the
        row's task in a column of a factor of L. The longest of all these are kept.
        """
        xp = namespace(self._matrix)
        columns = self._rows.factor
        outputs = self._rows.tasks.rows(self._factor)
        squares = (columns * columns).T @ (outputs * outputs)
        longest = xp.flip(xp.argsort(xp.reshape(squares, (-1,))))[:rank]
        n_directions = outputs.shape[1]
        left = xp.take(columns, longest // n_directions, axis=1)
        right = xp.take(outputs, longest % n_directions, axis=1)
        return NystroemFactor((left * right,))
