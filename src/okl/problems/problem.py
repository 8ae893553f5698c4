"""The problem that solvers see.

    minimise over L, Theta:  sum_i V(y_i, F_i) + alpha (||f||^2_{K,L} / 2 + R(L)),
    F = K Theta

A problem is a loss, targets, an operator K on the inputs and a structure R on the
outputs. Its `entries` know how the arrays of targets, predictions and dual variables
are arranged: as a matrix (`TargetMatrix`), or in long form as a column
(`TargetColumn`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from okl.certificates import Certificate, GapScale
from okl.certificates.bounds import bounds
from okl.losses import Loss
from okl.numerics.arrays import Array, count, epsilon, namespace
from okl.operators import KernelOperator, Operator
from okl.operators.base import Spectrum
from okl.output_kernels import OutputKernel, SpectralKernel
from okl.problems.target_column import TargetColumn
from okl.problems.target_matrix import TargetMatrix
from okl.problems.targets_loss import TargetsLoss
from okl.structures import Structure

# A relative rounding error of predictions below this is left alone.
_HARMLESS = 1e-11


@dataclass(frozen=True)
class Problem(TargetsLoss):
    """A loss, targets, an operator and a structure.

    Attributes
    ----------
    loss : Loss
        How predictions are judged.
    targets : array (n_samples, n_outputs), or (n_samples, 1) in long form
        What they are judged against.
    entries : TargetMatrix or TargetColumn
        How arrays like the targets are arranged, and K.
    structure : Structure
        R, with its domain.
    centered : bool
        Whether there is an intercept: operators are centred, and the entries of dual
        points that share an intercept sum to zero. For a quadratic loss without weights
        targets are centred as well, which removes the intercept from the problem.
    gap_scale : GapScale
        What gaps are measured by, from the targets as given: objectives below its
        ``rounding`` are zero up to rounding.
    weights : array of the shape of the targets or (n_samples, 1), or None
        What multiplies the loss of each entry, or row; None for one everywhere.
    """

    loss: Loss
    targets: Array
    entries: TargetMatrix | TargetColumn
    structure: Structure
    centered: bool
    gap_scale: GapScale
    weights: Array | None = None

    @property
    def operator(self) -> Operator:
        """K, for all outputs or one for each."""
        return self.entries.operator

    @property
    def spectrum(self) -> Spectrum:
        """The decomposition of the matrix that all outputs share."""
        operator = self.operator
        assert isinstance(operator, KernelOperator)
        return operator.spectrum

    @cached_property
    def _like_outputs(self) -> Array:
        return self.entries.like_outputs(self.targets)

    @cached_property
    def best_constant(self) -> Array:
        """The b (n_outputs,) of the least loss where f is zero.

        Far from zero where an output has few of one of its labels, and infinite, up to
        rounding, where it has none.
        """
        nothing = namespace(self.targets).zeros_like(self.targets)
        entries, loss = self.entries, self.loss
        return entries.best_intercept(loss, self.targets, nothing, self.weights)

    @property
    def n_outputs(self) -> int:
        """The number of rows of L."""
        return int(self._like_outputs.shape[1])

    @property
    def rank_is_bounded(self) -> bool:
        """Whether the structure allows L fewer positive eigenvalues than it may need.

        It may need one for each output, or one fewer where the loss depends on
        differences of outputs alone: under a penalty on the trace L 1 = 0 is best then.
        """
        needed = self.n_outputs - ("differences" in self.loss.capabilities)
        return self.structure.max_rank(self.n_outputs) < needed

    @property
    def exact(self) -> bool:
        """Whether the loss is quadratic, unweighted, of every output in each row."""
        quadratic = "quadratic" in self.loss.capabilities
        return quadratic and self.weights is None and self.entries.every_output

    def known(self) -> OutputKernel | None:
        """Return L if the structure fixes it."""
        return self.structure.known(self._like_outputs)

    def largest_eigenvalue(self) -> float:
        """Return the largest eigenvalue that L may have."""
        return self.structure.largest_eigenvalue(self._like_outputs)

    def feature_coefficients(self, kernel: OutputKernel, alpha: float) -> Array | None:
        """Return feature weights of the best f, L given, if they keep more digits.

        Dual coefficients, and products with them, have rounding errors that a large
        feature multiplies by its square. None where these are harmless, or where there
        is no closed form; see `Operator.feature_coefficients`.
        """
        if not self.exact or kernel.rank == 0:
            return None
        xp = namespace(self.targets)
        largest = float(xp.max(self.operator.diagonal())) * kernel.largest_eigenvalue
        if epsilon(self.targets) * largest <= _HARMLESS * alpha:
            return None
        return self.operator.feature_coefficients(self.targets, kernel, alpha)

    def completed(self, targets: Array) -> Problem:
        """Return the problem of a quadratic loss with all targets observed."""
        return replace(self, targets=self.balanced(targets), weights=None)

    def balanced_theta(self, dual: Array, kernel: OutputKernel) -> Any:
        """Return C L, with sums of zero if there is an intercept."""
        if not self.centered:
            return self.entries.theta(dual, kernel)
        return self.entries.balanced_theta(dual, kernel)

    def balanced(self, rows: Array) -> Array:
        """Return rows that sum to zero over each intercept, if there is one."""
        return self.entries.balanced(rows) if self.centered else rows

    def at_best_intercept(
        self, predictions: Array, near: Array | None = None
    ) -> tuple[Array, Array | None]:
        """Return predictions with the b (n_outputs,) of the least loss added, and b.

        The search begins at ``near``, or at the best constant. b is None without
        intercepts.
        """
        if not self.centered:
            return predictions, None
        near = self.best_constant if near is None else near
        predictions = predictions + self.entries.spread(near)
        best = self.entries.best_intercept(
            self.loss, self.targets, predictions, self.weights
        )
        return predictions + self.entries.spread(best), near + best

    def certificate(
        self,
        theta: Any,
        output_kernel: OutputKernel,
        alpha: float,
        *,
        tol: float,
        rank_limited: bool = False,
        intercept: Array | None = None,
        dual_point: Array | None = None,
        predictions: Array | None = None,
    ) -> Certificate:
        """Certify a model of this problem, given by Theta, L and b (n_outputs,).

        A loss with kinks needs its dual point alpha C as well, of the shape of the
        targets. Predictions, without the intercept, are K Theta unless given.
        """
        if predictions is None:
            predictions = self.entries.predictions(theta)
        shifted = self.centered and intercept is not None
        primal, dual = bounds(
            self.entries,
            self.targets,
            theta,
            output_kernel,
            predictions,
            alpha=alpha,
            structure=self.structure,
            loss=self.loss,
            weights=self.weights,
            intercept=self.entries.spread(intercept) if shifted else 0.0,
            free_intercept=self.centered,
            dual_point=dual_point,
            tol=tol,
        )
        return Certificate.of(
            primal, dual, self.gap_scale, tol=tol, rank_limited=rank_limited
        )


def unit_kernel(problem: Problem) -> SpectralKernel:
    """Return L = I, for what is prepared before L is known."""
    xp, kind = namespace(problem.targets), problem.targets.dtype
    return SpectralKernel(xp.ones((problem.n_outputs,), dtype=kind))


def n_observed(problem: Problem) -> int:
    """Return the number of targets with a weight."""
    targets, weights = problem.targets, problem.weights
    if weights is None:
        return int(targets.shape[0] * targets.shape[1])
    return count(namespace(weights).broadcast_to(weights > 0, targets.shape))
