"""From operator and targets to a problem, and from its solution to a model.

Two things are done before a solver sees the data, and undone afterwards.

*The intercept.* It is free and not penalised. For any loss K may be centred, HKH with
H = I - 11'/n, because dual variables sum to zero. For the squared loss without weights,
whatever the structure, the problem with an intercept is then exactly the one without
for HY. With weights b stays, and only the rounding of large means is removed.

*Weights of rows.* With the squared loss they go into the data, whatever the structure:
the problem of H W^(1/2) K W^(1/2) H and H W^(1/2) Y, where H = I - uu' and u is
W^(1/2) 1 of unit length, has none, and C is W^(1/2) times its dual variables.

*The outputs.* Where loss and structure allow, they are reduced to rank(Y)
directions (see `reduce_outputs`).
"""

from __future__ import annotations

from dataclasses import dataclass

from okl._array import Array, epsilon, namespace
from okl._output_kernel import OutputKernel
from okl._tasks import Tasks
from okl.losses import Loss
from okl.operators import KernelOperator, OneTaskPerRow, Operator
from okl.operators.base import CENTERING_ROUNDING
from okl.problems.long_form import LongProblem
from okl.problems.problem import Problem, Term
from okl.problems.reduction import reduce_outputs
from okl.structures import Structure


@dataclass(frozen=True)
class Inputs:
    """An operator, centred if the intercept is free; shared by many problems.

    Attributes
    ----------
    operator : KernelOperator
        K, or HKH; with weights of rows H W^(1/2) K W^(1/2) H.
    kernel_means : array (n_samples,) or None
        The means of the rows of K, None without intercept; (n_samples, n_outputs) if
        each output has its own K.
    row_weights : array (n_samples,) or None
        Those that the operator holds.
    unweighted : Operator or None
        The operator without the weights, if there are any.
    """

    operator: Operator
    kernel_means: Array | None
    row_weights: Array | None = None
    unweighted: Operator | None = None

    @classmethod
    def of(
        cls,
        operator: Operator,
        *,
        fit_intercept: bool,
        row_weights: Array | None = None,
    ) -> Inputs:
        """Centre the operator, which must not be used afterwards, if asked to.

        What must be PSD is the matrix that the problem sees, HKH with an intercept.

        Parameters
        ----------
        operator : KernelOperator
            K.
        fit_intercept : bool
            Whether to centre it.
        row_weights : array (n_samples,), optional
            From `row_weights_of`: only for losses that take them as data.
        """
        share, means = None, None
        if row_weights is not None:
            share = row_weights / namespace(row_weights).sum(row_weights)
        if fit_intercept:
            operator, means = operator.centered(share)
        operator = operator.verified()
        if row_weights is None:
            return cls(operator, means)
        scaled = operator.scaled(namespace(row_weights).sqrt(row_weights))
        return cls(scaled, means, row_weights, operator)

    @property
    def plain(self) -> Operator:
        """The operator without weights: folds take their blocks of it."""
        return self.operator if self.unweighted is None else self.unweighted


def row_weights_of(
    loss: Loss, weights: Array | None, tasks: Tasks | None = None
) -> Array | None:
    """Return weights (n_samples,) that may go into the data, None if they may not.

    In long form they may not: every task has an intercept, and means, of its own.
    """
    if weights is None or weights.shape[1] > 1 or tasks is not None:
        return None
    if "quadratic" not in loss.capabilities:
        return None
    return weights[:, 0]


@dataclass(frozen=True)
class Formulation:
    """A problem and the way back.

    Attributes
    ----------
    problem : Problem
        Without intercept, in r <= n_outputs outputs.
    kernel_means : array or None
        As in `Inputs`.
    target_means : array (n_outputs,) or None
        The column means of the targets, None where they were not centred.
    row_weights : array (n_samples,) or None
        Those that went into the data.
    basis : array (n_outputs, r) or None
        Q with orthonormal columns; None for the identity.
    """

    problem: Problem
    kernel_means: Array | None
    target_means: Array | None
    row_weights: Array | None
    basis: Array | None

    def coefficients(self, dual_coef: Array) -> Array:
        """Return Theta of the model (n_samples, n_outputs) from the problem's."""
        weights = self.row_weights
        if weights is not None:
            xp = namespace(weights)
            dual_coef = xp.sqrt(weights)[:, None] * dual_coef
            if self.kernel_means is not None:  # they sum to zero but for rounding
                share = weights / xp.sum(weights)
                dual_coef = dual_coef - share[:, None] * xp.sum(dual_coef, axis=0)
        return dual_coef if self.basis is None else dual_coef @ self.basis.T

    def intercept(
        self, dual_coef: Array, centered: Array | None = None
    ) -> Array | None:
        """Return b (n_outputs,), given Theta of the model.

        Parameters
        ----------
        dual_coef : array (n_samples, n_outputs)
            Theta.
        centered : array (n_outputs,), optional
            What the solver of the problem found beside it.
        """
        if self.kernel_means is None:
            return None
        means = self.kernel_means
        if means.ndim == 1:
            offset = -(means @ dual_coef)
        else:
            offset = -namespace(means).sum(means * dual_coef, axis=0)
        for part in (self.target_means, centered):
            offset = offset if part is None else offset + part
        return offset

    def output_kernel(self, output_kernel: OutputKernel) -> OutputKernel:
        """Return L of the model (n_outputs, n_outputs) from the problem's."""
        if self.basis is None:
            return output_kernel
        # a known L is known for all outputs, not only for those that were kept
        known = self.problem.structure.known(self.basis.T)
        return output_kernel.embed(self.basis) if known is None else known


def formulate(
    inputs: Inputs,
    targets: Array,
    loss: Loss,
    structure: Structure,
    weights: Array | None = None,
    *,
    tasks: Tasks | None = None,
    reduce: bool = True,
) -> Formulation:
    """Remove the intercept from the targets, and reduce the outputs.

    Parameters
    ----------
    inputs : Inputs
        The input kernel on the training rows.
    targets : array (n_samples, n_outputs)
        As coded by the loss.
    loss : Loss
    structure : Structure
    weights : array (n_samples, n_outputs) or (n_samples, 1), optional
        Of each entry, or row; those that the inputs hold already are not used twice.
    tasks : Tasks, optional
        The task of each row, for targets (n_samples, 1) in long form.
    reduce : bool, default=True
        Whether to reduce the outputs where that is exact.
    """
    xp = namespace(targets)
    zero = xp.zeros_like(targets)
    reference = epsilon(targets) * loss.value(targets, zero, weights)
    free = inputs.kernel_means is not None
    rows = inputs.row_weights
    term = Term(inputs.operator, structure)
    if tasks is not None:
        assert rows is None, "in long form the loss holds the weights"
        assert isinstance(inputs.operator, KernelOperator)
        on_rows = OneTaskPerRow(inputs.operator, tasks)
        long = LongProblem(
            loss, targets, (term,), free, reference, weights, rows=on_rows
        )
        return Formulation(long, inputs.kernel_means, None, None, None)
    quadratic, target_means = "quadratic" in loss.capabilities, None
    if free and quadratic:
        target_means, targets = _centered(
            targets, weights if rows is None else rows[:, None]
        )
    if rows is None and not (quadratic and weights is None):
        problem = Problem(loss, targets, (term,), free, reference, weights)
        return Formulation(problem, inputs.kernel_means, target_means, None, None)
    if rows is not None:
        targets = xp.sqrt(rows)[:, None] * targets
    basis = None
    if reduce and inputs.operator.shared and _reducible(targets, structure):
        targets, basis = reduce_outputs(targets)
    # weighted rows sum to zero with their weights only, which the operator sees to
    balanced = free and rows is None
    problem = Problem(loss, targets, (term,), balanced, reference)
    return Formulation(problem, inputs.kernel_means, target_means, rows, basis)


def _centered(targets: Array, weights: Array | None) -> tuple[Array, Array]:
    """Return the weighted means of the targets, and their differences from them.

    What has no weight becomes zero.
    """
    xp = namespace(targets)
    if weights is None:
        largest, means = _largest(targets), xp.mean(targets, axis=0)
        centered = targets - means
    else:
        seen, zero = weights > 0, xp.zeros_like(targets)
        largest, total = (
            _largest(xp.where(seen, targets, zero)),
            xp.sum(weights, axis=0),
        )
        means = xp.sum(weights * targets, axis=0)
        means = means / xp.where(total > 0, total, xp.ones_like(total))
        centered = xp.where(seen, targets - means, zero)
    # what rounding leaves of a constant output is not to be learned
    constant = _largest(centered) <= CENTERING_ROUNDING * epsilon(targets) * largest
    if bool(xp.any(constant)):
        centered = xp.where(constant, xp.zeros_like(centered), centered)
    return means, centered


def _largest(rows: Array) -> Array:
    """Return the largest absolute value of each column."""
    xp = namespace(rows)
    return xp.maximum(xp.max(rows, axis=0), -xp.min(rows, axis=0))


def _reducible(targets: Array, structure: Structure) -> bool:
    """Tell whether a reduction is exact, and worth its while.

    A known L gains nothing from a few outputs less, only from many.
    """
    exact = "rotation_invariant" in structure.capabilities
    n, m = targets.shape
    return exact and (m > n or "known" not in structure.capabilities)
