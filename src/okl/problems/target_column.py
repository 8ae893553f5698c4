"""What solvers do with dual variables of data in long form: one target a row.

Targets, predictions and dual variables c are columns (n_samples, 1), each row stands
for the entry of a target matrix that its task names, and the rows of a task share an
intercept.
"""

from __future__ import annotations

from typing import Any

from okl.coding.tasks import LongCoefficients, Tasks
from okl.losses.base import Curvature
from okl.numerics.arrays import Array, namespace
from okl.operators import Coupled, JointOperator, OneTaskPerRow
from okl.output_kernels import OutputKernel
from okl.problems.target_matrix import TargetMatrix


class TargetColumn(TargetMatrix):
    """Sums, products and intercepts for dual variables (n_samples, 1)."""

    rows: OneTaskPerRow
    centered: bool

    @property
    def tasks(self) -> Tasks:
        """The task of each row."""
        return self.rows.tasks

    def gram(self, left: Array, right: Array) -> Array:
        """Return C'KD (n_tasks, n_tasks) for two columns of dual variables."""
        by_task = self.rows.by_task
        return by_task.gram(left, by_task.functions(right))

    def against(self, features: Array, dual: Array) -> Array:
        """Return R'C (k, n_tasks) for R (n_samples, k) and a column c."""
        return self.tasks.aggregate(dual, features).T

    def joint(self, kernel: OutputKernel) -> JointOperator:
        """Return what maps a column of dual variables to predictions, L given."""
        return Coupled(self.rows, kernel)

    def theta(self, dual: Array, kernel: OutputKernel) -> LongCoefficients:
        """Return C L (n_samples, n_tasks), not formed."""
        return LongCoefficients(dual, self.tasks, kernel)

    def balanced_theta(self, dual: Array, kernel: OutputKernel) -> LongCoefficients:
        """Return C L, the dual variables of each task with a sum of zero."""
        return self.theta(self.balanced(dual), kernel)

    def predictions(self, theta: LongCoefficients) -> Array:
        """Return those of a model for each row's own task, without the intercept."""
        return self.joint(theta.output_kernel) @ theta.column

    def predictions_at(self, theta: LongCoefficients, rows: Any) -> Array:
        """Return those of a model in some rows, given by number."""
        predictions = self.predictions(theta)
        return namespace(predictions).take(predictions, rows, axis=0)

    def sums(self, rows: Array) -> Array:
        """Return the sum over the rows of each task (n_tasks,)."""
        return self.tasks.sums(rows)

    def spread(self, values: Array) -> Array:
        """Return one number a task at the rows of each, (n_samples, 1)."""
        return self.tasks.spread(values)

    def best_intercept(self, predictions: Array, loss: Any = None) -> Array:
        """Return the b (n_tasks,) that minimises the loss; 0 for a task without rows.

        Losses that are no sum over outputs cannot be asked for it.
        """
        loss = loss or self.loss
        return loss.best_shared(self.targets, predictions, self.weights, self.tasks)

    def solve_total(self, curvature: Curvature, sums: Array) -> Array:
        """Divide by the sums of W, which must be diagonal."""
        total = self.sums(curvature.diagonal)
        xp = namespace(total)
        safe = xp.where(total > 0, total, xp.ones_like(total))
        return xp.where(total > 0, sums / safe, xp.zeros_like(total))

    def sharers(self, rows: Array, outputs: Array) -> Array:
        """Return the tasks of these rows."""
        return namespace(rows).take(namespace(rows).asarray(self.tasks.codes), rows)

    def balanced(self, dual_coef: Array) -> Array:
        """Return a column that sums to zero over each task if there is an intercept."""
        if not self.centered:
            return dual_coef
        counts = self.sums(namespace(dual_coef).ones_like(dual_coef))
        counts = namespace(counts).clip(counts, 1.0, None)
        return dual_coef - self.spread(self.sums(dual_coef) / counts)
