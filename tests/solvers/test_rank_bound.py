"""A bound on the rank: what the fit promises, and what it says it cannot promise."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from okl import OutputKernelClassifier, OutputKernelRegressor
from okl.solvers.factor import factored_newton
from okl.structures import LowRank
from tests.samples import alpha_max, centered, draw, solve


def stationarity(K, Y, found, alpha):
    """Return ||(I - C'KC) B|| / ||B||, zero where the gradient in B vanishes."""
    C = (Y - K @ found.dual_coef) / alpha
    B = found.output_kernel.factor()
    return np.linalg.norm(B - C.T @ (K @ (C @ B))) / np.linalg.norm(B)


def fit(X, Y, rank, alpha, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        return OutputKernelRegressor(
            structure=LowRank(rank), alpha=alpha, **options
        ).fit(X, Y)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_a_binding_bound(rank, seed, intercept):
    X, Y, K = draw(25, 6, seed)
    Kc, Yc = centered(K, Y) if intercept else (K, Y)
    alpha = alpha_max(Kc, Yc) / 300
    free = fit(X, Y, None, alpha, fit_intercept=intercept)
    assert free.rank_ > rank
    bounded = fit(X, Y, rank, alpha, fit_intercept=intercept)
    certificate = bounded.certificate_
    assert certificate.status == "rank_limited"
    assert bounded.rank_ <= rank
    assert np.linalg.matrix_rank(bounded.output_kernel_, hermitian=True) <= rank
    assert bounded.output_kernel_factor_.shape == (6, bounded.rank_)
    true_gap = certificate.primal - free.certificate_.primal
    assert true_gap > 0
    assert certificate.gap >= true_gap * (1 - 1e-9)
    assert certificate.dual <= free.certificate_.primal * (1 + 1e-12)
    assert "larger rank" in certificate.message


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_rank_limited_means_stationary(rank):
    _, Y, K = draw(25, 6)
    alpha = alpha_max(K, Y) / 300
    found = solve(K, Y, LowRank(rank), alpha, tol=1e-8)
    assert found.solution.certificate.status == "rank_limited"
    assert stationarity(K, Y, found, alpha) < 1e-3


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_stationarity_follows_the_tolerance(rank):
    _, Y, K = draw(25, 6)
    alpha = alpha_max(K, Y) / 300
    found = [
        stationarity(K, Y, solve(K, Y, LowRank(rank), alpha, tol=tol), alpha)
        for tol in (1e-4, 1e-8, 1e-12)
    ]
    assert found[1] < 1e-3
    assert found[2] < 1e-4


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_bounded_fit_is_a_good_local_minimum(rank, seed):
    # a first-order method from the truncated solution without a bound must not do
    # better by more than a little: such problems have few bad local minima
    _, Y, K = draw(25, 6, seed)
    alpha = alpha_max(K, Y) / 300
    found = solve(K, Y, LowRank(rank), alpha, tol=1e-8)
    free = solve(K, Y, LowRank(), alpha, tol=1e-8)
    values, vectors = np.linalg.eigh(free.output_kernel.matrix())
    B = vectors[:, -rank:] * np.sqrt(values[-rank:])

    def best_f(B):
        d, U = np.linalg.eigh(K)
        v, V = np.linalg.eigh(B @ B.T)
        C = U @ ((U.T @ Y @ V) / (d[:, None] * v + alpha)) @ V.T
        return C, alpha / 2 * (np.vdot(C, Y) + np.vdot(B, B))

    step = 0.1
    C, value = best_f(B)
    for _ in range(400):
        trial = B - step * (B - C.T @ (K @ (C @ B)))
        other, lower = best_f(trial)
        if lower < value:
            B, C, value, step = trial, other, lower, 1.3 * step
        else:
            step /= 2
    assert found.solution.certificate.primal <= value * (1 + 1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_a_bound_that_does_not_bind_changes_nothing(seed):
    X, Y, K = draw(25, 6, seed)
    alpha = alpha_max(K, Y) / 3
    free = fit(X, Y, None, alpha, fit_intercept=False)
    rank = free.rank_
    assert rank < 6
    for bound in (rank, rank + 1, 6, 100):
        bounded = fit(X, Y, bound, alpha, fit_intercept=False)
        assert bounded.certificate_.status == "optimal"
        assert_allclose(
            bounded.certificate_.primal, free.certificate_.primal, rtol=2e-6
        )
        assert bounded.rank_ <= bound


def test_more_rank_is_never_worse():
    X, Y, K = draw(25, 6)
    alpha = alpha_max(K, Y) / 300
    objectives = [fit(X, Y, p, alpha).certificate_.primal for p in (1, 2, 3, 4, None)]
    assert np.all(np.diff(objectives) <= 1e-5 * objectives[0])


def test_a_bounded_path_warns_of_nothing_and_keeps_its_bound():
    from okl import output_kernel_path

    X, Y, _ = draw(25, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        path = output_kernel_path(X, Y, structure=LowRank(2), alphas=15)
    statuses = [certificate.status for certificate in path.certificates]
    assert statuses[0] == "optimal"
    assert statuses[-1] == "rank_limited"
    assert all(model.rank_ <= 2 for model in path)


def test_the_rank_is_that_of_the_outputs_not_of_the_reduced_problem():
    X, Y, _ = draw(10, 3)
    wide = np.hstack([Y, Y, Y])
    model = fit(X, wide, 2, 1e-2)
    assert model.output_kernel_.shape == (9, 9)
    assert np.linalg.matrix_rank(model.output_kernel_, hermitian=True) <= 2


@pytest.mark.parametrize(
    ("seed", "alpha"),
    [
        (0, 0.1),
        pytest.param(2, 0.1, marks=pytest.mark.product),
        pytest.param(1, 0.01, marks=pytest.mark.slow),
    ],
)
def test_a_hinge_under_a_bound_returns_the_lowest_model_that_it_saw(seed, alpha):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3))
    scores = X @ rng.normal(size=(3, 4)) + rng.normal(size=(30, 4))
    model = OutputKernelClassifier(
        kernel="gaussian", loss="hinge", structure=LowRank(1), alpha=alpha
    ).fit(X, (scores > 0).astype(float))
    assert model.certificate_.status == "rank_limited"
    lowest = min(record["primal"] for record in model.history_)
    assert model.certificate_.primal <= lowest * (1 + 1e-5)


@pytest.mark.parametrize("rank", [None, 2])
def test_larger_alphas_come_first_where_the_start_decides(rank, monkeypatch):
    _, Y, K = draw(25, 6, 0)
    alpha, tried = alpha_max(K, Y) / 300, []
    minimise = factored_newton._minimise

    def spy(prepared, request):
        tried.append(request.alpha)
        return minimise(prepared, request)

    monkeypatch.setattr(factored_newton, "_minimise", spy)
    solve(K, Y, structure=LowRank(rank), alpha=alpha)
    assert tried[-1] == alpha
    assert (len(tried) > 1) == (rank is not None)
    assert sorted(tried, reverse=True) == tried


def test_larger_alphas_come_first_where_rounding_ends_a_fit(monkeypatch):
    _, Y, K = draw(25, 6, 0)
    alpha, tried = alpha_max(K, Y) / 300, []
    minimise = factored_newton._minimise

    def spy(prepared, request):
        tried.append(request.alpha)
        if len(tried) == 1:  # as far as one step leads
            request = request._replace(max_iter=1)
        return minimise(prepared, request)

    monkeypatch.setattr(factored_newton, "_minimise", spy)
    found = solve(K, Y, structure=LowRank(), alpha=alpha)
    assert found.solution.certificate.status == "optimal"
    assert tried[0] == tried[-1] == alpha
    assert len(tried) > 3
