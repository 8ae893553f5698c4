"""Few observed targets, a bound on the rank: Newton's method in a factor of L."""

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl import OutputKernelRegressor, certify, output_kernel_path
from okl.coding.tasks import Tasks
from okl.losses import Squared
from okl.operators import Dense
from okl.problems import Inputs, formulate
from okl.solvers import Majorization, ObservedNewton
from okl.solvers.observed import bounded_newton
from okl.solvers.observed.bounded_newton import _Here
from okl.solvers.observed.observed_value import ObservedValue
from okl.solvers.request import Request
from okl.structures import LowRank
from tests.samples import draw, gaussian, solve

N, M = 40, 6


def sample(seed=0, n=N, m=M):
    """Return X, y and tasks of three functions of two columns, mixed."""
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(n, 2)), rng.integers(m, size=n)
    functions = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1], X[:, 0] * X[:, 1]])
    Y = functions @ rng.normal(size=(3, m))
    return X, Y[np.arange(n), task] + 0.1 * rng.normal(size=n), task


def problem_of(rank, *, intercept=True, weights=None, seed=0):
    X, y, task = sample(seed)
    inputs = Inputs.of(Dense(gaussian(X)), fit_intercept=intercept)
    given = inputs, y[:, None], Squared(), LowRank(rank), weights
    return formulate(*given, tasks=Tasks(task, M)).problem


def function_of(alpha=0.1, **given):
    prepared = ObservedNewton().prepare(problem_of(2, **given))
    return ObservedValue(prepared.inside, alpha)


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rank", [1, 2, M])
def test_slopes_and_second_derivatives(rank, weighted, intercept, monkeypatch):
    monkeypatch.setattr(bounded_newton, "_AT_ONCE", 2 * N * M)  # two right sides
    weights = np.linspace(0.5, 2.0, N)[:, None] if weighted else None
    function = function_of(intercept=intercept, weights=weights)
    rng = np.random.default_rng(rank)
    here = _Here.at(function, rng.normal(size=(M, rank)))
    hessian, h = here._hessian(), 1e-4
    assert_allclose(hessian, hessian.T, atol=1e-9 * np.abs(hessian).max())
    for _ in range(5):
        direction = rng.normal(size=(M, rank))
        turned = here.vectors @ direction
        up, down = (_Here.at(function, here.factor + t * turned) for t in (h, -h))
        slope = (up.objective - down.objective) / (2 * h)
        assert_allclose(slope, np.vdot(here.gradient, direction), rtol=1e-5, atol=1e-7)
        second = (up.objective - 2 * here.objective + down.objective) / h**2
        along = direction.ravel() @ hessian @ direction.ravel()
        assert_allclose(second, along, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("alpha", [1.0, 0.1, 1e-2, 1e-3])
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_objective_is_stationary_in_a_factor(rank, alpha, seed):
    X, y, task = sample(seed)
    model = OutputKernelRegressor(
        "rbf", LowRank(rank), alpha, fit_intercept=False, normalize_y=False
    ).fit(X, y, task=task)
    assert model.certificate_.status in ("rank_limited", "optimal")
    assert model.rank_ <= rank
    assert all(one["dual"] <= one["primal"] * (1 + 1e-9) for one in model.history_)
    certificate = certify(model, X, y, task=task)
    assert_allclose(certificate.primal, model.certificate_.primal, rtol=1e-9)
    assert_allclose(certificate.dual, model.certificate_.dual, rtol=1e-6)
    # (I - C'KC) B = 0 with C that of what is left
    K = model.kernel_(X)
    C = np.zeros((len(y), M))
    C[np.arange(len(y)), task] = (y - model.predict(X, task=task)) / alpha
    B = model.output_kernel_factor_
    left = B - C.T @ (K @ (C @ B))
    assert np.vdot(left, left) <= 1e-3 * np.vdot(B, B)


@pytest.mark.filterwarnings("ignore:The relative duality gap")  # of rounds
def test_its_minima_are_no_higher_than_those_of_rounds():
    """On average; which minimum is found is a matter of luck with either."""
    ratios, request = [], Request(0.1, tol=1e-6, max_iter=100)
    for seed in range(10):
        problem = problem_of(2, seed=seed)
        ours, rounds = (
            solver.solve(solver.prepare(problem), request).certificate.primal
            for solver in (ObservedNewton(), Majorization())
        )
        ratios.append(ours / rounds)
    assert np.mean(np.log(ratios)) <= 0.02


@pytest.mark.parametrize("more", [0, 1])
def test_a_bound_that_does_not_bind_is_none(more):
    X, y, task = sample()
    free = OutputKernelRegressor("rbf", "low_rank", 0.5).fit(X, y, task=task)
    assert free.rank_ + more < M
    bounded = OutputKernelRegressor("rbf", LowRank(free.rank_ + more), 0.5)
    bounded.fit(X, y, task=task)
    assert bounded.certificate_.status == "optimal"
    # columns that vanish leave no trace in the model
    assert bounded.rank_ == free.rank_
    last = bounded.history_[-1]["primal"]
    assert_allclose(bounded.certificate_.primal, last, rtol=1e-9)
    ours, theirs = bounded.certificate_, free.certificate_
    assert ours.dual <= theirs.primal * (1 + 1e-9)
    assert theirs.dual <= ours.primal * (1 + 1e-9)


def test_above_the_largest_alpha_there_is_nothing():
    X, y, task = sample()
    path = output_kernel_path(
        X, y, task=task, kernel="rbf", structure=LowRank(2), alphas=8, eps=1e-3
    )
    assert path[0].rank_ == 0
    for one in path.certificates:
        assert one.status in ("optimal", "rank_limited")
    alpha = 1.1 * path.alphas[0]
    model = OutputKernelRegressor("rbf", LowRank(2), alpha).fit(X, y, task=task)
    assert model.certificate_.status == "optimal"
    assert model.rank_ == 0


def test_a_target_matrix_is_the_long_form():
    X, y, task = sample()
    wide = np.where(task[:, None] == np.arange(M), y[:, None], np.nan)
    model = OutputKernelRegressor("rbf", LowRank(2), 0.05)
    long = model.fit(X, y, task=task).certificate_.primal
    model.set_params(solver="observed_newton")
    assert_allclose(model.fit(X, wide).certificate_.primal, long, rtol=1e-6)


def test_columns_that_are_zero_grow_where_they_may():
    function = function_of()
    nothing = _Here.at(function, np.zeros((M, 2)))
    grown = nothing.grown(function)
    assert np.all(grown.roots > 0)
    assert grown.grown(function) is grown
    one = _Here.at(function, grown.factor[:, :1] * np.array([1.0, 0.0]))
    both = one.grown(function)
    assert both.roots[1] > 0
    assert_allclose(np.abs(both.vectors[:, 0] @ one.vectors[:, 0]), 1.0, atol=0.1)


def test_steps_that_lead_nowhere_end(monkeypatch):
    tried = []

    def step(function, here, enough):
        tried.append(function.alpha)
        return here, False

    monkeypatch.setattr(bounded_newton, "_step", step)
    solver, request = ObservedNewton(), Request(1e-3, tol=1e-6, max_iter=50)
    solver.solve(solver.prepare(problem_of(2)), request)
    assert len(tried) == len(set(tried)) > 2  # one for each alpha


def test_arrays_of_any_library():
    weights = (np.random.default_rng(1).random((N, M)) < 0.3).astype(float)
    weights[0] = 1.0
    _, Y, K = draw(N, M)
    options = {"solver": "observed_newton", "weights": weights, "intercept": True}
    here = solve(K, Y, LowRank(2), 0.05, **options)
    there = solve(K, Y, LowRank(2), 0.05, xp=strict, **options)
    assert there.dual_coef.__array_namespace__() is strict
    ours, theirs = (one.solution.certificate.primal for one in (here, there))
    assert_allclose(ours, theirs, rtol=1e-5)
