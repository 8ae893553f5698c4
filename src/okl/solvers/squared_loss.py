"""The solvers of the squared loss without weights, the most special first."""

from __future__ import annotations

from okl.problems import Problem
from okl.solvers.base import Solver
from okl.solvers.block_coordinate_descent import BlockCoordinateDescent
from okl.solvers.cholesky import Cholesky
from okl.solvers.factored_newton import FactoredNewton
from okl.solvers.output_kernel_newton import OutputKernelNewton
from okl.solvers.spectral import Spectral

SQUARED_LOSS: tuple[type[Solver], ...] = (
    Cholesky,
    Spectral,
    FactoredNewton,
    OutputKernelNewton,
    BlockCoordinateDescent,
)


def first_that_fits(
    candidates: tuple[type[Solver], ...], problem: Problem, *, n_alphas: int
) -> Solver | None:
    """Return the first solver that takes a problem, None if there is none.

    A factorisation of K + alpha I serves one alpha only, but a kernel per output has
    nothing better.
    """
    factorize = n_alphas == 1 or not problem.operator.shared
    for cls in candidates:
        candidate = cls()
        if candidate.missing(problem) or not candidate.fits_in_memory(problem):
            continue
        if factorize or cls is not Cholesky:
            return candidate
    return None
