"""What a structure's region is decides on its solvers, whatever its class."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.optimization.interior import Interior
from okl.optimization.regions import HalfTrace
from okl.output_kernels import SpectralKernel
from okl.solvers import choose_solver
from okl.solvers.smooth.factor_newton import takes
from okl.structures import LowRank, Structure, TraceBall
from okl.structures.spectral_set import SpectralSet
from tests.samples import draw, psd, solve

BUDGET = 2.5


class Budget(SpectralSet):
    """Eigenvalues that share a budget, and no more about them."""

    capabilities = frozenset({"update"})

    def region(self, n_outputs):
        return Interior(budget=BUDGET)


class Trace(Structure):
    """The trace penalty, and no more about it."""

    capabilities = frozenset({"update"})

    def region(self, n_outputs):
        return HalfTrace()

    def penalty(self, output_kernel):
        return LowRank().penalty(output_kernel)

    def conjugate(self, matrix):
        return LowRank().conjugate(matrix)

    def dual_bound(self, matrix, output_kernel):
        return LowRank().dual_bound(matrix, output_kernel)

    def update(self, matrix, *, tol=1e-6):
        return LowRank().update(matrix, tol=tol)


def holes(shape):
    """Draw weights of zero and one."""
    weights = (np.random.default_rng(0).random(shape) >= 0.4).astype(float)
    weights[0] = 1.0
    return weights


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@pytest.mark.parametrize("alpha", [1.0, 1e-2])
def test_a_budget_is_a_ball_of_another_kernel(missing, alpha):
    _, Y, K = draw(20, 6)
    weights = holes(Y.shape) if missing else None
    found = solve(K, Y, Budget(), alpha, tol=1e-8, weights=weights)
    ball = solve(BUDGET * K, Y, TraceBall(), alpha, tol=1e-8, weights=weights)
    ours, theirs = found.solution.certificate, ball.solution.certificate
    assert ours.status == theirs.status == "optimal"
    assert ours.dual <= theirs.primal
    assert theirs.dual <= ours.primal
    assert_allclose(np.trace(found.output_kernel.matrix()), BUDGET)
    if missing:
        problem = found.formulation.problem
        solver = choose_solver("auto", problem)
        assert takes(solver.prepare(problem))


def test_the_bound_of_a_budget_is_that_of_a_ball():
    S, L = psd(5, 1), psd(5, 2, rank=2)
    L /= np.trace(L)
    ball = TraceBall().dual_bound(S, SpectralKernel.from_matrix(L))
    bound = Budget().dual_bound(S, SpectralKernel.from_matrix(BUDGET * L))
    assert_allclose(bound.value, BUDGET * ball.value)
    assert_allclose(bound.directions[1], ball.directions[1])


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
def test_a_trace_has_the_solvers_of_the_trace(missing):
    _, Y, K = draw(20, 6)
    weights = holes(Y.shape) if missing else None
    found = solve(K, Y, Trace(), 0.1, tol=1e-8, weights=weights)
    other = solve(K, Y, LowRank(), 0.1, tol=1e-8, weights=weights)
    ours, theirs = found.solution.certificate, other.solution.certificate
    assert ours.status == "optimal"
    assert ours.dual <= theirs.primal
    assert theirs.dual <= ours.primal
    problem = found.formulation.problem
    solver = choose_solver("auto", problem)
    if missing:
        assert takes(solver.prepare(problem))
    else:
        assert solver.name == "factored_newton"
