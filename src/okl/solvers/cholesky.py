"""Independent outputs at one alpha: one Cholesky factorisation, or one a kernel."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from okl.problems import Problem
from okl.solvers.base import Solver
from okl.solvers.solution import History, Solution, certified
from okl.solvers.spectral import Spectral


class Cholesky(Solver):
    """Solve (K + alpha I) C = Y directly.

    Six to nine times faster than an eigendecomposition, but of use for one alpha
    only. Where K + alpha I is numerically singular, or K was clipped, it gives way to
    `Spectral`.
    """

    name: ClassVar[str | None] = "cholesky"
    structure_requires: ClassVar[frozenset[str]] = frozenset({"identity"})
    needs_one_kernel: ClassVar[bool] = False
    matrices_beside: ClassVar[int] = 1

    def largest_product(self, problem: Problem) -> float:
        """Estimate the multiplications of the factorisation."""
        return float(problem.targets.shape[0]) ** 3 / 6

    def prepare(self, problem: Problem) -> Problem:
        """Leave the problem as it is."""
        return problem

    def solve(
        self,
        prepared: Problem,
        alpha: float,
        *,
        tol: float,
        max_iter: int,
        start: Any = None,
    ) -> Solution:
        """Factorise and solve."""
        problem = prepared
        history = History(problem.reference)
        known = problem.structure.known(problem.targets)
        assert known is not None
        try:
            if problem.operator.clipped:  # the range matters: see Rotated.lift
                raise np.linalg.LinAlgError
            solved = problem.operator.solve(problem.targets, alpha)
        except np.linalg.LinAlgError:
            spectral = Spectral()
            return spectral.solve(
                spectral.prepare(problem), alpha, tol=tol, max_iter=max_iter
            )
        dual_coef = problem.balanced(solved)
        return certified(problem, dual_coef, known, alpha, tol=tol, history=history)
