"""Known output kernel, squared loss: a closed form, by one of two factorisations.

In the eigenbases K = U diag(d) U' and L = V diag(l) V' the best f is a division, U'CV =
U'YV / (d l' + alpha): one eigendecomposition of K serves all alphas, and each costs two
products with its eigenvectors. Where L = I the equations are (K + alpha I) C = Y, and a
Cholesky factorisation solves them six to nine times faster, at one alpha, in half of
the memory, and with a kernel for each output.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from okl.numerics.arrays import Array
from okl.output_kernels import SpectralKernel
from okl.problems import Problem, Rotated
from okl.solvers.base import Solver
from okl.solvers.predictor.spectral import best_coefficients
from okl.solvers.request import Request
from okl.solvers.solution import History, Solution, certified


class ClosedForm(Solver):
    """Decompose K once, or factorise K + alpha I.

    Parameters
    ----------
    factorize : bool, default=False
        Whether to factorise where L = I, which pays for one alpha. It is done in any
        case where a decomposition does not fit in memory or outputs have kernels of
        their own, and never where K + alpha I is numerically singular or K was clipped.
    """

    name: ClassVar[str | None] = "closed_form"
    aliases: ClassVar[tuple[str, ...]] = ("spectral", "cholesky")
    structure_requires: ClassVar[frozenset[str]] = frozenset({"known"})
    needs_one_kernel: ClassVar[bool] = False

    def __init__(self, factorize: bool = False) -> None:
        self.factorize = factorize

    @classmethod
    def along(cls, n_alphas: int) -> ClosedForm:
        """Return one that factorises for one alpha."""
        return cls(factorize=n_alphas == 1)

    def missing(self, problem: Problem) -> list[str]:
        """Return what a problem lacks; outputs that L couples must share a kernel."""
        mixed = not (problem.operator.shared or _alone(problem))
        return super().missing(problem) + ["one kernel for all outputs"] * mixed

    def matrices(self, problem: Problem) -> int:
        """Return one for a factorisation, two for a decomposition."""
        return 1 if _alone(problem) else 2

    def largest_product(self, problem: Problem) -> float:
        """Estimate the multiplications of the factorisation, or of a rotation."""
        if self._factorizes(problem):
            return float(problem.targets.shape[0]) ** 3 / 6
        return super().largest_product(problem)

    def prepare(self, problem: Problem) -> PreparedForm:
        """Decompose K, unless each alpha is to have a factorisation."""
        known = problem.known()
        assert known is not None
        rotated = None if self._factorizes(problem) else Rotated.of(problem)
        return PreparedForm(problem, known.spectral(), rotated)

    def solve(self, prepared: PreparedForm, request: Request) -> Solution:
        """Evaluate the closed form."""
        (problem, known, rotated), alpha = prepared, request.alpha
        history = History(problem.gap_scale)
        theta = None if rotated is not None else _solved_directly(problem, alpha)
        if theta is None:
            rotated = rotated or Rotated.of(problem)
            theta = rotated.lift(best_coefficients(rotated, known, alpha))
        return certified(problem, theta, known, request, history=history)

    def _factorizes(self, problem: Problem) -> bool:
        decomposes = problem.operator.shared and problem.operator.workspace >= 2
        return _alone(problem) and (self.factorize or not decomposes)


class PreparedForm(NamedTuple):
    """A problem, its L, and the eigenbasis of K, None where K is factorised."""

    problem: Problem
    known: SpectralKernel
    rotated: Rotated | None


def _alone(problem: Problem) -> bool:
    """Tell whether L = I, so that each output has equations of its own."""
    return "identity" in problem.structure.capabilities


def _solved_directly(problem: Problem, alpha: float) -> Array | None:
    """Return (K + alpha I)^-1 Y, None where that is singular or K was clipped."""
    if problem.operator.clipped:  # the range matters: see Rotated.lift
        return None
    try:
        return problem.balanced(problem.operator.solve(problem.targets, alpha))
    except np.linalg.LinAlgError:
        return None
