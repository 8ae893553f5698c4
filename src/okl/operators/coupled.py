"""The kernel of observations that belong to one task each.

Two rows i and j of tasks t_i and t_j have the kernel K_ij L[t_i, t_j]: with L given,
observations in long form are a problem of a single output. A product is

    F_i = sum_t L[t_i, t] f_t(x_i),    f_t = sum over the rows j of task t of c_j k(., x_j)

and costs as much as one with K and a single column: `KernelOperator.functions` finds
all f_t, `KernelOperator.coupled` evaluates their mixtures, each where it is needed.
"""

from __future__ import annotations

from okl._array import Array, namespace
from okl._output_kernel import OutputKernel
from okl._tasks import Tasks
from okl.operators.base import KernelOperator, Products


class Coupled(Products):
    """K_ij L[t_i, t_j], never formed.

    Parameters
    ----------
    operator : KernelOperator
        K.
    tasks : Tasks
        t.
    output_kernel : OutputKernel
        L.
    """

    def __init__(
        self, operator: KernelOperator, tasks: Tasks, output_kernel: OutputKernel
    ) -> None:
        self._operator = operator
        self._tasks = tasks
        self._output_kernel = output_kernel.matrix()

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return self._operator.n_samples

    def __matmul__(self, right: Array) -> Array:
        """Return the product with a column (n_samples, 1)."""
        functions = self._operator.functions(self._tasks, right)
        return self._operator.coupled(functions, self._tasks, self._output_kernel)

    def diagonal(self) -> Array:
        """Return the diagonal."""
        own = namespace(self._output_kernel).linalg.diagonal(self._output_kernel)
        return self._operator.diagonal() * self._tasks.spread(own)

    def column(self, index: int) -> Array:
        """Return one column."""
        task = int(self._tasks.codes[index])
        shared = self._tasks.spread(self._output_kernel[:, task])
        return self._operator.column(index) * shared
