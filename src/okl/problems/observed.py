"""What is observed of each row."""

from __future__ import annotations

from dataclasses import dataclass, replace

from okl._array import Array
from okl._tasks import Tasks
from okl.losses import Loss
from okl.operators import Operator
from okl.problems.formulation import Formulation, Inputs, formulate, row_weights_of
from okl.structures import Structure


@dataclass(frozen=True)
class Observed:
    """The targets of rows, and how much each of them counts.

    Attributes
    ----------
    targets : array (n_samples, n_outputs)
        As coded by the loss; in long form one a row, (n_samples, 1).
    loss : Loss
    weights : array (n_samples, n_outputs) or (n_samples, 1), or None
        Of the loss of each entry, or row.
    tasks : Tasks or None
        The task of each row, for data in long form.
    """

    targets: Array
    loss: Loss
    weights: Array | None = None
    tasks: Tasks | None = None

    @property
    def n_outputs(self) -> int:
        """How many outputs a model has: the tasks in long form."""
        return self.targets.shape[1] if self.tasks is None else self.tasks.n_tasks

    def restrict(self, rows: Array) -> Observed:
        """Return what is observed of some rows."""
        weights, tasks = self.weights, self.tasks
        return replace(
            self,
            targets=self.targets[rows],
            weights=None if weights is None else weights[rows],
            tasks=None if tasks is None else tasks.restrict(rows),
        )

    def inputs(self, operator: Operator, *, fit_intercept: bool) -> Inputs:
        """Return the operator as problems of these rows take it; see `Inputs.of`."""
        return Inputs.of(
            operator,
            fit_intercept=fit_intercept,
            row_weights=row_weights_of(self.loss, self.weights, self.tasks),
        )

    def formulate(self, inputs: Inputs, structure: Structure) -> Formulation:
        """Return the problem of these rows with a structure."""
        return formulate(
            inputs, self.targets, self.loss, structure, self.weights, tasks=self.tasks
        )
