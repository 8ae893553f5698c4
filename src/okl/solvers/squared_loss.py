"""The solvers of the squared loss without weights, the most special first."""

from __future__ import annotations

from okl.problems import Problem
from okl.solvers.barrier_newton import BarrierNewton
from okl.solvers.base import Solver
from okl.solvers.block_coordinate_descent import BlockCoordinateDescent
from okl.solvers.closed_form import ClosedForm
from okl.solvers.dual_newton import DualNewton
from okl.solvers.factored_newton import FactoredNewton
from okl.solvers.rescaled_trace import RescaledTrace
from okl.solvers.sparse_newton import SparseNewton

SQUARED_LOSS: tuple[type[Solver], ...] = (
    ClosedForm,
    DualNewton,
    FactoredNewton,
    RescaledTrace,
    SparseNewton,
    BarrierNewton,
    BlockCoordinateDescent,
)


def first_that_fits(
    candidates: tuple[type[Solver], ...], problem: Problem, *, n_alphas: int
) -> Solver | None:
    """Return the first solver that takes a problem, None if there is none."""
    for cls in candidates:
        candidate = cls.along(n_alphas)
        if not candidate.missing(problem) and candidate.fits_in_memory(problem):
            return candidate
    return None
