"""From operator and targets to a problem, and from its solution to a model.

Three things are done before a solver sees the data, and undone afterwards.

*The intercept.* It is free and not penalised. For any loss K may be centred, HKH with
H = I - 11'/n, because dual variables sum to zero. For the squared loss without weights,
whatever the structure, the problem with an intercept is then exactly the one without
for HY. Otherwise b remains an unknown, and centring only removes the rounding errors of
large means. Wherever the loss depends on y - f alone, the constants that fit the
targets best are subtracted from them, so that an offset does not affect the solver.

*Weights of rows.* With the squared loss they go into the data, whatever the structure.
With W their diagonal matrix, u = W^(1/2) 1 scaled to unit length and H = I - uu', the
problem of H W^(1/2) K W^(1/2) H and H W^(1/2) Y has no weights, and C is W^(1/2) times
its dual variables.

*The outputs.* Where loss and structure allow, they are reduced to rank(Y)
directions (see `reduce_outputs`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from okl.certificates import GapScale
from okl.coding.tasks import Tasks
from okl.losses import Loss
from okl.numerics.arrays import Array, epsilon, namespace
from okl.operators import KernelOperator, OneTaskPerRow, OperatorTerms
from okl.operators.base import CENTERING_ROUNDING
from okl.output_kernels import OutputKernel
from okl.problems.checks import check_parts
from okl.problems.inputs import Inputs
from okl.problems.problem import Problem
from okl.problems.reduction import reduce_outputs
from okl.problems.target_column import TargetColumn
from okl.problems.target_matrix import TargetMatrix
from okl.problems.term_matrix import TermMatrix
from okl.structures import Structure


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
        The constants that were subtracted from the targets, those of the lowest loss:
        for the squared loss their means. None where they were not centred.
    row_weights : array (n_samples,) or None
        The weights of rows that went into the data.
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
        dual_coef = self.unscaled(dual_coef)
        return dual_coef if self.basis is None else dual_coef @ self.basis.T

    def unscaled(self, dual_coef: Array) -> Array:
        """Return coefficients of K, given those of the problem's operator.

        They differ by the weights of rows that the operator holds.
        """
        weights = self.row_weights
        if weights is None:
            return dual_coef
        xp = namespace(weights)
        dual_coef = xp.sqrt(weights)[:, None] * dual_coef
        if self.kernel_means is None:
            return dual_coef
        # exact ones sum to zero: subtract what rounding leaves
        share = weights / xp.sum(weights)
        return dual_coef - share[:, None] * xp.sum(dual_coef, axis=0)

    def intercept(
        self, dual_coef: Array, centered: Array | None = None
    ) -> Array | None:
        """Return b (n_outputs,), given Theta of the model.

        Parameters
        ----------
        dual_coef : array (n_samples, n_outputs)
            Theta.
        centered : array (r,), optional
            The intercept that the solver found for the problem.
        """
        if self.kernel_means is None:
            return None
        if centered is not None and self.basis is not None:
            centered = self.basis @ centered
        offset = -self.problem.entries.offset(self.kernel_means, dual_coef)
        for part in (self.target_means, centered):
            offset = offset if part is None else offset + part
        return offset

    def of_features(self, inside: Array, features: Array) -> tuple[Array, Array | None]:
        """Return feature weights W (n_features, n_outputs) of the model, and b.

        ``inside`` are those of the problem, ``features`` those of the kernel,
        (n_samples, n_features), not centred.
        """
        coefficients = inside if self.basis is None else inside @ self.basis.T
        if self.kernel_means is None:
            return coefficients, None
        xp, weights = namespace(features), self.row_weights
        if weights is None:
            means = xp.mean(features, axis=0)
        else:
            means = (weights @ features) / xp.sum(weights)
        return coefficients, self.target_means - means @ coefficients

    def seen(self, scores: Array, rows: Any = None) -> Array:
        """Return scores of the model as the problem sees them.

        Parameters
        ----------
        scores : array (n_samples, n_outputs), or (n_samples, 1) in long form
            Predictions of the model, with the intercept; in long form of each row's
            own task.
        rows : array of int, optional
            The numbers of the rows they belong to; None for all.
        """
        xp = namespace(scores)
        if self.target_means is not None:
            scores = scores - self.problem.entries.spread(self.target_means, rows)
        weights = self.row_weights
        if weights is not None:
            weights = weights if rows is None else xp.take(weights, rows)
            scores = xp.sqrt(weights)[:, None] * scores
        return scores if self.basis is None else scores @ self.basis

    def output_kernel(self, output_kernel: OutputKernel) -> OutputKernel:
        """Return L of the model (n_outputs, n_outputs) from the problem's."""
        if self.basis is None:
            return output_kernel
        # a known L is known for all outputs, not only for those that were kept
        known = self.problem.structure.known(self.basis.T)
        return output_kernel.spectral().embed(self.basis) if known is None else known


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
        Of the loss of each entry, or row. If the inputs hold weights of rows, these
        are the same, and count once.
    tasks : Tasks, optional
        The task of each row, for targets (n_samples, 1) in long form.
    reduce : bool, default=True
        Whether to reduce the outputs where that is exact.

    Raises
    ------
    TypeError
        For an argument of another type.
    ValueError
        For targets or weights of another shape, targets that are no finite floating
        point numbers, or parameters of the loss or structure that are out of range or
        do not fit the number of outputs.
    """
    if not isinstance(inputs, Inputs):
        raise TypeError(
            "inputs must be Inputs.of(operator, fit_intercept=...), got "
            f"{type(inputs).__name__}."
        )
    check_parts(targets, loss, structure, weights, inputs.operator.n_samples)
    loss.validate()
    structure.validate(targets.shape[1] if tasks is None else tasks.n_tasks)
    xp = namespace(targets)
    free = inputs.kernel_means is not None
    rows = inputs.row_weights
    target_means, given = None, targets
    if free and "location" in loss.capabilities:
        target_means, targets = _centered(loss, targets, weights, tasks)
    scale = GapScale.of_targets(loss, given, targets, weights, tasks)
    operator = inputs.operator
    if tasks is not None:
        assert rows is None, "in long form the loss holds the weights"
        assert isinstance(operator, KernelOperator)
        column = TargetColumn(OneTaskPerRow(operator, tasks))
        problem = Problem(loss, targets, column, structure, free, scale, weights)
        return Formulation(problem, inputs.kernel_means, target_means, None, None)
    several = isinstance(operator, OperatorTerms)
    entries = TermMatrix(operator) if several else TargetMatrix(operator)
    quadratic = "quadratic" in loss.capabilities
    if rows is None and not (quadratic and weights is None):
        problem = Problem(loss, targets, entries, structure, free, scale, weights)
        return Formulation(problem, inputs.kernel_means, target_means, None, None)
    if rows is not None:
        targets = xp.sqrt(rows)[:, None] * targets
    basis = None
    if reduce and operator.shared and _reducible(targets, structure):
        targets, basis = reduce_outputs(targets)
    # sums of weighted rows are zero only with their weights: the operator ensures that
    balanced = free and rows is None
    problem = Problem(loss, targets, entries, structure, balanced, scale)
    return Formulation(problem, inputs.kernel_means, target_means, rows, basis)


def _centered(
    loss: Loss, targets: Array, weights: Array | None, tasks: Tasks | None
) -> tuple[Array, Array]:
    """Return the constants of the lowest loss, and the targets less these.

    There is one constant for each output, or task. Targets without weight become zero.
    """
    xp = namespace(targets)
    zero = xp.zeros_like(targets)
    if weights is not None:
        targets = xp.where(weights > 0, targets, zero)
    if tasks is not None:
        constants = loss.best_shared(targets, zero, weights, tasks)
        centered = targets - tasks.spread(constants)
    else:
        constants = loss.best_intercept(targets, zero, weights)
        centered = targets - constants
    if weights is not None:
        centered = xp.where(weights > 0, centered, zero)
    # what rounding leaves of a constant output is not to be learned
    rounding = CENTERING_ROUNDING * epsilon(targets) * _largest(targets)
    constant = _largest(centered) <= rounding
    if bool(xp.any(constant)):
        centered = xp.where(constant, xp.zeros_like(centered), centered)
    return constants, centered


def _largest(rows: Array) -> Array:
    """Return the largest absolute value of each column."""
    xp = namespace(rows)
    return xp.maximum(xp.max(rows, axis=0), -xp.min(rows, axis=0))


def _reducible(targets: Array, structure: Structure) -> bool:
    """Tell whether reducing the outputs is exact, and worth the time.

    With a known L it is worth it only where there are more outputs than rows.
    """
    exact = "rotation_invariant" in structure.capabilities
    n, m = targets.shape
    return exact and (m > n or "known" not in structure.capabilities)
