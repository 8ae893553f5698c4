"""The problem that solvers see.

    minimise over L, Theta:  sum_i V(y_i, F_i) + alpha (||f||^2_{K,L} / 2 + R(L)),
    F = K Theta

A problem is a loss, targets, an operator K on the inputs and a structure R on the
outputs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

from okl.certificates import Certificate
from okl.certificates.bounds import bounds
from okl.losses import Loss
from okl.numerics.arrays import Array, epsilon, namespace
from okl.operators import KernelOperator, Operator
from okl.operators.base import Spectrum
from okl.output_kernels import OutputKernel
from okl.problems.target_matrix import TargetMatrix
from okl.structures import Structure

# A relative rounding error of predictions below this is left alone.
_HARMLESS = 1e-11

Weighting = Literal["none", "missing", "any"]


@dataclass(frozen=True)
class Problem(TargetMatrix):
    """A loss, targets, an operator and a structure.

    Attributes
    ----------
    loss : Loss
        How predictions are judged.
    targets : array (n_samples, n_outputs)
        What they are judged against.
    operator : Operator
        K, for all outputs or one for each.
    structure : Structure
        R, with its domain.
    centered : bool
        Whether there is an intercept: operators are centred, and dual points have
        columns that sum to zero. For a quadratic loss without weights targets are
        centred as well, which removes the intercept from the problem.
    weights : array (n_samples, n_outputs) or (n_samples, 1), or None
        What multiplies the loss of each entry, or row; None for one everywhere.
    reference : float
        Machine epsilon times the loss of f = 0 on the targets as given: objectives
        below it are zero up to rounding.
    long : bool
        Whether each row names the one output that its target is for.
    """

    loss: Loss
    targets: Array
    operator: Operator
    structure: Structure
    centered: bool
    reference: float
    weights: Array | None = None
    long: ClassVar[bool] = False

    @property
    def spectrum(self) -> Spectrum:
        """The decomposition of the matrix that all outputs share."""
        operator = self.operator
        assert isinstance(operator, KernelOperator)
        return operator.spectrum

    @property
    def n_outputs(self) -> int:
        """The number of rows of L."""
        return int(self.targets.shape[1])

    @property
    def rank_is_bounded(self) -> bool:
        """Whether L may not have as many positive eigenvalues as there are outputs."""
        return self.structure.max_rank(self.n_outputs) < self.n_outputs

    @property
    def exact(self) -> bool:
        """Whether the loss is quadratic, without weights."""
        return "quadratic" in self.loss.capabilities and self.weights is None

    @cached_property
    def weighting(self) -> Weighting:
        """Which weights there are: none, zeros and ones (missing targets), or any."""
        if self.weights is None:
            return "none"
        binary = (self.weights == 0) | (self.weights == 1)
        return "missing" if bool(namespace(binary).all(binary)) else "any"

    def known(self) -> OutputKernel | None:
        """Return L if the structure fixes it."""
        return self.structure.known(self.targets)

    def largest_eigenvalue(self) -> float:
        """Return the largest eigenvalue that L may have."""
        return self.structure.largest_eigenvalue(self.targets)

    def feature_coefficients(self, kernel: OutputKernel, alpha: float) -> Array | None:
        """Return those of the best f for a given L, where they keep more digits.

        Dual coefficients, and products with them, have rounding errors that a large
        feature multiplies by its square. None where these are harmless, or where there
        is no closed form; see `Operator.feature_coefficients`.
        """
        if not self.exact or kernel.rank == 0:
            return None
        xp = namespace(self.targets)
        largest = float(xp.max(self.operator.diagonal())) * float(kernel.eigenvalues[0])
        if epsilon(self.targets) * largest <= _HARMLESS * alpha:
            return None
        return self.operator.feature_coefficients(self.targets, kernel, alpha)

    def completed(self, targets: Array) -> Problem:
        """Return the problem of a quadratic loss with all targets observed."""
        return replace(self, targets=self.balanced(targets), weights=None)

    def balanced(self, rows: Array) -> Array:
        """Return rows whose columns sum to zero if there was an intercept."""
        if not self.centered:
            return rows
        return rows - namespace(rows).mean(rows, axis=0)

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
        predictions: Array | None = None,
    ) -> Certificate:
        """Certify a model of this problem: Theta (n_samples, n_outputs), L, b.

        And alpha C (n_samples, n_outputs), for a loss with kinks. Predictions without
        the intercept are K Theta, or given as they were evaluated.
        """
        primal, dual = bounds(
            self.operator,
            self.targets,
            dual_coef,
            output_kernel,
            alpha=alpha,
            structure=self.structure,
            loss=self.loss,
            weights=self.weights,
            intercept=intercept,
            free_intercept=self.centered,
            dual_point=dual_point,
            products=predictions,
        )
        return Certificate.of(
            primal, dual, self.reference, tol=tol, rank_limited=rank_limited
        )
