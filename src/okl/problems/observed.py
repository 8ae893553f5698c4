"""What is observed of each row: targets, weights of their losses, and tasks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from okl.coding.tasks import Tasks
from okl.losses import Loss
from okl.numerics.arrays import Array
from okl.numerics.validation import check_magnitude
from okl.operators import Operator
from okl.problems.formulation import Formulation, formulate
from okl.problems.inputs import Inputs, row_weights_of
from okl.problems.targets_loss import TargetsLoss
from okl.structures import Structure


@dataclass(frozen=True)
class Observed(TargetsLoss):
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
    related : bool, default=False
        Whether classes without rows are predicted by their relatives.
    """

    targets: Array
    loss: Loss
    weights: Array | None = None
    tasks: Tasks | None = None
    related: bool = False

    @property
    def n_outputs(self) -> int:
        """How many outputs a model has: the tasks in long form."""
        return self.targets.shape[1] if self.tasks is None else self.tasks.n_tasks

    @property
    def complete(self) -> bool:
        """Whether all outputs were observed in all rows, but for weights of rows."""
        return self.tasks is None and (
            self.weights is None or self.weights.shape[1] == 1
        )

    def unobserved(self) -> Array:
        """Return the numbers of outputs without any target that counts."""
        if self.weights is None and self.tasks is None:
            return np.arange(0)
        weights = self.weights
        if weights is None:
            weights = np.ones((self.targets.shape[0], 1))
        sums = weights.sum(axis=0) if self.tasks is None else self.tasks.sums(weights)
        sums = np.broadcast_to(sums, (self.n_outputs,))
        return np.flatnonzero(sums == 0)

    def of_one_row(self) -> Array:
        """Tell which outputs have a single target that counts (n_outputs,)."""
        counted = np.ones((self.targets.shape[0], 1))
        if self.weights is not None:
            counted = (self.weights > 0).astype(np.float64)
        sums = counted.sum(axis=0) if self.tasks is None else self.tasks.sums(counted)
        return np.broadcast_to(sums, (self.n_outputs,)) == 1

    def one_sided(self) -> tuple[Array, Array]:
        """Return the classes that no row is of, or all rows, and the largest targets.

        Targets are from zero to one; only those that count are considered.
        """
        weights = np.ones((1, 1)) if self.weights is None else self.weights
        counted = np.broadcast_to(weights > 0, self.targets.shape)
        lowest = np.where(counted, self.targets, np.inf).min(axis=0)
        highest = np.where(counted, self.targets, -np.inf).max(axis=0)
        return np.flatnonzero((highest <= 0) | (lowest >= 1)), highest

    @property
    def forbids_intercept(self) -> bool:
        """Whether an intercept would make a class impossible that has relatives.

        The best intercept of a class without rows is minus infinity.
        """
        if not self.related or "probabilities" not in self.loss.capabilities:
            return False
        return bool(len(self.one_sided()[0]))

    def counted(self) -> Array:
        """Return the numbers of the rows with a target that counts."""
        if self.weights is None:
            return np.arange(self.targets.shape[0])
        return np.flatnonzero((self.weights > 0).any(axis=1))

    def restrict(self, rows: Array) -> Observed:
        """Return what is observed of some rows."""
        weights, tasks = self.weights, self.tasks
        return replace(
            self,
            targets=self.targets[rows],
            weights=None if weights is None else weights[rows],
            tasks=None if tasks is None else tasks.restrict(rows),
        )

    def of_outputs(self, outputs: Array) -> Observed:
        """Return what is observed of some outputs; not in long form."""
        weights = self.weights
        if weights is not None and weights.shape[1] > 1:
            weights = weights[:, outputs]
        return replace(self, targets=self.targets[:, outputs], weights=weights)

    def inputs(self, operator: Operator, *, fit_intercept: bool) -> Inputs:
        """Return the operator as problems of these rows take it; see `Inputs.of`.

        Raises
        ------
        ValueError
            If entries of the kernel matrix, targets or weights are so large, or all so
            small, that their products leave the range of floating point numbers.
        """
        check_magnitude(
            operator.diagonal(),
            "The kernel matrix has entries up to",
            "Standardise the columns of X, or scale the kernel.",
        )
        check_magnitude(self.targets, "y has entries up to", "Rescale the targets.")
        if self.weights is not None:
            check_magnitude(self.weights, "Weights are up to", "Rescale the weights.")
        # multiplied by weights, the identity of the term `Row` would not stay one
        weights = None if operator.several else self.weights
        return Inputs.of(
            operator,
            fit_intercept=fit_intercept,
            row_weights=row_weights_of(self.loss, weights, self.tasks),
        )

    def formulate(self, inputs: Inputs, structure: Structure) -> Formulation:
        """Return the problem of these rows with a structure."""
        return formulate(
            inputs, self.targets, self.loss, structure, self.weights, tasks=self.tasks
        )
