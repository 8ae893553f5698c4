r"""The problem of observations in long form: one task, and one target, a row.

.. math:: F_i = \sum_j K_{ij} L_{t_i t_j} c_j + b_{t_i}

It is the problem with a target matrix of which one entry a row is observed, at the cost
of one output: dual variables are a column, the operator that maps them to predictions
is `okl.operators.Coupled`, and the rows of a task share an intercept.

K may be centred as a whole: where the dual variables of each task sum to zero, what
that takes from a prediction is a constant of its task.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from okl.certificates import Certificate
from okl.certificates.task_bounds import Observations
from okl.losses import Loss
from okl.numerics.arrays import Array, namespace
from okl.operators import OneTaskPerRow
from okl.output_kernels import OutputKernel
from okl.problems.problem import Problem
from okl.problems.target_column import TargetColumn


@dataclass(frozen=True, kw_only=True)
class LongProblem(TargetColumn, Problem):
    """A loss, one target a row, its task, and terms.

    Attributes
    ----------
    targets : array (n_samples, 1)
        The target of each row.
    weights : array (n_samples, 1) or None
        What multiplies the loss of each row.
    rows : OneTaskPerRow
        The task of each row, and what serves all products.
    """

    rows: OneTaskPerRow
    long: ClassVar[bool] = True

    @property
    def exact(self) -> bool:
        """No: not every output is observed in every row."""
        return False

    @property
    def n_outputs(self) -> int:
        """The number of tasks."""
        return self.tasks.n_tasks

    def known(self) -> OutputKernel | None:
        """Return L if the structure fixes it."""
        return self.structure.known(self._like_outputs)

    def largest_eigenvalue(self) -> float:
        """Return the largest eigenvalue that L may have."""
        return self.structure.largest_eigenvalue(self._like_outputs)

    @property
    def _like_outputs(self) -> Array:
        """An array with one column a task."""
        dtype = self.targets.dtype
        return namespace(self.targets).zeros((1, self.n_outputs), dtype=dtype)

    def certificate(
        self,
        dual_coef: Any,
        output_kernel: OutputKernel,
        alpha: float,
        *,
        tol: float,
        rank_limited: bool = False,
        intercept: Array | float = 0.0,
        dual_point: Array | None = None,
        predictions: Array | None = None,
    ) -> Certificate:
        """Certify a model of this problem: Theta from `theta`, L, b (n_tasks,).

        And alpha c (n_samples, 1), for a loss with kinks. Predictions without
        the intercept are K Theta, or given as they were evaluated.
        """
        observations = Observations(
            self.tasks,
            self.targets,
            self.weights,
            self.loss,
            self.structure,
            self.gram,
            self._best_offsets if self.centered else None,
        )
        primal, dual = observations.bounds(
            dual_coef.column,
            self.predictions(dual_coef) if predictions is None else predictions,
            output_kernel,
            alpha=alpha,
            intercept=self.spread(intercept) if self.centered else 0.0,
            dual_point=dual_point,
        )
        return Certificate.of(
            primal, dual, self.reference, tol=tol, rank_limited=rank_limited
        )

    def _best_offsets(self, loss: Loss, predictions: Array) -> Array:
        return self.spread(self.best_intercept(predictions, loss))
