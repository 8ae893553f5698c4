"""Newton's method in L over the region of a structure, for losses of labels."""

from dataclasses import replace

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.losses import Envelope, Hinge, Logistic, SquaredHinge
from okl.numerics.arrays import symmetric
from okl.operators import Dense
from okl.optimization.regions import Decomposed, Iterate
from okl.output_kernels import SpectralKernel
from okl.problems import Inputs, formulate
from okl.solvers import Majorization, Request
from okl.solvers.smooth import factor_newton, quadratic_model, region_newton
from okl.solvers.smooth.quadratic_model import QuadraticModel
from okl.solvers.smooth.region_newton import takes
from okl.solvers.smooth.rounds import rounds
from okl.structures import Cluster, Frobenius, LowRank, Sparse, TraceBall
from tests.covering import later
from tests.samples import psd, solve, targets_for

STRUCTURES = [Sparse(0.5), Cluster(2), TraceBall(), *later(Sparse(1.0), TraceBall(0.5))]
structures = pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])


def prepared_for(loss, structure, intercept, n=40, m=5):
    K, Y = targets_for(loss, n, m)
    inputs = Inputs.of(Dense(K), fit_intercept=intercept)
    if isinstance(loss, Hinge):
        loss = Envelope(loss, 4.0, np.zeros_like(Y))
    return Majorization().prepare(formulate(inputs, Y, loss, structure).problem)


@structures
@intercepts
@pytest.mark.parametrize("loss", [Hinge(), Logistic(), SquaredHinge()], ids=repr)
@pytest.mark.parametrize("alpha", [0.01, 1.0])
@pytest.mark.each_value
def test_the_optimum_of_the_rounds(loss, structure, intercept, alpha):
    prepared = prepared_for(loss, structure, intercept)
    assert takes(prepared)
    found = Majorization().solve(prepared, Request(alpha, tol=1e-9, max_iter=50))
    alone = rounds(prepared, Request(alpha, tol=1e-4, max_iter=500))
    newton, other = found.certificate, alone.certificate
    assert newton.status == "optimal"
    assert newton.primal <= other.primal * (1 + 1e-9)
    assert newton.primal >= other.dual * (1 - 1e-9)
    assert len(found.history) == found.n_iter


@pytest.mark.parametrize(("m", "other"), [(5, factor_newton), (24, region_newton)])
def test_it_is_preferred_to_steps_in_a_factor_if_outputs_are_few(m, other, monkeypatch):
    # under the trace ball, which both take
    prepared = prepared_for(Logistic(), TraceBall(), True, m=m)
    assert takes(prepared)
    assert factor_newton.takes(prepared)
    monkeypatch.setattr(other, other.__name__.rpartition(".")[2], None)
    found = Majorization().solve(prepared, Request(0.1, tol=1e-4, max_iter=50))
    assert found.certificate.status == "optimal"


def test_what_it_leaves_of_a_gap_is_for_steps_in_a_factor(monkeypatch):
    prepared = prepared_for(Logistic(), TraceBall(), True)
    solve = region_newton.region_newton
    ended = []

    def briefly(prepared, request):
        ended.append(solve(prepared, request._replace(max_iter=4)))
        return ended[-1]

    monkeypatch.setattr(region_newton, "region_newton", briefly)
    found = Majorization().solve(prepared, Request(0.01, tol=1e-8, max_iter=50))
    (first,) = ended
    assert first.certificate.status == "unproved"
    assert found.certificate.status == "optimal"
    assert first.n_iter < found.n_iter == len(found.history) <= 50
    assert found.history[: first.n_iter] == first.history


def test_a_step_leads_on_from_a_singular_kernel():
    # such as rounds leave under the trace ball
    prepared = prepared_for(SquaredHinge(), TraceBall(), True)
    factor = np.random.default_rng(0).normal(size=(5, 5))
    factor[0] = 0.0
    steps = region_newton._Steps(prepared, 0.1)
    kernel = SpectralKernel.from_factor(factor / np.linalg.norm(factor))
    model = steps.model(kernel, None)
    moved = steps.lower(model, 1.0)
    assert moved is not None
    assert moved.objective < model.objective


def test_the_least_of_a_model_is_the_same_wherever_it_is_expanded():
    # at an L that is all but singular as well
    rng = np.random.default_rng(0)
    k = 6
    rotation = np.linalg.qr(rng.normal(size=(k, k)))[0]
    root = rng.normal(size=(20, k, k))
    root = np.reshape(root + np.swapaxes(root, 1, 2), (20, k * k))
    second = root.T @ root / 100
    middle = psd(k, 1) * 1e3
    values, falls = [], []
    for sizes in (np.full(k, 1e3), 10.0 ** np.array([-4, -3, -3, 0, 2, 4])):
        centre = symmetric((rotation * sizes) @ rotation.T)
        away = np.reshape(centre - middle, -1)
        moment = -2 * np.reshape(second @ away, (k, k))
        value = away @ second @ away / 2
        model = QuadraticModel(value, centre, moment, second)
        region = Sparse(0.9).region(k)
        held = replace(region, barrier=region.inverse)
        here = Decomposed(*np.linalg.eigh(centre), centre)
        first = held.value(Iterate(here, model.at(*here[:2]))) + value
        _, fall = model.least(region)
        values.append(first - fall)
        falls.append(fall)
    assert_allclose(values[1], values[0], atol=5e-3 * max(falls))


def test_a_barrier_takes_as_many_steps_as_it_needs(monkeypatch):
    # fewer would leave a model where it is, and Newton's method there
    k, region = 4, Sparse(0.9).region(4)
    centre, moment = np.diag([1e-3, 1.0, 10.0, 1e4]), np.diag([1.0, 2.0, 3.0, -4.0])
    second = 1e-4 * np.eye(k * k)
    found, _ = QuadraticModel(0.0, centre, moment, second).least(region)
    near = 1.01 * symmetric((found.vectors * found.values) @ found.vectors.T)
    there = moment - 2e-4 * (near - centre)
    monkeypatch.setattr(quadratic_model, "_MOST_STEPS", 1)
    assert QuadraticModel(0.0, near, there, second).least(region)[1] > 0


def test_a_model_that_is_least_at_a_singular_kernel_stays_there():
    k = 4
    centre = np.diag([1.0, 0.5, 0.0, -3e-17])  # as rounding may leave it
    model = QuadraticModel(0.0, centre, np.zeros((k, k)), np.eye(k * k))
    found, fall = model.least(TraceBall().region(k))
    assert fall == 0
    kernel = SpectralKernel(found.values, found.vectors)
    assert_allclose(kernel.matrix(), centre, atol=1e-12)


def test_few_steps_where_rounds_are_many():
    prepared = prepared_for(Logistic(), Sparse(0.9), True, n=80, m=8)
    found = Majorization().solve(prepared, Request(1e-3, tol=1e-6, max_iter=25))
    assert found.certificate.status == "optimal"


def test_few_steps_from_a_neighbouring_alpha():
    prepared = prepared_for(Logistic(), Sparse(0.5), True)
    solver = Majorization()
    there = solver.solve(prepared, Request(0.12, tol=1e-9, max_iter=50))
    here = solver.solve(
        prepared, Request(0.1, tol=1e-9, max_iter=50, start=there.start)
    )
    assert here.certificate.status == "optimal"
    assert here.n_iter <= 6


@structures
@pytest.mark.parametrize("tol", [1e-3, *later(1e-8)])
def test_any_array_library(structure, tol):
    K, Y = targets_for(Logistic(), 15, 3)
    options = {"loss": Logistic(), "intercept": True, "tol": tol}
    here = solve(K, Y, structure, 0.1, **options)
    there = solve(K, Y, structure, 0.1, xp=strict, **options)
    assert there.dual_coef.__array_namespace__() is strict
    one, two = here.solution.certificate, there.solution.certificate
    assert one.status == two.status == "optimal"
    assert_allclose(two.primal, one.primal, rtol=2e-8)


def test_no_more_iterations_than_are_allowed():
    prepared = prepared_for(Logistic(), Sparse(0.5), True)
    for most in (1, 2, 5):
        found = Majorization().solve(prepared, Request(0.01, tol=1e-12, max_iter=most))
        assert found.n_iter == most


@structures
@intercepts
def test_the_second_derivative_of_what_the_best_f_costs(structure, intercept):
    prepared, alpha, m = prepared_for(Logistic(), structure, intercept), 0.3, 5
    steps = region_newton._Steps(prepared, alpha)
    T = steps._basis

    def gradient(L):
        kernel = SpectralKernel.from_matrix(L)
        fit = prepared.best_predictor(kernel, Request(alpha, 1e-15, 1000))
        model = steps.model(kernel, fit.start)
        dual = model.dual_rows @ T / alpha
        return model, -dual.T @ (prepared.problem.operator @ dual) / 2

    L = psd(m, seed=1) + np.eye(m)
    change = T @ psd(T.shape[1], seed=2) @ T.T
    model, _ = gradient(L)
    quadratic, _ = steps.quadratic(model)
    step = 1e-4
    ahead, behind = (gradient(L + sign * step * change)[1] for sign in (1, -1))
    inside = T.T @ change @ T
    assert_allclose(
        quadratic.times(inside), (ahead - behind) / (2 * step), rtol=1e-4, atol=1e-5
    )
    values, vectors = np.linalg.eigh(psd(T.shape[1], seed=3))
    point = quadratic.at(values, vectors)
    for i, j in [(0, 0), (1, 2)]:
        unit = np.zeros_like(inside)
        unit[i, j] = unit[j, i] = 1.0
        assert_allclose(point.curvature(unit)[i, j], point.diagonal[i, j])


@pytest.mark.parametrize("structure", [LowRank(), Frobenius()], ids=repr)
def test_other_penalties_are_left_to_others(structure):
    assert not takes(prepared_for(Hinge(), structure, True))


def test_a_system_too_large_is_left_to_rounds(monkeypatch):
    monkeypatch.setattr(region_newton, "DIRECT", 199)
    assert not takes(prepared_for(Hinge(), Sparse(), True))
