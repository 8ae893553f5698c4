"""The equations of Newton's method at the entries that have curvature."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl import OutputKernelClassifier
from okl.losses import Envelope, Hinge, SquaredHinge
from okl.losses.separable import DiagonalCurvature
from okl.operators import Dense, Features
from okl.output_kernels import SpectralKernel
from okl.problems import Inputs, formulate
from okl.solvers import NewtonCG, Request, SemismoothNewton
from okl.solvers.predictor import active_system, hessian
from okl.solvers.predictor.active_system import ActiveSystem
from okl.structures import Fixed, Mean
from tests.samples import psd, targets_for

N, M, RANK, ALPHA = 60, 8, 2, 0.3


def linear(X):
    return Features(X)


def stored(X):
    return Dense(X @ X.T)


def gaussian(X):
    squares = np.sum((X[:, None] - X) ** 2, axis=2)
    return Dense(np.exp(-squares / 5))


# K of 4 dimensions and an L of all, or K of all and an L of two
CASES = [(linear, M), (stored, M), (gaussian, RANK)]


@pytest.fixture
def factorised(monkeypatch):
    """The sizes of the systems that were factorised."""
    sizes, factorise = [], active_system.shifted_solver

    def counted(matrix, shift):
        sizes.append(matrix.shape[0])
        return factorise(matrix, shift)

    monkeypatch.setattr(active_system, "shifted_solver", counted)
    return sizes


def equations(operator, rank, intercept, *, seed=0):
    """The system of a curvature that a third of the entries lack, and right sides."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(M, rank))
    X = rng.normal(size=(N, 4))
    _, Y = targets_for(Hinge(), N, M)
    inputs = Inputs.of(operator(X), fit_intercept=intercept)
    structure = Fixed(factor @ factor.T)
    problem = formulate(inputs, Y, Envelope(Hinge(), 1.0), structure).problem
    prepared = NewtonCG().prepare_for(problem, SpectralKernel.from_factor(factor))
    curvature = rng.uniform(0.5, 4.0, size=(N, M)) * (rng.random((N, M)) < 0.67)
    system = ActiveSystem(prepared, DiagonalCurvature.of(curvature), ALPHA)
    right = rng.normal(size=(N, M))
    sums = rng.normal(size=M) if intercept else np.zeros(M)
    return system, right, sums


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize(("operator", "rank"), CASES)
def test_the_equations_hold(operator, rank, intercept):
    system, right, sums = equations(operator, rank, intercept)
    change = system.solve(right, sums, rtol=1e-9)
    W = system.curvature.diagonal
    active = W > 0
    assert not np.any(change[~active])
    left = right - (system.prepared.joint @ change) - ALPHA * change / np.where(W, W, 1)
    if intercept:
        assert_allclose(change.sum(axis=0), sums, atol=1e-10)
        left = left - [np.mean(left[active[:, j], j]) for j in range(M)]
    assert_allclose(left[active], 0.0, atol=1e-9)


@pytest.mark.parametrize(("operator", "rank"), CASES)
def test_few_dimensions_are_a_smaller_system(operator, rank, monkeypatch, factorised):
    system, right, sums = equations(operator, rank, True)
    small = system.solve(right, sums, rtol=1e-9)
    assert factorised == []
    monkeypatch.setattr(active_system, "_WORTH", 0.0)
    whole, _, _ = equations(operator, rank, True)
    assert_allclose(whole.solve(right, sums, rtol=1e-9), small, atol=1e-9)
    assert factorised == [int(np.sum(system.curvature.diagonal > 0))]


@pytest.mark.parametrize(
    ("matrices", "n_systems"), [(M + 3, M), (4, 2 * M), (3, 0)], ids=str
)
def test_systems_of_outputs_that_fit_in_memory_are_kept(
    matrices, n_systems, monkeypatch, factorised
):
    # else they are factorised again for each right side, or not at all
    monkeypatch.setattr(active_system, "_FEW", 0)
    system, right, sums = equations(gaussian, M, True)
    one = SpectralKernel(np.ones(M))
    problem = system.prepared.problem
    system = ActiveSystem(
        NewtonCG().prepare_for(problem, one), system.curvature, system.alpha
    )
    problem.operator.workspace = matrices * system.size**2 / N**2
    for _ in range(2):
        change = system.solve(right, sums, rtol=1e-9)
    assert len(factorised) == n_systems
    W = system.curvature.diagonal
    left = right - (system.prepared.joint @ change) - ALPHA * change / np.where(W, W, 1)
    left -= np.mean(left, axis=0, where=W > 0)
    assert_allclose(left[W > 0], 0.0, atol=1e-7)


def test_a_small_system_that_fits_in_memory_is_kept(monkeypatch):
    # though that of all entries would not fit
    solvers, small_solver = [], active_system.small_solver

    def counted(*args):
        solvers.append(small_solver(*args))
        return solvers[-1]

    monkeypatch.setattr(active_system, "small_solver", counted)
    monkeypatch.setattr(active_system, "_FEW", 0)
    system, right, sums = equations(gaussian, RANK, True)
    size = N * RANK
    assert size < system.size
    system.prepared.problem.operator.workspace = 4 * size**2 / N**2
    first, second = (system.solve(right, sums, rtol=1e-9) for _ in range(2))
    assert_allclose(first, second)
    assert len(solvers) == 1


def test_a_system_that_does_not_fit_in_memory(monkeypatch, factorised):
    monkeypatch.setattr(active_system, "_WORTH", 0.0)  # nor one by way of dimensions
    monkeypatch.setattr(active_system, "_FEW", 0)
    system, right, sums = equations(gaussian, M, True)
    expected = system.solve(right, sums, rtol=1e-9)
    assert factorised == [system.size]
    small, _, _ = equations(gaussian, M, True)
    small.prepared.problem.operator.workspace = 3 * small.size**2 / N**2
    assert_allclose(small.solve(right, sums, rtol=1e-9), expected, atol=1e-7)
    assert factorised == [system.size]


def test_any_array_namespace():
    system, right, _ = equations(gaussian, RANK, False)
    xp = pytest.importorskip("array_api_strict")
    roots = system.prepared.joint.roots()
    entries = right[system.curvature.diagonal > 0][:, None]
    curvature = DiagonalCurvature.of(xp.asarray(system.curvature.diagonal))
    strict = ActiveSystem(system.prepared, curvature, ALPHA)
    strict.__dict__["_steepest"] = 1.0  # that of K is NumPy's
    found = strict.by_roots(*map(xp.asarray, roots))(xp.asarray(entries))
    assert_allclose(np.asarray(found), system.by_roots(*roots)(entries))


def test_a_curvature_near_that_of_a_kink():
    # M counts some ten billion times as much as D
    system, right, _ = equations(linear, M, False)
    sharp = DiagonalCurvature.of(1e7 * system.curvature.diagonal)
    system = ActiveSystem(system.prepared, sharp, ALPHA)
    active = sharp.diagonal > 0
    image = active * (system.prepared.joint @ (active * right))
    change = system.solve(image, np.zeros(M), rtol=1e-9)
    assert_allclose(
        (system.prepared.joint @ change)[active],
        image[active],
        atol=1e-6 * np.abs(image).max(),
    )


@pytest.mark.parametrize("worth", [0.5, 0.0], ids=["dimensions", "entries"])
def test_a_curvature_that_all_but_vanishes(worth, monkeypatch):
    # as that of a logistic loss at scores of some hundreds
    monkeypatch.setattr(active_system, "_WORTH", worth)
    system, right, sums = equations(gaussian, RANK, True)
    W = system.curvature.diagonal
    faint = DiagonalCurvature.of(np.where(W, W, 1e-310))
    nearly = ActiveSystem(system.prepared, faint, ALPHA)
    expected = system.solve(right, sums, rtol=1e-9)
    with np.errstate(over="raise"):
        found = nearly.solve(right, sums, rtol=1e-9)
    assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_steps_stay_close_at_a_small_alpha(alpha, monkeypatch):
    # conjugate gradients that end too early, or where they did at first, took three
    # to four times as many steps
    for name, number in {"DIRECT": 0, "_MILD": 0, "_PRODUCTS": 0}.items():
        monkeypatch.setattr(active_system, name, number)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    scores = np.sin(X @ rng.normal(size=(6, 6))) + 0.5 * rng.normal(size=(120, 6))
    inputs = Inputs.of(gaussian(0.7 * X), fit_intercept=True)
    structure = Fixed(100 * np.eye(6) + 50 * psd(6, 1))
    targets = np.where(scores > 0.5, 1.0, -1.0)
    problem = formulate(inputs, targets, SquaredHinge(), structure).problem
    solver = SemismoothNewton()
    request = Request(alpha, tol=1e-4, max_iter=300)
    solution = solver.solve(solver.prepare(problem), request)
    assert solution.certificate.status == "optimal"
    assert solution.n_iter <= 30


def test_a_large_system_is_preconditioned_once(monkeypatch):
    # steps in a factor of L solve with the same one dozens of times
    for name, number in {"DIRECT": 0, "_MILD": 0, "_PRODUCTS": 0}.items():
        monkeypatch.setattr(active_system, name, number)
    made, make = [], hessian.preconditioner
    monkeypatch.setattr(
        hessian,
        "preconditioner",
        lambda *given, **options: made.append(1) or make(*given, **options),
    )
    system, right, sums = equations(gaussian, M, True)
    first, again = (system.solve(right, sums, rtol=1e-9) for _ in range(2))
    assert_allclose(first, again)
    assert made == [1]


@pytest.mark.parametrize("structure", ["frobenius", Mean(2.0)], ids=str)
def test_conjugate_gradients_in_long_form_have_an_intercept_for_each_task(
    structure, monkeypatch
):
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(N, 3)), np.arange(N) % 4
    y = X[:, 0] + 0.5 * task * X[:, 1] + 0.4 * rng.normal(size=N) > 0.5
    model = OutputKernelClassifier(
        "linear", structure, 0.1, loss="squared_hinge", tol=1e-9
    )
    direct = model.fit(X, y, task=task).certificate_
    for name, number in {"DIRECT": 0, "_MILD": 0, "_PRODUCTS": 0}.items():
        monkeypatch.setattr(active_system, name, number)
    found = model.fit(X, y, task=task).certificate_
    assert found.status == direct.status == "optimal"
    assert_allclose(found.primal, direct.primal, rtol=2e-9)


@pytest.mark.parametrize(
    ("steep", "products", "factorised"),
    [(True, 1e9, True), (True, 0, False), (False, 1e9, False), (False, 0, False)],
)
def test_large_systems_are_factorised_where_that_is_little_work(
    steep, products, factorised, monkeypatch
):
    # and where conjugate gradients are not quick
    monkeypatch.setattr(active_system, "DIRECT", 10)
    monkeypatch.setattr(active_system, "_MILD", 5)
    monkeypatch.setattr(active_system, "_ALPHAS", 0.0 if steep else 1e9)
    monkeypatch.setattr(active_system, "_PRODUCTS", products)
    system, right, sums = equations(gaussian, M, True)
    expected = system.solve_each(right[:, :, None], sums)[:, :, 0]
    monkeypatch.setattr(ActiveSystem, "solve_each", None)
    if factorised:
        with pytest.raises(TypeError, match="not callable"):
            system.solve(right, sums, rtol=1e-9)
    else:
        found = system.solve(right, sums, rtol=1e-9)
        assert_allclose(found, expected, atol=1e-6 * abs(expected).max())
