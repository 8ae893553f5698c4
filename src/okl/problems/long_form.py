r"""The problem of observations in long form: one task, and one target, a row.

.. math:: F_i = \sum_j K_{ij} L_{t_i t_j} c_j + b_{t_i}

It is the problem with a target matrix of which one entry a row is observed, at the cost
of one output. With L given it is a problem of a single output, with the operator
`okl.operators.Coupled`, in which the rows of a task share an intercept.

K may be centred as a whole: where the dual variables of each task sum to zero, what
that takes from a prediction is a constant of its task.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from okl._array import Array, namespace
from okl._output_kernel import OutputKernel
from okl._tasks import LongCoefficients, Tasks
from okl.certificate import Certificate
from okl.losses.base import Curvature
from okl.operators import Coupled, KernelOperator, OneTaskPerRow
from okl.problems.problem import Problem, Term
from okl.structures import Identity
from okl.task_bounds import Observations


@dataclass(frozen=True, kw_only=True)
class LongProblem(Problem):
    """A loss, one target a row, its task, and terms.

    Attributes
    ----------
    targets : array (n_samples, 1)
        The target of each row.
    weights : array (n_samples, 1) or None
        What multiplies the loss of each row.
    tasks : Tasks
        The task of each row.
    """

    tasks: Tasks
    long: ClassVar[bool] = True

    @property
    def exact(self) -> bool:
        """No: not every output is observed in every row."""
        return False

    @cached_property
    def _rows(self) -> OneTaskPerRow:
        operator = self.operator
        assert isinstance(operator, KernelOperator)
        return OneTaskPerRow(operator, self.tasks)

    @property
    def n_outputs(self) -> int:
        """The number of tasks."""
        return self.tasks.n_tasks

    def known(self) -> OutputKernel | None:
        """Return L if the structure fixes it."""
        xp = namespace(self.targets)
        like = xp.zeros((1, self.n_outputs), dtype=self.targets.dtype)
        return self.structure.known(like)

    def given(self, kernel: OutputKernel) -> tuple[Problem, OutputKernel]:
        """Return the problem of f alone, of a single output, and its L of one."""
        one = OutputKernel(namespace(self.targets).ones((1,), dtype=self.targets.dtype))
        coupled: Any = Coupled(self._rows, kernel)
        problem = _GivenOutputKernel(
            self.loss,
            self.targets,
            (Term(coupled, Identity()),),
            self.centered,
            self.reference,
            self.weights,
            tasks=self.tasks,
            whole=self,
            kernel=kernel,
        )
        return problem, one

    def gram(self, left: Array, right: Array) -> Array:
        """Return C'KD (n_tasks, n_tasks) for two columns of dual variables."""
        by_task = self._rows.by_task
        return by_task.gram(left, by_task.functions(right))

    def against(self, features: Array, dual: Array) -> Array:
        """Return R'C (k, n_tasks) for R (n_samples, k) and a column c."""
        return self.tasks.aggregate(dual, features).T

    def coefficients(self, dual_coef: Array, kernel: OutputKernel) -> LongCoefficients:
        """Return Theta = C L (n_samples, n_tasks), not formed."""
        return LongCoefficients(dual_coef, self.tasks, kernel)

    def sums(self, rows: Array) -> Array:
        """Return the sum over the rows of each task (n_tasks,)."""
        return self.tasks.sums(rows)

    def spread(self, values: Array) -> Array:
        """Return one number a task at the rows of each, (n_samples, 1)."""
        return self.tasks.spread(values)[:, None]

    def best_intercept(self, predictions: Array) -> Array:
        """Return the b (n_tasks,) that minimises the loss; 0 for a task without rows.

        Tasks stand side by side as outputs, their empty places with a weight of zero.
        """
        xp = namespace(predictions)
        ones = xp.ones_like(predictions) if self.weights is None else self.weights
        padding = xp.zeros((1, 1), dtype=predictions.dtype)
        columns = [
            xp.concat([column, padding])[:, 0]
            for column in (self.targets, predictions, ones)
        ]
        parts: list[Array] = []
        position = np.full(self.n_outputs, -1)
        for numbers, rows in self.tasks.side_by_side():
            places = xp.asarray(rows.ravel())
            tables = [
                xp.reshape(xp.take(column, places), rows.shape) for column in columns
            ]
            position[numbers] = sum(part.shape[0] for part in parts) + np.arange(
                len(numbers)
            )
            parts.append(self.loss.best_intercept(*tables))
        found = xp.concat([*parts, padding[:, 0]])
        position[position < 0] = found.shape[0] - 1
        return xp.take(found, xp.asarray(position))

    def balancing(self, curvature: Curvature) -> Callable[[Array], Array]:
        """Return the projection on what V maps to sums of zero over each task."""
        total = self.sums(curvature.diagonal)
        xp = namespace(total)
        safe = xp.where(total > 0, total, xp.ones_like(total))

        def project(right: Array) -> Array:
            sums = self.sums(curvature.factor(right))
            return right - curvature.adjoint(self.spread(sums / safe))

        return project

    def balanced(self, dual_coef: Array) -> Array:
        """Return a column that sums to zero over each task if there is an intercept."""
        if not self.centered:
            return dual_coef
        counts = self.sums(namespace(dual_coef).ones_like(dual_coef))
        counts = namespace(counts).clip(counts, 1.0, None)
        return dual_coef - self.spread(self.sums(dual_coef) / counts)

    def certificate(
        self,
        dual_coef: Array,
        output_kernel: OutputKernel,
        alpha: float,
        *,
        tol: float,
        rank_limited: bool = False,
        intercept: Array | float = 0.0,
        dual_point: Array | None = None,
    ) -> Certificate:
        """Certify a model of this problem: c (n_samples, 1), L, b."""
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
            dual_coef,
            Coupled(self._rows, output_kernel) @ dual_coef,
            output_kernel,
            alpha=alpha,
            intercept=self.spread(intercept) if self.centered else 0.0,
            dual_point=dual_point,
        )
        return Certificate.of(
            primal, dual, self.reference, tol=tol, rank_limited=rank_limited
        )

    def _best_offsets(self, predictions: Array) -> Array:
        return self.spread(self.best_intercept(predictions))


@dataclass(frozen=True, kw_only=True)
class _GivenOutputKernel(LongProblem):
    """The problem of f alone; its certificates are those of the whole problem.

    Attributes
    ----------
    whole : LongProblem
        The problem that L belongs to.
    kernel : OutputKernel
        L.
    """

    whole: LongProblem
    kernel: OutputKernel

    def certificate(
        self,
        dual_coef: Array,
        output_kernel: OutputKernel,
        alpha: float,
        **options: Any,
    ) -> Certificate:
        """Certify c, b and the L that was given."""
        return self.whole.certificate(dual_coef, self.kernel, alpha, **options)
