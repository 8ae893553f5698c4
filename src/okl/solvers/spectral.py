"""Known output kernel: a closed form in the eigenbases, for any number of alphas."""

from __future__ import annotations

from typing import Any, ClassVar

from okl.output_kernels import SpectralKernel
from okl.problems import Problem, Rotated
from okl.solvers.alternation import known_coefficients
from okl.solvers.base import Solver
from okl.solvers.solution import History, Solution, conclude


class Spectral(Solver):
    """Divide by d l' + alpha in the eigenbases of K and L.

    One eigendecomposition of K serves all alphas; each costs two products with its
    eigenvectors and one with K for the certificate.
    """

    name: ClassVar[str | None] = "spectral"
    structure_requires: ClassVar[frozenset[str]] = frozenset({"known"})

    def prepare(self, problem: Problem) -> tuple[Rotated, SpectralKernel]:
        """Decompose K and L."""
        known = problem.structure.known(problem.targets)
        assert known is not None
        return Rotated.of(problem), known.spectral()

    def solve(
        self,
        prepared: tuple[Rotated, SpectralKernel],
        alpha: float,
        *,
        tol: float,
        max_iter: int,
        start: Any = None,
    ) -> Solution:
        """Evaluate the closed form."""
        rotated, known = prepared
        history = History(rotated.problem.reference)
        coefficients = known.from_coordinates(known_coefficients(rotated, known, alpha))
        return conclude(rotated, coefficients, known, alpha, tol=tol, history=history)
