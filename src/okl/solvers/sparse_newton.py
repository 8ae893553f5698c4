"""Sparse output kernel, squared loss: Newton's method in L alone.

The best predictor is eliminated (`okl.solvers.best_fit`); what is left is a smooth
function of L plus the sparse penalty, see `okl.optimization.orthant_newton`.
Alternating between predictor and output kernel needs from a few to hundreds of rounds,
the more the smaller eps and the larger mu. This needs 15 to 60 Newton steps where eps
is not far below the square of L, and hundreds where it is and mu is near 1: then
standardise the targets, or raise eps.
"""

from __future__ import annotations

from typing import Any, ClassVar

from okl.numerics.arrays import eigh, namespace
from okl.optimization.orthant_newton import Iterate, orthant_newton
from okl.output_kernels import SpectralKernel
from okl.problems import Problem, Rotated
from okl.solvers.alternation import known_coefficients
from okl.solvers.base import Solver, require_output_matrices
from okl.solvers.best_fit import BestFit
from okl.solvers.solution import History, Solution, conclude

# Fixed-point rounds for the first scale, and when to stop them.
_SCALE_ROUNDS, _SCALE_CHANGE = 50, 0.1


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
        scale = _first_scale(prepared, alpha, float(structure.eps))
        n_outputs = problem.targets.shape[1]
        identity = namespace(problem.targets).eye(
            n_outputs, dtype=problem.targets.dtype
        )
        iterates = orthant_newton(
            BestFit(prepared.eigenvalues, prepared.targets, alpha),
            scale * identity,
            weight=1 - float(structure.mu),
            eps=float(structure.eps),
            first_eps=scale**2,
        )
        smallest = float("inf")
        for iterate in iterates:
            kernel = _output_kernel(iterate)
            coordinates = known_coefficients(prepared, kernel, alpha)
            coefficients = kernel.from_coordinates(coordinates)
            gap = history.add(*prepared.bounds(coefficients, kernel, alpha))
            if gap < smallest or len(history.records) == 1:
                smallest, best = gap, (coefficients, kernel)
            if gap <= tol or len(history.records) >= max_iter:
                break
        return conclude(prepared, *best, alpha, tol=tol, history=history)


def _first_scale(rotated: Rotated, alpha: float, eps: float) -> float:
    """Return the eigenvalue that L would have along the strongest direction of Y alone.

    There the step of the trace penalty is one number, l = (p(l) + eps)^(1/2), and its
    fixed point is the scale from which the barrier comes down. (That of the best
    multiple of the identity is far too small where one direction dominates.)
    """
    xp = namespace(rotated.targets)
    d = rotated.eigenvalues
    if d.shape[0] == 0:
        return eps**0.5
    moment = rotated.targets.T @ (d * rotated.targets)
    _, vectors = eigh((moment + moment.T) / 2)
    energy = d * (rotated.targets @ vectors[:, -1:]) ** 2
    scale = (float(xp.sum(energy)) / alpha) ** 0.5 + eps**0.5
    for _ in range(_SCALE_ROUNDS):
        previous = scale
        moved = energy * (scale / (d * scale + alpha)) ** 2
        scale = (float(xp.sum(moved)) + eps) ** 0.5
        if abs(scale - previous) <= _SCALE_CHANGE * previous:
            break
    return scale


def _output_kernel(iterate: Iterate) -> SpectralKernel:
    xp = namespace(iterate.values)
    return SpectralKernel(
        xp.flip(iterate.values), xp.flip(iterate.vectors, axis=1), iterate.matrix
    )
