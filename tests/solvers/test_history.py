"""What solvers tell of their way, and that they get there."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl import OutputKernelRegressor
from okl.certificates import GapScale, relative_gap
from okl.solvers.monitor import Monitor
from okl.structures import Cluster, Frobenius, LowRank, Sparse, TraceBall
from tests.instances import STRUCTURES
from tests.samples import alpha_max, draw, solve

LEARNED = [Frobenius(), LowRank(), LowRank(2)]
each = pytest.mark.parametrize("structure", LEARNED, ids=repr)


@each
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize("n", [14, 3])
def test_records_are_consistent(structure, intercept, n):
    X, Y, _ = draw(n, 5)
    model = OutputKernelRegressor(
        structure=structure, alpha=0.05, fit_intercept=intercept
    ).fit(X, Y)
    history, certificate = model.history_, model.certificate_
    assert len(history) == model.n_iter_ <= 60
    for record in history:
        assert set(record) == {"primal", "dual", "relative_gap", "seconds"}
        gap = relative_gap(record["primal"], record["dual"], GapScale(0.0))
        assert record["relative_gap"] == pytest.approx(gap, rel=1e-9)
        assert gap >= -1e-12
        # every primal value is above every bound, the last one included
        assert record["primal"] >= certificate.dual * (1 - 1e-12)
        assert record["dual"] <= certificate.primal * (1 + 1e-12)
    seconds = [record["seconds"] for record in history]
    assert np.all(np.diff(seconds) >= 0)
    assert seconds[0] >= 0
    assert_allclose(history[-1]["primal"], certificate.primal, rtol=1e-9)
    assert history[-1]["dual"] == pytest.approx(certificate.dual, rel=1e-6)


@pytest.mark.parametrize("case", STRUCTURES[:4], ids=lambda case: case.label)
def test_a_closed_form_is_one_iteration(case):
    X, Y, _ = draw(10, 4)
    model = OutputKernelRegressor(structure=case.make(4)).fit(X, Y)
    assert model.n_iter_ == len(model.history_) == 1
    assert model.history_[0]["primal"] == model.certificate_.primal
    assert model.certificate_.relative_gap <= 1e-10
    assert model.certificate_.status == "optimal"


@pytest.mark.parametrize("alpha", [3.0, 0.1, 1e-3])
def test_newton_steps_of_the_trace_structure_are_monotone(alpha):
    _, Y, K = draw(14, 4)
    found = solve(K, Y, LowRank(), alpha, tol=1e-9)
    primal = np.array([record["primal"] for record in found.solution.history])
    assert np.all(np.diff(primal) <= 1e-13 * primal[0])


@each
@pytest.mark.parametrize("factor", [3.0, 30.0, 1e3])
def test_warm_start_and_cold_start_meet(structure, factor):
    # the range of L must grow again where the start has lost directions
    _, Y, K = draw(14, 4)
    alpha = 0.01
    larger = solve(K, Y, structure, alpha * factor, max_iter=500)
    cold = solve(K, Y, structure, alpha, tol=1e-8, max_iter=500)
    warm = solve(
        K,
        Y,
        structure,
        alpha,
        tol=1e-8,
        max_iter=500,
        start=larger.solution.start,
    )
    expected = cold.solution.certificate
    assert warm.solution.certificate.status == expected.status
    assert_allclose(warm.solution.certificate.primal, expected.primal, rtol=1e-6)


@pytest.mark.parametrize("structure", [Frobenius(), LowRank()], ids=repr)
def test_a_start_from_where_nothing_is_learned_is_left(structure):
    _, Y, K = draw(14, 4)
    top = alpha_max(K, Y)
    start = solve(K, Y, structure, 2 * top).solution.start
    found = solve(K, Y, structure, top / 10, start=start, max_iter=500)
    assert found.output_kernel.rank > 0
    assert found.solution.certificate.relative_gap < 1e-6


@pytest.mark.parametrize(
    "structure",
    [TraceBall(), TraceBall(0.01), Cluster(2), Sparse(0.5), Sparse(1.0, 1e-4)],
    ids=repr,
)
@pytest.mark.parametrize("factor", [1.5, 30.0, 1e3])
def test_newton_in_L_meets_from_any_start(structure, factor):
    # near an optimum its barrier starts low; far from it that would take the longer
    _, Y, K = draw(14, 4)
    alpha = 0.01
    start = solve(K, Y, structure, alpha * factor).solution.start
    cold = solve(K, Y, structure, alpha, tol=1e-8).solution
    warm = solve(K, Y, structure, alpha, tol=1e-8, start=start).solution
    assert cold.certificate.status == warm.certificate.status == "optimal"
    assert_allclose(warm.certificate.primal, cold.certificate.primal, rtol=2e-8)
    if factor == 1.5:
        assert warm.n_iter < cold.n_iter


@each
def test_a_start_is_not_written_to(structure):
    _, Y, K = draw(14, 4)
    start = solve(K, Y, structure, 1.0).solution.start
    before = pickle.dumps(start)
    solve(K, Y, structure, 0.1, start=start)
    assert pickle.dumps(start) == before


@each
def test_a_tighter_tolerance_is_kept(structure):
    if structure.max_rank(4) < 4:
        pytest.skip("a bound on the rank keeps the gap open")
    _, Y, K = draw(14, 4)
    for tol in (1e-1, 1e-3, 1e-6, 1e-9, 1e-11):
        found = solve(K, Y, structure, 0.1, tol=tol).solution.certificate
        assert found.relative_gap <= tol
        assert found.status == "optimal"


@each
def test_an_impossible_tolerance_ends(structure):
    _, Y, K = draw(14, 4)
    found = solve(K, Y, structure, 0.1, tol=1e-300, max_iter=10**6)
    assert found.solution.n_iter < 500
    assert found.solution.certificate.status != "optimal" or (
        found.solution.certificate.gap <= 0
    )
    if structure.max_rank(4) == 4:
        assert found.solution.certificate.relative_gap < 1e-11


@each
@pytest.mark.parametrize("max_iter", [1, 2, 3])
def test_max_iter_is_kept(structure, max_iter):
    _, Y, K = draw(14, 4)
    found = solve(K, Y, structure, 1e-3, max_iter=max_iter, tol=1e-13)
    assert found.solution.n_iter <= max_iter
    assert len(found.solution.history) == found.solution.n_iter
    assert np.all(np.isfinite(found.dual_coef))


def test_dual_values_of_no_use_do_not_say_which_model_is_the_best():
    # gaps of about one: the worst model has the smallest
    monitor = Monitor(GapScale(0.0), tol=1e-6, max_iter=9)
    for primal, dual in ((0.09, -4e3), (82.0, -1e14), (0.5, -1e9)):
        monitor.add(primal, dual, primal)
    assert monitor.best == 0.09
    monitor.add(0.2, 0.15, "close")
    monitor.add(0.1, -1e3, "lower")
    assert monitor.best == "close"


def test_what_counts_as_coming_nearer():
    monitor = Monitor(GapScale(0.0), tol=1e-6, max_iter=9)
    monitor.add(2.0, 1.0)
    assert monitor.falls
    assert monitor.nears
    monitor.add(2.0, 1.5)
    assert monitor.nears
    assert not monitor.falls
    monitor.add(2.0, 1.8, limited=True)  # a smaller gap says nothing there
    assert not monitor.nears
    monitor.add(2.0, 1.8)
    assert not monitor.nears


def test_of_models_whose_gaps_are_rounding_the_last_is_the_best():
    monitor = Monitor(GapScale(0.0), tol=1e-16, max_iter=9)
    for dual, model in ((1 - 1e-12, "far"), (1.0, "near"), (1 + 3e-15, "nearer")):
        monitor.add(1.0, dual, model)
    assert monitor.best == "nearer"
    monitor.add(1.0, 1 - 1e-12, "far again")
    assert monitor.best == "nearer"
    assert monitor.smallest == 2.0**-52
