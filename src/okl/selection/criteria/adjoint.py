r"""The derivative of a number made of a fit with respect to a move of its scores.

The dual variables of the best model for a smooth loss are C = a / alpha, a minus the
gradient of the loss at its scores F = J C + 1 b'. If the training scores were moved by
S, and the model fitted again, C would change by -M S, M = V (alpha I + V'JV)^-1 V' with
V V' the second derivative of the loss: one solve with the equations of a Newton step
(`okl.solvers.predictor.hessian`). As M is symmetric, one solve is enough for the
derivative of a number that depends on C and b with respect to all that can move the
scores (Seeger 2006, section 6.3).

*A learned L.* For the squared Frobenius norm the best L is C'KC / 2: then the map from
C to scores that is differentiated has a second term, K C sym(C'K dC), and is symmetric
still. With several kernels this holds for each L_q by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np

from okl.certificates import GapScale
from okl.losses.base import Curvature
from okl.numerics.arrays import inner, symmetric
from okl.operators import (
    JointOperator,
    JointSum,
    Kronecker,
    NystroemFactor,
    Operator,
    OperatorTerms,
)
from okl.output_kernels import OutputKernel, OutputKernelTerms
from okl.problems import Problem, TargetMatrix, TermMatrix
from okl.selection.criteria.fold_fit import FoldFit
from okl.selection.criteria.fold_term import FoldTerm
from okl.solvers.predictor.approximation import Approximation, Prepared
from okl.solvers.predictor.hessian import HessianSystem

# Steps of conjugate gradients with a diagonal preconditioner before a better one is
# made, the columns of K in that, and how often steps begin again with it.
_EASY, _COLUMNS, _ROUNDS = 40, 100, 5


@dataclass(frozen=True)
class Adjoint:
    """The equations of a Newton step at the end of a fit.

    Attributes
    ----------
    prepared : Prepared
        The problem with L held fixed, or following C.
    curvature : Curvature
        The second derivative of the loss.
    alpha : float
    """

    prepared: Prepared
    curvature: Curvature
    alpha: float

    @classmethod
    def of(cls, fit: FoldFit) -> Adjoint:
        """Return the equations of a fit."""
        observed, kernel = fit.observed, fit.output_kernel
        operator = fit.operator
        entries: TargetMatrix
        joint: JointOperator
        if isinstance(operator, OperatorTerms):
            assert isinstance(kernel, OutputKernelTerms)
            entries, joint = TermMatrix(operator), _JointSum(fit, operator, kernel)
        else:
            entries = TargetMatrix(operator)
            joint = _joint_of(fit.terms[0], fit.dual_images[0])
        problem = Problem(
            observed.loss,
            observed.targets,
            entries,
            fit.structure,
            fit.free_intercept,
            GapScale(0.0),
            observed.weights,
        )
        approximation = Approximation(problem, joint, _COLUMNS)
        prepared = Prepared(problem, kernel, joint, approximation)
        return cls(prepared, problem.curvature(fit.scores), fit.alpha)

    def solve(
        self,
        of_dual: np.ndarray,
        of_intercept: np.ndarray,
        *,
        rtol: float,
        start: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivative of a number with respect to a move of the scores.

        Parameters
        ----------
        of_dual : array (n_train, n_outputs)
            The derivative of the number with respect to C.
        of_intercept : array (n_outputs,)
            Its derivative with respect to b.
        rtol : float
            Relative residual of the equations.
        start : array, optional
            The second result, of equations nearby.

        Returns
        -------
        s : array (n_train, n_outputs)
        inside : array (n_train, n_outputs)
            The solution of the equations.
        """
        problem, curvature = self.prepared.problem, self.curvature
        direct = np.zeros_like(of_dual)
        if problem.centered:
            # b follows a move of the scores, and C as well
            spread = problem.entries.solve_total(curvature, of_intercept) + direct
            direct = curvature.factor(curvature.adjoint(spread))
            of_dual = of_dual - self.prepared.joint @ direct
        right = self._system(None).project(curvature.adjoint(of_dual))
        inside = self._solve(right, rtol, start)
        return -direct - curvature.factor(inside), inside

    def _solve(
        self, right: np.ndarray, rtol: float, start: np.ndarray | None
    ) -> np.ndarray:
        """Solve the equations, with a better preconditioner where they are hard."""
        inside, residual = np.zeros_like(right), right
        system = self._system(None)
        if start is not None:
            # the equations hold on what the curvature of this fit reaches
            start = system.project(self.curvature.project(start))
            rest = right - system.product(start)[0]
            if _size(system, rest) < _size(system, right):
                inside, residual = start, rest
        for attempt in range(1 + _ROUNDS):
            if attempt:
                system = self._system(self.prepared.approximation.columns)
            size = _size(system, right)
            first = (_size(system, residual) / size) ** 0.5 if size > 0 else 0.0
            if first <= rtol:
                break
            left = first
            for step in islice(system.steps(residual), None if attempt else _EASY):
                inside = inside + step.length * step.direction
                left = first * step.left
                if left <= rtol:
                    return inside
            residual = right - system.product(inside)[0]
        return inside

    def _system(self, columns: NystroemFactor | None) -> HessianSystem:
        return HessianSystem(self.prepared, self.curvature, self.alpha, columns)


class _Learned(Kronecker):
    """dC -> K dC L + K C sym(C'K dC), L = C'KC / 2 following C."""

    def __init__(
        self,
        operator: Operator,
        output_kernel: OutputKernel,
        image: np.ndarray,
    ) -> None:
        super().__init__(operator, output_kernel)
        self._image = image

    def __matmul__(self, dual: np.ndarray) -> np.ndarray:
        """Return the change of the scores."""
        change = self._image.T @ dual
        through = self._image @ symmetric(change)
        return np.asarray(super().__matmul__(dual)) + through

    def roots(self) -> None:
        """Return None: the second term has others."""


class _JointSum(JointSum):
    """The sum of what the terms of a fit map dual variables to."""

    def __init__(
        self, fit: FoldFit, operator: OperatorTerms, kernel: OutputKernelTerms
    ) -> None:
        super().__init__(operator, kernel)
        pairs = zip(fit.terms, fit.dual_images, strict=True)
        self.terms = tuple(_joint_of(term, image) for term, image in pairs)


def _joint_of(term: FoldTerm, image: np.ndarray) -> Kronecker:
    """Return what a term maps dual variables to, L held or following C."""
    if term.known:
        return Kronecker(term.operator, term.output_kernel)
    return _Learned(term.operator, term.output_kernel, image)


def _size(system: HessianSystem, residual: np.ndarray) -> float:
    """Return the squared norm that conjugate gradients see."""
    return max(inner(residual, system.precondition(residual)), 0.0)
