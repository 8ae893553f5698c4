"""Losses with kinks and a learned L: the loss apart from everything else."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from okl import OutputKernelRegressor
from okl.kernels import Gaussian
from okl.losses import Quantile
from okl.operators import Dense
from okl.problems import Inputs, formulate
from okl.solvers import Request
from okl.solvers.kinks import augmented_lagrangian, splitting
from okl.solvers.kinks.splitting import split
from okl.solvers.solution import Solution
from okl.solvers.solve import solve_path
from okl.structures import Cluster, Frobenius, LowRank, Sparse


def draw(n=120, m=6):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    Z = np.sin(X @ rng.normal(size=(3, 2)))
    return X, Z @ rng.normal(size=(2, m)) + 0.3 * rng.normal(size=(n, m))


@pytest.fixture
def outcomes(monkeypatch):
    """What `split` returned, in the order of the calls."""
    found = []

    def watched(*arguments, **options):
        found.append(split(*arguments, **options))
        return found[-1]

    monkeypatch.setattr(augmented_lagrangian, "split", watched)
    return found


@pytest.mark.parametrize("structure", [Frobenius(), Sparse(), LowRank()], ids=repr)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.each_value
def test_is_the_optimum_of_the_rounds(
    structure, missing, intercept, outcomes, monkeypatch
):
    X, Y = draw(60, 4)
    if missing:
        Y[::4, 0] = np.nan
    options = {"loss": Quantile(0.3), "fit_intercept": intercept}
    model = OutputKernelRegressor(Gaussian(0.5), structure, 0.3, **options)
    value = model.fit(X, Y).certificate_.primal
    assert isinstance(outcomes[-1], Solution)
    assert model.certificate_.status == "optimal"
    monkeypatch.setattr(augmented_lagrangian, "can_be_split", lambda problem: False)
    assert_allclose(value, model.fit(X, Y).certificate_.primal, rtol=2e-6)


def test_multipliers_at_a_bound_are_exactly_there(outcomes):
    X, Y = draw()
    model = OutputKernelRegressor(
        Gaussian(0.5), "frobenius", 3.0, loss=Quantile(0.3), normalize_y=False
    )
    a = model.fit(X, Y).dual_point_
    assert isinstance(outcomes[-1], Solution)
    assert np.mean((a == -0.7) | (a == 0.3)) > 0.5
    assert_allclose(a.sum(axis=0), 0, atol=1e-10)
    assert_allclose(model.dual_coef_, a @ model.output_kernel_ / 3.0, atol=1e-10)


def test_predictions_that_meet_most_targets_are_found(outcomes):
    # at a small alpha: the multipliers between bounds are solved for at once
    X, Y = draw()
    model = OutputKernelRegressor(Gaussian(0.5), "frobenius", 1e-3, loss=Quantile(0.3))
    a = model.fit(X, Y).dual_point_
    assert isinstance(outcomes[-1], Solution)
    assert model.certificate_.status == "optimal"
    assert np.mean((a > -0.7) & (a < 0.3)) > 0.9


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_where_there_may_be_no_more_iterations_the_last_model_is_kept():
    X, Y = draw()
    options = {"loss": Quantile(0.3), "max_iter": 3}
    model = OutputKernelRegressor(Gaussian(0.5), "frobenius", 0.3, **options).fit(X, Y)
    assert model.n_iter_ == 3
    assert model.certificate_.status == "max_iter"
    assert 1e-6 < model.certificate_.relative_gap < 1e-2


def test_multipliers_between_their_bounds_are_solved_for_at_the_end(
    outcomes, monkeypatch
):
    X, Y = draw()
    monkeypatch.setattr(splitting, "_LOOKS", 4)
    OutputKernelRegressor(Gaussian(0.5), "frobenius", 0.1, loss=Quantile(0.3)).fit(X, Y)
    (found,) = outcomes
    *_, last, exact = [record["relative_gap"] for record in found.history]
    assert exact <= 1e-6
    assert last > 1e-5


@pytest.mark.parametrize("structure", [Frobenius(), Sparse()], ids=repr)
def test_missing_targets_are_no_reason_to_crawl(structure, outcomes):
    # without acceleration the rounds have to go on, for ten times as long
    X, Y = draw(200)
    Y[np.random.default_rng(1).random(Y.shape) < 0.3] = np.nan
    model = OutputKernelRegressor(Gaussian(0.5), structure, 1e-3, loss=Quantile(0.3))
    assert model.fit(X, Y).certificate_.status == "optimal"
    assert isinstance(outcomes[-1], Solution)


def test_where_it_crawls_others_go_on(outcomes, monkeypatch):
    # most directions of L are on their way to zero
    X, Y = draw()
    rounds, begun = augmented_lagrangian._rounds, []

    def watched(prepared, request):
        begun.append(request.start.multipliers)
        return rounds(prepared, request)

    monkeypatch.setattr(augmented_lagrangian, "_rounds", watched)
    model = OutputKernelRegressor(Gaussian(0.5), LowRank(), 10.0, loss="quantile")
    assert model.fit(X, Y).certificate_.status == "optimal"
    (multipliers,) = outcomes
    assert begun[0] is multipliers


def test_it_ends_sooner_where_another_solver_is_quick(outcomes, monkeypatch):
    # a gap is seldom halved from one look to the next
    monkeypatch.setattr(splitting, "_IDLE_IF_ANOTHER", 1)
    X, Y = draw()
    for structure, kind in ((Sparse(), Solution), (Frobenius(), np.ndarray)):
        model = OutputKernelRegressor(Gaussian(0.5), structure, 20, loss=Quantile(0.3))
        assert model.fit(X, Y).certificate_.status == "optimal"
        assert isinstance(outcomes[-1], kind)


def test_where_most_targets_are_met_the_model_stays_as_it_is(monkeypatch):
    X, Y = draw(60)
    K = Gaussian(0.5)(X)
    inputs = Inputs.of(Dense(K), fit_intercept=True)
    problem = formulate(inputs, Y, Quantile(0.9), Frobenius()).problem
    request = Request(1e-6, 1e-4, 1000, None)
    for here, theta in splitting._looks(problem, request, None):
        point = splitting.balanced(problem, here.multipliers)
        given = problem, point, theta, here.kernel, request
        model = splitting.with_dual_point(*given)
        if not model.certificate.failed:
            break
    free = splitting.n_free(problem, point)
    assert 0.5 * Y.size < free <= Y.size
    monkeypatch.setattr(splitting, "sparse", lambda *given: None)
    for most, expected in ((free - 1, model), (free, None)):
        monkeypatch.setattr(splitting, "DIRECT", most)
        assert splitting._with_exact_kinks(model, problem, request) is expected


def test_where_the_best_output_kernel_is_zero(outcomes):
    X, Y = draw()
    model = OutputKernelRegressor(Gaussian(0.5), LowRank(), 1e5, loss="quantile")
    assert model.fit(X, Y).certificate_.status == "optimal"
    assert outcomes == [None]
    assert_array_equal(model.output_kernel_, 0)


def test_goes_on_from_a_neighbouring_alpha(outcomes):
    X, Y = draw()
    inputs = Inputs.of(Dense(Gaussian(0.5)(X)), fit_intercept=True)
    problem = formulate(inputs, Y, Quantile(), Frobenius()).problem
    options = {"tol": 1e-6, "max_iter": 100}
    _, near = solve_path(problem, [0.22, 0.2], **options)
    (cold,) = solve_path(problem, [0.2], **options)
    assert all(isinstance(found, Solution) for found in outcomes)
    assert near.certificate.status == cold.certificate.status == "optimal"
    assert near.n_iter < cold.n_iter


def test_a_path_is_split_again_after_an_alpha_at_which_it_crawled(outcomes):
    X, Y = draw()
    inputs = Inputs.of(Dense(Gaussian(0.5)(X)), fit_intercept=True)
    problem = formulate(inputs, Y, Quantile(), LowRank()).problem
    path = solve_path(problem, [10.0, 0.3, 0.1], tol=1e-6, max_iter=100)
    assert all(solution.certificate.status == "optimal" for solution in path)
    assert [isinstance(found, Solution) for found in outcomes] == [False, True, True]


def test_rows_without_weight_count_for_nothing(outcomes):
    X, Y = draw()
    weights = np.where(np.arange(len(X)) < 80, 1.0, 0.0)
    model = OutputKernelRegressor(Gaussian(0.5), Cluster(2), 0.3, loss="quantile")
    model.fit(X, Y, sample_weight=weights)
    assert model.certificate_.status == "optimal"
    assert_array_equal(model.dual_point_[80:], 0)
