"""Predictor and output kernel in turn, for any structure that has a step.

With L fixed the best f is a closed form; with f fixed the best L is the structure's
step at P = F'K^+F. Both lower the same convex objective, so the iteration is
monotone and L stays PSD. Holding the coefficients C instead of f while L is
updated, as published (Dinuzzo et al. 2011, Lemma 4.1), has neither property.

The range of L can only shrink on the way, so it starts full; under a bound on the
rank the iteration would never leave the range it starts with, and is refused.
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
# A start that has lost directions is given this much of an L that has them all.
_FRESH = 1e-2


class BlockCoordinateDescent(Solver):
    """Alternate between f and L until the gap is closed.

    The reference method: simple, monotone, and slow where alpha is neither large
    nor small. Under a trace penalty that makes L singular it stalls, at relative gaps
    of 1e-5 to 1e-2, and says so.
    """

    name: ClassVar[str | None] = "block_coordinate_descent"
    structure_requires: ClassVar[frozenset[str]] = frozenset({"step"})

    def missing(self, problem: Problem) -> list[str]:
        """Return the required capabilities that a problem lacks."""
        n_outputs = problem.targets.shape[1]
        bounded = problem.structure.max_rank(n_outputs) < n_outputs
        return super().missing(problem) + ["'any_rank' of the structure"] * bounded

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
        history = History(problem.reference)
        kernel = problem.structure.known(problem.targets) or self._first(
            prepared, alpha, start, tol
        )
        for n_iter in range(1, max_iter + 1):
            coefficients = in_outputs(
                known_coefficients(prepared, kernel, alpha), kernel
            )
            primal, dual = prepared.bounds(coefficients, kernel, alpha)
            gap = history.add(primal, dual)
            if gap <= tol or n_iter == max_iter:
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
            history=history,
            start=kernel,
        )

    def _first(
        self, prepared: Rotated, alpha: float, start: OutputKernel | None, tol: float
    ) -> OutputKernel:
        """Return an L of full range: that of the iterates can only shrink."""
        fresh = first_output_kernel(prepared, alpha, tol=_STEP_TOLERANCE * tol)
        if start is None:
            return fresh
        if start.rank == prepared.targets.shape[1]:
            return start
        return OutputKernel.from_matrix(start.matrix() + _FRESH * fresh.matrix())
