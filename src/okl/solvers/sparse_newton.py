"""Sparse output kernel, squared loss: Newton's method in L alone.

The best predictor is eliminated (`okl.solvers.best_fit`); what is left is a smooth
function of L plus the sparse penalty, see `okl._orthant_newton`. Alternating between
predictor and output kernel needs from a few to hundreds of rounds, the more the
smaller eps and the larger mu; this needs 15 to 60 Newton steps whatever they are.
"""

from __future__ import annotations

from typing import Any, ClassVar

from okl._array import namespace
from okl._orthant_newton import Iterate, orthant_newton
from okl._output_kernel import OutputKernel
from okl.problems import Problem, Rotated
from okl.solvers.alternation import in_outputs, known_coefficients, typical_scale
from okl.solvers.base import Solver, require_output_matrices
from okl.solvers.best_fit import BestFit
from okl.solvers.solution import History, Solution, conclude


class SparseNewton(Solver):
    """Newton over the entries of L that are not zero."""

    name: ClassVar[str | None] = "sparse_newton"
    structure_requires: ClassVar[frozenset[str]] = frozenset({"sparse"})

    def prepare(self, problem: Problem) -> Rotated:
        """Decompose K, after looking for room for matrices of outputs."""
        require_output_matrices(problem)
        return Rotated.of(problem)

    def solve(
        self,
        prepared: Rotated,
        alpha: float,
        *,
        tol: float,
        max_iter: int,
        start: Any = None,
    ) -> Solution:
        """Iterate from a scaled identity, with a barrier that starts at its scale."""
        problem = prepared.problem
        structure: Any = problem.structure
        history = History(problem.reference)
        scale = typical_scale(prepared, alpha, tol=tol)
        n_outputs = problem.targets.shape[1]
        identity = namespace(problem.targets).eye(
            n_outputs, dtype=problem.targets.dtype
        )
        iterates = orthant_newton(
            BestFit(prepared.eigenvalues, prepared.targets, alpha),
            scale * identity,
            weight=1 - structure.mu,
            eps=structure.eps,
            first_eps=scale**2,
        )
        for iterate in iterates:
            kernel = _output_kernel(iterate)
            coordinates = known_coefficients(prepared, kernel, alpha)
            coefficients = in_outputs(coordinates, kernel)
            gap = history.add(*prepared.bounds(coefficients, kernel, alpha))
            if gap <= tol or len(history.records) >= max_iter:
                break
        return conclude(prepared, coefficients, kernel, alpha, tol=tol, history=history)


def _output_kernel(iterate: Iterate) -> OutputKernel:
    xp = namespace(iterate.values)
    return OutputKernel(
        xp.flip(iterate.values), xp.flip(iterate.vectors, axis=1), iterate.matrix
    )
