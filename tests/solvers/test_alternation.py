"""Structures that say no more of L than their update: f and L in turn."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.losses import Huber
from okl.solvers import choose_solver
from okl.structures import Cluster, Frobenius, Sparse, Structure, TraceBall
from tests.samples import alpha_max, draw, solve


class Updated(Structure):
    """Another structure without its region, as one of a user may be."""

    capabilities = frozenset({"update"})

    def __init__(self, structure):
        self.structure = structure

    def penalty(self, output_kernel):
        return self.structure.penalty(output_kernel)

    def conjugate(self, matrix):
        return self.structure.conjugate(matrix)

    def dual_bound(self, matrix, output_kernel):
        return self.structure.dual_bound(matrix, output_kernel)

    def update(self, matrix, *, tol=1e-6):
        return self.structure.update(matrix, tol=tol)


class Bounded(Updated):
    """And a bound on the rank."""

    def max_rank(self, n_outputs):
        return 2


@pytest.mark.parametrize("fraction", [1 / 3, 1 / 30, 1e-3])
@pytest.mark.parametrize(
    "structure",
    [TraceBall(0.01), Frobenius(), Sparse(0.5, 1e-2), Cluster(2)],
    ids=repr,
)
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.each_value
def test_it_falls_to_where_newton_ends(structure, fraction, intercept):
    _, Y, K = draw(40, 6)
    alpha = fraction * alpha_max(K, Y)
    newton = solve(K, Y, structure, alpha, intercept=intercept).solution.certificate
    found = solve(K, Y, Updated(structure), alpha, intercept=intercept).solution
    assert found.certificate.status == newton.status == "optimal"
    assert found.certificate.dual <= newton.primal
    assert newton.dual <= found.certificate.primal
    primal = np.array([record["primal"] for record in found.history])
    assert len(primal) >= 2
    assert np.all(np.diff(primal) <= 1e-13 * primal[0])


def test_where_L_becomes_singular_no_proof_is_claimed():
    _, Y, K = draw(40, 6)
    alpha = alpha_max(K, Y) / 3
    certificate = solve(K, Y, Updated(TraceBall()), alpha).solution.certificate
    best = solve(K, Y, TraceBall(), alpha, tol=1e-9).solution.certificate
    assert certificate.dual <= best.primal
    assert best.dual <= certificate.primal
    assert (certificate.status == "optimal") == (certificate.relative_gap <= 1e-6)


@pytest.mark.parametrize("factor", [3.0, 1e3])
def test_warm_start_and_cold_start_meet(factor):
    _, Y, K = draw(14, 4)
    structure, alpha = Updated(Frobenius()), 0.01
    start = solve(K, Y, structure, alpha * factor).solution.start
    cold = solve(K, Y, structure, alpha, tol=1e-8).solution.certificate
    warm = solve(K, Y, structure, alpha, tol=1e-8, start=start).solution.certificate
    assert warm.status == cold.status == "optimal"
    assert_allclose(warm.primal, cold.primal, rtol=1e-6)


def test_other_losses_and_missing_targets_take_it_in_rounds():
    _, Y, K = draw(14, 4)
    observed = np.ones_like(Y)
    observed[2:6, 1] = 0
    for options in ({"loss": Huber()}, {"weights": observed}):
        ours = solve(K, Y, Updated(Frobenius()), 0.1, **options).solution.certificate
        theirs = solve(K, Y, Frobenius(), 0.1, **options).solution.certificate
        assert ours.status == theirs.status == "optimal"
        assert ours.dual <= theirs.primal
        assert theirs.dual <= ours.primal


def test_it_takes_no_bound_on_the_rank():
    _, Y, K = draw(14, 4)
    problem = solve(K, Y, Frobenius(), 1.0).formulation.problem
    limited = replace(problem, structure=Bounded(Frobenius()))
    with pytest.raises(ValueError, match="needs a structure whose rank is not bounded"):
        choose_solver("output_kernel_newton", limited)
