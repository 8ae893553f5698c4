"""Few observed entries, entries of L penalised: Newton's method in L."""

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl import OutputKernelRegressor, certify, output_kernel_path
from okl.coding.tasks import Tasks
from okl.losses import Squared
from okl.operators import Dense
from okl.output_kernels import SpectralKernel
from okl.problems import Inputs, formulate
from okl.solvers import Majorization, ObservedNewton, choose_solver
from okl.solvers.observed.observed_value import ObservedValue
from okl.solvers.predictor.approximation import Prepared
from okl.structures import Sparse
from tests.covering import later
from tests.samples import psd, solve

M = 6


def targets(n, m, seed=0):
    """Return rows, smooth functions of them with noise, and the generator."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    shared = np.sin(X @ rng.normal(size=(3, 2)))[:, np.arange(m) % 2]
    return X, shared + 0.3 * rng.normal(size=(n, m)), rng


def tasks_of_few_rows(n_tasks=20, n_rows=5):
    """Return X, y and the tasks, of rows that have one each."""
    X, Y, _ = targets(n_tasks * n_rows, n_tasks)
    ids = np.repeat(np.arange(n_tasks), n_rows)
    return X, Y[np.arange(len(X)), ids], ids


def function(intercept, alpha=0.3):
    """Return phi of targets of which most are missing, and one output has none."""
    X, Y, rng = targets(20, M)
    weights = np.where(rng.random(Y.shape) < 0.4, rng.uniform(0.5, 2, Y.shape), 0.0)
    weights[:, 3] = 0.0
    weights[:2, 0] = 1.0
    inputs = Inputs.of(Dense(X @ X.T + np.eye(20)), fit_intercept=intercept)
    problem = formulate(inputs, Y, Squared(), Sparse(0.5), weights).problem
    ones = SpectralKernel(np.ones(M))
    return ObservedValue(Prepared.of(problem, ones, 0), alpha)


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_the_value_is_that_of_the_best_predictor(intercept):
    phi, L = function(intercept), psd(M, seed=1) + np.eye(M)
    problem, alpha, W = phi.problem, phi.alpha, phi.curvature.diagonal
    rows, outputs = np.nonzero(W)
    J = problem.operator.block(rows) * L[np.ix_(outputs, outputs)]
    A, y = J + np.diag(alpha / W[rows, outputs]), problem.targets[rows, outputs]
    c = np.linalg.solve(A, y)
    if intercept:
        groups = np.eye(M)[:, np.unique(outputs)][outputs]
        inside = np.linalg.solve(A, groups)
        c = c - inside @ np.linalg.solve(groups.T @ inside, groups.T @ c)
    point = phi.at(*np.linalg.eigh(L))
    assert_allclose(point.dual[rows, outputs], c, rtol=1e-8, atol=1e-9)
    assert np.all(point.dual[W == 0] == 0)
    residual = alpha * c / W[rows, outputs]
    loss = np.sum(W[rows, outputs] * residual**2) / 2
    assert_allclose(alpha * point.value, loss + alpha / 2 * c @ J @ c, rtol=1e-9)


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_the_derivatives_are_those_of_the_value(intercept):
    phi, L = function(intercept), psd(M, seed=1) + np.eye(M)
    values, V = np.linalg.eigh(L)
    point, D, step = phi.at(values, V), psd(M, seed=2), 1e-5

    def near(t):
        there, axes = np.linalg.eigh(L + t * D)
        found = phi.at(there, axes)
        return found.value, axes @ found.moment @ axes.T

    (low, before), (high, after) = near(-step), near(step)
    inside = V.T @ D @ V
    assert_allclose(
        (high - low) / (2 * step), -np.vdot(point.moment, inside) / 2, rtol=1e-6
    )
    assert_allclose(
        V @ point.curvature(inside) @ V.T,
        (before - after) / (4 * step),
        rtol=1e-5,
        atol=1e-9,
    )
    assert np.all(point.diagonal > 0)


@pytest.mark.parametrize("mu", [0.5, 0.9, *later(0.1, 1.0)])
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize("weighted", [False, True], ids=["ones", "weights"])
def test_it_is_the_optimum_of_rounds(mu, intercept, weighted):
    X, Y, rng = targets(60, M)
    Y[rng.random(Y.shape) < 0.6] = np.nan
    weights = rng.uniform(0.5, 2, Y.shape) if weighted else None
    model = OutputKernelRegressor(
        structure=Sparse(mu), alpha=0.3, fit_intercept=intercept
    )
    model.set_params(solver="observed_newton").fit(X, Y, sample_weight=weights)
    found = model.certificate_
    assert found.status == "optimal"
    again = certify(model, X, Y, sample_weight=weights)
    assert_allclose([again.primal, again.dual], [found.primal, found.dual], rtol=1e-9)
    # where mu is below one entries are penalised, and some are zero, not only small
    assert np.any(model.output_kernel_ == 0) == (mu < 1)
    model.set_params(solver="majorization").fit(X, Y, sample_weight=weights)
    rounds = model.certificate_
    assert rounds.dual <= found.primal * (1 + 1e-9)
    assert found.dual <= rounds.primal * (1 + 1e-9)


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_the_long_form_is_the_target_matrix(intercept):
    X, y, ids = tasks_of_few_rows(6, 8)
    weights = np.linspace(0.5, 2.0, len(y))
    model = OutputKernelRegressor(
        structure=Sparse(0.8), alpha=0.1, fit_intercept=intercept, tol=1e-9
    )
    model.set_params(solver="observed_newton")
    long = model.fit(X, y, task=ids, sample_weight=weights)
    scores, found = long.predict(X, task=ids), long.certificate_
    assert found.status == "optimal"
    again = certify(long, X, y, task=ids, sample_weight=weights)
    assert_allclose(again.dual, found.dual, rtol=1e-9)
    wide = np.where(ids[:, None] == np.arange(6), y[:, None], np.nan)
    wide_model = model.fit(X, wide, sample_weight=weights)
    assert_allclose(wide_model.certificate_.primal, found.primal, rtol=1e-8)
    own = wide_model.predict(X)[np.arange(len(y)), ids]
    assert_allclose(own, scores, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("alpha", [0.1, 1e-2, 1e-3])
def test_a_small_alpha_is_proved_in_a_few_steps(alpha):
    # rounds took a hundred and more, or stalled, at gaps of 1e-4
    X, y, ids = tasks_of_few_rows()
    model = OutputKernelRegressor(structure=Sparse(0.9), alpha=alpha)
    model.fit(X, y, task=ids)
    assert model.certificate_.status == "optimal"
    assert model.n_iter_ <= 30


def test_a_path_is_proved_and_ends_where_a_fit_does():
    X, y, ids = tasks_of_few_rows()
    alphas = [1.0, 0.1, 1e-2]
    path = output_kernel_path(X, y, structure=Sparse(0.9), alphas=alphas, task=ids)
    assert [model.certificate_.status for model in path] == ["optimal"] * 3
    alone = OutputKernelRegressor(structure=Sparse(0.9), alpha=1e-2)
    alone = alone.fit(X, y, task=ids).certificate_
    assert_allclose(path[-1].certificate_.primal, alone.primal, rtol=2e-6)


def test_any_array_namespace():
    X, Y, rng = targets(20, M)
    K, weights = X @ X.T + np.eye(20), (rng.random(Y.shape) < 0.4).astype(float)
    options = {"intercept": True, "weights": weights, "solver": "observed_newton"}
    here = solve(K, Y, Sparse(0.5), 0.3, **options)
    there = solve(K, Y, Sparse(0.5), 0.3, xp=strict, **options)
    assert there.dual_coef.__array_namespace__() is strict
    assert there.output_kernel.eigenvalues.__array_namespace__() is strict
    assert there.solution.certificate.status == "optimal"
    primal = here.solution.certificate.primal
    assert_allclose(there.solution.certificate.primal, primal, rtol=1e-6)


def test_targets_without_signal_are_their_means():
    X, Y, rng = targets(30, M)
    Y = np.where(rng.random(Y.shape) < 0.3, 2.0, np.nan)
    Y[0] = 2.0
    model = OutputKernelRegressor(structure=Sparse(0.5), solver="observed_newton")
    assert_allclose(model.fit(X, Y).predict(X), 2.0, rtol=1e-9)
    assert model.certificate_.status == "optimal"


def test_it_is_the_choice_where_entries_are_few():
    X, Y, rng = targets(200, 10)

    def chosen(n_observed, workspace=256):
        weights = np.zeros(Y.size)
        weights[rng.choice(Y.size, n_observed, replace=False)] = 1.0
        weights = weights.reshape(Y.shape)
        inputs = Inputs.of(Dense(X @ X.T, workspace=workspace), fit_intercept=True)
        problem = formulate(inputs, Y, Squared(), Sparse(0.5), weights).problem
        return type(choose_solver("auto", problem))

    assert chosen(1414) is ObservedNewton
    assert chosen(1415) is Majorization
    wide = formulate(
        Inputs.of(Dense(np.eye(24), workspace=1e5), fit_intercept=True),
        rng.normal(size=(24, 61)),
        Squared(),
        Sparse(0.5),
        rng.uniform(0.5, 2.0, (24, 61)),
    )
    assert type(choose_solver("auto", wide.problem)) is ObservedNewton
    tasks = Tasks(np.arange(200) % 10, 10)
    inputs = Inputs.of(Dense(X @ X.T, workspace=4), fit_intercept=True)
    long = formulate(inputs, Y[:, :1], Squared(), Sparse(0.5), tasks=tasks).problem
    assert type(choose_solver("auto", long)) is ObservedNewton


def test_what_it_does_not_take_is_said():
    model = OutputKernelRegressor(structure=Sparse(0.5), solver="observed_newton")
    X, _, _ = tasks_of_few_rows()
    with pytest.raises(ValueError, match="at most 1095 observed targets"):
        model.fit(X, np.ones((100, 12)))
