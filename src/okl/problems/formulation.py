"""From operator and targets to a problem, and from its solution to a model.

Two things are done before a solver sees the data, and undone afterwards.

*The intercept.* It is free and not penalised. For any loss K may be centred, HKH with
H = I - 11'/n, because dual variables sum to zero. For the squared loss without weights,
whatever the structure, the problem with an intercept is then exactly the one without
for HY. With weights b stays, and only the rounding of large means is removed.

*The outputs.* Where loss and structure allow, they are reduced to rank(Y)
directions (see `reduce_outputs`).
"""

from __future__ import annotations

from dataclasses import dataclass

from okl._array import Array, epsilon, namespace
from okl._output_kernel import OutputKernel
from okl.losses import Loss
from okl.operators import KernelOperator
from okl.operators.base import CENTERING_ROUNDING
from okl.problems.problem import Problem, Term
from okl.problems.reduction import reduce_outputs
from okl.structures import Structure


@dataclass(frozen=True)
class Inputs:
    """An operator, centred if the intercept is free; shared by many problems.

    Attributes
    ----------
    operator : KernelOperator
        K, or HKH.
    kernel_means : array (n_samples,) or None
        The column means of K, None without intercept.
    """

    operator: KernelOperator
    kernel_means: Array | None

    @classmethod
    def of(cls, operator: KernelOperator, *, fit_intercept: bool) -> Inputs:
        """Centre the operator, which must not be used afterwards, if asked to.

        What must be PSD is the matrix that the problem sees, HKH with an intercept.
        """
        if not fit_intercept:
            return cls(operator.verified(), None)
        centered, means = operator.centered()
        return cls(centered.verified(), means)


@dataclass(frozen=True)
class Formulation:
    """A problem and the way back.

    Attributes
    ----------
    problem : Problem
        Without intercept, in r <= n_outputs outputs.
    kernel_means : array (n_samples,) or None
        The column means of the kernel matrix, None without intercept.
    target_means : array (n_outputs,) or None
        The column means of the targets, None where they were not centred.
    basis : array (n_outputs, r) or None
        Q with orthonormal columns; None for the identity.
    """

    problem: Problem
    kernel_means: Array | None
    target_means: Array | None
    basis: Array | None

    def coefficients(self, dual_coef: Array) -> Array:
        """Return Theta of the model (n_samples, n_outputs) from the problem's."""
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
        offset = -(self.kernel_means @ dual_coef)
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
        Of each entry, or row.
    reduce : bool, default=True
        Whether to reduce the outputs where that is exact.
    """
    xp = namespace(targets)
    zero = xp.zeros_like(targets)
    reference = epsilon(targets) * loss.value(targets, zero, weights)
    free = inputs.kernel_means is not None
    term = Term(inputs.operator, structure)
    if "quadratic" not in loss.capabilities or weights is not None:
        means = None
        if free and "quadratic" in loss.capabilities:
            means, targets = _shifted(targets, loss, weights)
        problem = Problem(loss, targets, (term,), free, reference, weights)
        return Formulation(problem, inputs.kernel_means, means, None)
    target_means = None
    if inputs.kernel_means is not None:
        target_means = xp.mean(targets, axis=0)
        largest = xp.max(xp.abs(targets), axis=0)
        targets = targets - target_means
        # what rounding leaves of a constant output is not to be learned
        spread = xp.max(xp.abs(targets), axis=0)
        constant = spread <= CENTERING_ROUNDING * epsilon(targets) * largest
        targets = xp.where(constant, xp.zeros_like(targets), targets)
    basis = None
    if reduce and _reducible(targets, structure):
        targets, basis = reduce_outputs(targets)
    problem = Problem(loss, targets, (term,), free, reference)
    return Formulation(problem, inputs.kernel_means, target_means, basis)


def _shifted(targets: Array, loss: Loss, weights: Array) -> tuple[Array, Array]:
    """Return weighted means, which a free b takes up, and the targets without them.

    This removes nothing from the problem but the rounding of a large mean, and what
    rounding leaves of a constant output, which is not to be learned.
    """
    xp = namespace(targets)
    means = loss.best_intercept(targets, xp.zeros_like(targets), weights)
    counts = weights + xp.zeros_like(targets) > 0
    largest = xp.max(xp.where(counts, xp.abs(targets), 0.0 * targets), axis=0)
    shifted = xp.where(counts, targets - means, 0.0 * targets)
    spread = xp.max(xp.abs(shifted), axis=0)
    constant = spread <= CENTERING_ROUNDING * epsilon(targets) * largest
    return means, xp.where(constant, 0.0 * targets, shifted)


def _reducible(targets: Array, structure: Structure) -> bool:
    """Tell whether a reduction is exact, and worth its while.

    A known L gains nothing from a few outputs less, only from many.
    """
    exact = "rotation_invariant" in structure.capabilities
    n, m = targets.shape
    return exact and (m > n or "known" not in structure.capabilities)
