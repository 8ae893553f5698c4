"""Predictor and output kernel in turn, for any structure that has a step.

With L fixed the best f is a closed form; with f fixed the best L is the structure's
step at P = F'K^+F. Both lower the same convex objective, so the iteration is
monotone and L stays PSD. Holding the coefficients C instead of f while L is
updated, as published (Dinuzzo et al. 2011, Lemma 4.1), has neither property.
"""

from __future__ import annotations

from typing import ClassVar

from okl._output_kernel import OutputKernel
from okl.problems import Problem, Rotated
from okl.solvers.alternation import (
    best_output_kernel,
    first_output_kernel,
    in_outputs,
    known_coefficients,
)
from okl.solvers.base import Solver
from okl.solvers.solution import History, Solution, conclude

# The structure's step is solved to a fraction of the gap asked for.
_STEP_TOLERANCE = 1e-2
# Under a bound on the rank the gap does not close: stop where a round gains less
# than this fraction of the tolerance, relative to the objective.
_STATIONARY = 1e-2


class BlockCoordinateDescent(Solver):
    """Alternate between f and L until the gap is closed.

    The reference method: simple, monotone, and slow where alpha is neither large
    nor small.
    """

    name: ClassVar[str | None] = "block_coordinate_descent"
    structure_requires: ClassVar[frozenset[str]] = frozenset({"step"})

    def prepare(self, problem: Problem) -> Rotated:
        """Decompose K."""
        return Rotated.of(problem)

    def solve(
        self,
        prepared: Rotated,
        alpha: float,
        *,
        tol: float,
        max_iter: int,
        start: OutputKernel | None = None,
    ) -> Solution:
        """Alternate, from L of a neighbouring alpha or from a scaled identity."""
        problem = prepared.problem
        n_outputs = problem.targets.shape[1]
        max_rank = problem.structure.max_rank(n_outputs)
        history = History(problem.reference)
        kernel = start
        if kernel is None:
            kernel = problem.structure.known(problem.targets) or first_output_kernel(
                prepared, alpha, tol=_STEP_TOLERANCE * tol
            )
        rank_limited = False
        for n_iter in range(1, max_iter + 1):
            coefficients = in_outputs(
                known_coefficients(prepared, kernel, alpha), kernel
            )
            primal, dual = prepared.bounds(coefficients, kernel, alpha)
            gap = history.add(primal, dual)
            if n_iter > 1 and kernel.rank == max_rank < n_outputs:
                gain = history.records[-2]["primal"] - primal
                rank_limited = gap > tol and gain <= _STATIONARY * tol * primal
            if gap <= tol or rank_limited or n_iter == max_iter:
                break
            kernel = best_output_kernel(
                prepared, coefficients, tol=_STEP_TOLERANCE * tol
            )
        return conclude(
            prepared,
            coefficients,
            kernel,
            alpha,
            tol=tol,
            rank_limited=rank_limited,
            history=history,
            start=kernel,
        )
