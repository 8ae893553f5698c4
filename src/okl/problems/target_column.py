r"""Dual variables of data in long form, where each row has one task and one target.

.. math:: F_i = \sum_j K_{ij} L_{t_i t_j} c_j + b_{t_i}

This is the problem of a target matrix of which one entry in each row is observed, at
the cost of a single output: targets, predictions and dual variables c are columns
(n_samples, 1), the operator that maps dual variables to predictions is
`okl.operators.Coupled`, and the rows of a task share an intercept.

K may be centred as a whole: where the dual variables of each task sum to zero, centring
changes the predictions of a task by a constant, and so its intercept alone.
"""

from __future__ import annotations

from typing import Any

from okl.certificates.entries import EntryColumn
from okl.coding.tasks import LongCoefficients
from okl.losses.base import Curvature
from okl.numerics.arrays import Array, namespace
from okl.operators import Coupled, JointOperator, KernelOperator, OneTaskPerRow
from okl.output_kernels import OutputKernel


class TargetColumn(EntryColumn):
    """Products and sums for dual variables (n_samples, 1).

    Parameters
    ----------
    rows : OneTaskPerRow
        K, the task of each row, and what all products have in common.
    """

    def __init__(self, rows: OneTaskPerRow) -> None:
        super().__init__(rows.tasks, rows.by_task)
        self._rows = rows

    @property
    def operator(self) -> KernelOperator:
        """K."""
        return self._rows.operator

    def like_outputs(self, targets: Array) -> Array:
        """Return an array with one column a task."""
        shape = (1, self.tasks.n_tasks)
        return namespace(targets).zeros(shape, dtype=targets.dtype)

    def from_matrix(self, matrix: Array) -> Array:
        """Return each row's own entry of an array (n_samples, n_tasks), as a column."""
        return self.tasks.own(matrix)

    def joint(self, kernel: OutputKernel) -> JointOperator:
        """Return what maps a column of dual variables to predictions, L given."""
        return Coupled(self._rows, kernel)

    def theta(self, dual: Array, kernel: OutputKernel) -> LongCoefficients:
        """Return C L (n_samples, n_tasks), not formed."""
        return LongCoefficients(dual, self.tasks, kernel)

    def balanced_theta(self, dual: Array, kernel: OutputKernel) -> LongCoefficients:
        """Return C L, the dual variables of each task with a sum of zero."""
        return self.theta(self.balanced(dual), kernel)

    def offset(self, means: Array, theta: LongCoefficients) -> Array:
        """Return what centring the kernel subtracts from the scores (n_tasks,)."""
        return means @ theta

    def predictions(self, theta: LongCoefficients) -> Array:
        """Return predictions for each row's own task, without the intercept."""
        return self.joint(theta.output_kernel) @ theta.column

    def predictions_at(self, theta: LongCoefficients, rows: Any) -> Array:
        """Return the predictions of some rows, given by number."""
        predictions = self.predictions(theta)
        return namespace(predictions).take(predictions, rows, axis=0)

    def squared_lengths(self, dual: Array, kernel: OutputKernel, rows: Any) -> Array:
        """Return ``c_i^2 L[t_i, t_i]`` for the dual variables of some rows (k,)."""
        return (dual * dual * self.spread(kernel.diagonal(), rows))[:, 0]

    def against(self, features: Array, dual: Array) -> Array:
        """Return R'C (k, n_tasks) for R (n_samples, k) and a column c."""
        return self.tasks.aggregate(dual, features).T

    def solve_total(self, curvature: Curvature, sums: Array) -> Array:
        """Divide by the sum of W over each task, or return 0; W must be diagonal."""
        total = self.sums(curvature.diagonal)
        xp = namespace(total)
        safe = xp.where(total > 0, total, xp.ones_like(total))
        return xp.where(total > 0, sums / safe, xp.zeros_like(total))

    def intercepts_of(self, columns: slice) -> slice:
        """Return the numbers of the intercepts of the column: one a task."""
        return slice(0, self.tasks.n_tasks)

    def intercept_groups(self, rows: Array, columns: Array) -> Array:
        """Return the tasks of these rows."""
        xp = namespace(rows)
        return xp.take(xp.asarray(self.tasks.codes), rows)
