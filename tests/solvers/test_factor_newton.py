"""Newton's method in a factor of L, for the smooth problems of the hinge."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from okl import OutputKernelClassifier
from okl.kernels import Linear
from okl.losses import Envelope, Hinge, Logistic, Softmax, Squared
from okl.numerics.arrays import shifted_solver
from okl.operators import Dense
from okl.output_kernels import SpectralKernel
from okl.problems import Inputs, formulate
from okl.solvers import Majorization, Request
from okl.solvers.predictor import active_system
from okl.solvers.smooth import factor_newton
from okl.solvers.smooth.factor_iterate import FactorIterate
from okl.solvers.smooth.factor_newton import takes
from okl.solvers.smooth.factor_penalties import OfTrace, mean_on
from okl.solvers.smooth.joint_equations import JointPoint, joint_step
from okl.solvers.smooth.joint_steps import JointSteps
from okl.solvers.smooth.rounds import rounds
from okl.solvers.smooth.scores import Scores
from okl.structures import Frobenius, LowRank, Scaled, TraceBall
from tests.covering import later
from tests.samples import psd, solve, targets_for

traces = pytest.mark.parametrize("structure", [LowRank(), TraceBall()], ids=repr)
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])


def smooth_problem(structure, intercept, moreau_parameter=4.0, n=40, m=5):
    K, Y = targets_for(Hinge(), n, m)
    loss = Envelope(Hinge(), moreau_parameter, np.zeros_like(Y))
    inputs = Inputs.of(Dense(K), fit_intercept=intercept)
    return formulate(inputs, Y, loss, structure).problem


def optimum_of_the_rounds(problem, alpha, *, tol, rough):
    """Return what is found to a tolerance, if rounds to a rough one agree with it."""
    solver = Majorization()
    prepared = solver.prepare(problem)
    found = solver.solve(prepared, Request(alpha, tol=tol, max_iter=500))
    alone = rounds(prepared, Request(alpha, tol=rough, max_iter=500))
    newton, other = found.certificate, alone.certificate
    assert newton.status == "optimal"
    assert newton.primal <= other.primal * (1 + tol)
    assert newton.primal >= other.dual
    assert len(found.history) == found.n_iter
    return found


@traces
@intercepts
@pytest.mark.parametrize("alpha", [0.1, 1.0, 5.0])
@pytest.mark.each_value
def test_the_optimum_of_the_rounds(structure, intercept, alpha):
    problem = smooth_problem(structure, intercept)
    optimum_of_the_rounds(problem, alpha, tol=1e-9, rough=1e-5)


@intercepts
@pytest.mark.parametrize("alpha", [1e-3, 0.1, 1.0])
@pytest.mark.each_value
def test_classes_under_the_trace_penalty(intercept, alpha):
    # rounds alone take 211 at the least alpha, 84 at the next
    K, Y = targets_for(Softmax(), 60, 15)
    inputs = Inputs.of(Dense(K), fit_intercept=intercept)
    problem = formulate(inputs, Y, Softmax(), LowRank()).problem
    assert takes(Majorization().prepare(problem))
    found = optimum_of_the_rounds(problem, alpha, tol=1e-7, rough=1e-3)
    assert found.n_iter <= 40


@pytest.mark.parametrize("m", [3, 5])
@intercepts
def test_classes_need_one_direction_less_than_there_are(m, intercept):
    # the mean score of a row says nothing: the bound m - 1 is none
    K, Y = targets_for(Softmax(), 60, m)
    inputs = Inputs.of(Dense(K), fit_intercept=intercept)
    primal = []
    for structure in (LowRank(m - 1), LowRank()):
        problem = formulate(inputs, Y, Softmax(), structure).problem
        assert not problem.rank_is_bounded
        solver = Majorization()
        found = solver.solve(solver.prepare(problem), Request(0.01, 1e-8, 100))
        assert found.certificate.status == "optimal"
        primal.append(found.certificate.primal)
    assert_allclose(*primal, rtol=2e-8)
    logistic = formulate(inputs, Y, Logistic(), LowRank(m - 1)).problem
    assert logistic.rank_is_bounded


@pytest.mark.parametrize("seed", range(3))
def test_classes_under_a_bound_on_the_rank(seed):
    K, Y = targets_for(Softmax(), 50, 6, seed=seed)
    inputs = Inputs.of(Dense(K), fit_intercept=True)
    problem = formulate(inputs, Y, Softmax(), LowRank(2)).problem
    solver = Majorization()
    prepared = solver.prepare(problem)
    found = solver.solve(prepared, Request(0.1, tol=1e-6, max_iter=100))
    few = rounds(prepared, Request(0.1, tol=1e-6, max_iter=20))
    assert found.certificate.status == "rank_limited"
    assert found.certificate.primal <= few.certificate.primal * (1 + 1e-9)


@pytest.mark.parametrize(
    "structure", [Frobenius(), Scaled(Frobenius(), np.array([1.0, 3, 0.5, 1, 2]))]
)
@intercepts
@pytest.mark.parametrize("alpha", [0.01, 1.0])
@pytest.mark.each_value
def test_the_frobenius_norm_where_rounds_are_many(
    structure, intercept, alpha, monkeypatch
):
    problem = smooth_problem(structure, intercept, moreau_parameter=50.0)
    solver = Majorization()
    prepared = solver.prepare(problem)
    alone = rounds(prepared, Request(alpha, tol=1e-6, max_iter=1000))
    monkeypatch.setattr(factor_newton, "_ROUNDS", 3)
    found = solver.solve(prepared, Request(alpha, tol=1e-9, max_iter=100))
    newton, other = found.certificate, alone.certificate
    assert newton.status == "optimal"
    assert newton.primal <= other.primal * (1 + 1e-9)
    assert newton.primal >= other.dual
    assert 3 < found.n_iter <= 40


@pytest.mark.parametrize("in_long_form", [False, True])
@intercepts
def test_few_features_under_the_frobenius_norm_take_no_hundreds_of_rounds(
    in_long_form, intercept
):
    rng = np.random.default_rng(0)
    n, m, X = 50, 6, rng.normal(size=(50, 4))
    task = np.arange(n) % m
    hidden = np.tanh(X @ rng.normal(size=(4, 2))) @ rng.normal(size=(2, m))
    y = hidden[np.arange(n), task] + 0.5 * rng.normal(size=n) > 0
    model = OutputKernelClassifier(
        Linear(), "frobenius", 1e-3, loss="squared_hinge", fit_intercept=intercept
    )
    if in_long_form:
        model.fit(X, y, task=task)
    else:
        Y = np.full((n, m), np.nan)
        Y[np.arange(n), task] = y
        model.fit(X, Y)
    assert model.certificate_.status == "optimal"
    assert model.n_iter_ <= 50


@traces
def test_few_steps_near_the_optimum(structure):
    problem = smooth_problem(structure, True, n=60)
    solver = Majorization()
    prepared = solver.prepare(problem)
    near = solver.solve(prepared, Request(0.5, tol=1e-6, max_iter=200))
    again = solver.solve(
        prepared, Request(0.5, tol=1e-6, max_iter=200, start=near.start)
    )
    assert again.n_iter == 1
    closer = solver.solve(
        prepared, Request(0.5, tol=1e-10, max_iter=200, start=near.start)
    )
    assert closer.certificate.status == "optimal"
    assert closer.n_iter <= 6


@traces
@pytest.mark.parametrize("alpha", [2.0, 5.0])
def test_a_hinge_under_a_heavy_penalty(structure, alpha):
    # rounds alone are above the tolerance after minutes
    K, Y = targets_for(Hinge(), 60, 6)
    found = solve(K, Y, structure, alpha, loss=Hinge(), intercept=True).solution
    assert found.certificate.status == "optimal"


def test_what_it_is_for():
    prepare = Majorization().prepare
    assert not takes(prepare(smooth_problem(TraceBall(0.1), False)))
    K, Y = targets_for(Softmax(), 20, 4)
    for structure in (LowRank(2), LowRank(5), TraceBall(), Frobenius()):
        assert takes(prepare(smooth_problem(structure, False)))
        classes = formulate(Inputs(Dense(K), None), Y, Softmax(), structure).problem
        assert takes(prepare(classes)) == isinstance(structure, LowRank)


def test_the_rank_grows_by_directions_above_the_mean():
    L = SpectralKernel.from_factor(np.eye(4)[:, :2] * [2.0, 1.0])
    moment = np.diag([1.0, 1.0, 3.0, 0.5])
    assert mean_on(L, moment) == pytest.approx(1.0)
    penalty, nothing = OfTrace(), np.diag([1.0, 1.0, 1.0, 0.5])
    # of the size of L, and of what is given besides
    for least in (0.0, 0.5):
        lacking = penalty.lacking(L, moment, least)
        assert_allclose(lacking, np.diag([0, 0, 5 + least, 0]), atol=1e-15)
    # nothing is added where S is one number on the range of L, and less elsewhere
    assert penalty.lacking(L, nothing, 0.0) is None


def test_a_psd_matrix_of_full_rank_may_grow_as_well():
    L, moment = SpectralKernel.from_matrix(psd(3, 0)), psd(3, 1)
    more = OfTrace().lacking(L, moment, 0.0)
    assert np.linalg.eigvalsh(more)[0] >= -1e-12
    assert np.sum(moment * more) / np.trace(more) > mean_on(L, moment)


@pytest.mark.parametrize(
    ("fall", "gain", "better"),
    [
        (1e-8, -1.0, True),  # lower, whatever the bound
        (-1e-11, 1e-5, True),  # as low up to rounding of f, and nearer to its bound
        (-1e-11, 0.0, False),
        (-1e-9, 1e-5, False),
        (0.0, 1e-12, True),
        (0.0, 0.0, False),
    ],
)
def test_which_of_two_models_is_better(fall, gain, better):
    # BUG: where f was found twice for one L, an objective of 23 differed by 1e-10; a
    # model found with luck was never left, and its gap of 1.1e-6 stayed
    def iterate(objective, dual):
        fit = SimpleNamespace(certificate=SimpleNamespace(dual=dual))
        return FactorIterate(fit, None, objective, None)

    there = iterate(10.0, 9.0)
    assert iterate(10.0 - fall, 9.0 + gain).is_better_than(there) is better


@intercepts
@pytest.mark.parametrize("damping", [0.0, 3.0])
@pytest.mark.parametrize("loss", [Logistic(), Softmax()], ids=repr)
def test_a_joint_step_is_that_of_newton(intercept, damping, loss):
    # along it the gradient falls to zero, or with damping to that of the square of the
    # step; with one column of B nothing can be turned
    K, Y = targets_for(loss, 30, 4)
    inputs = Inputs.of(Dense(K), fit_intercept=intercept)
    problem = formulate(inputs, Y, loss, LowRank(1)).problem
    prepared, alpha = Majorization().prepare(problem), 20.0
    rng = np.random.default_rng(0)
    A, B = 0.1 * rng.normal(size=(30, 1)), rng.normal(size=(4, 1))

    def point(length, rows=0.0, factor=0.0):
        there = A + length * rows, B + length * factor
        image = problem.operator @ there[0]
        scores, b = Scores.at_best(problem, image @ there[1].T)
        return JointPoint(*there, image, scores, b, 0.0)

    def gradient(at):
        a = at.scores.gradient
        return alpha * at.rows - a @ at.factor, alpha * at.factor - a.T @ at.image

    here = point(0)
    step = joint_step(prepared, here, alpha, damping=damping, convex=False, rtol=1e-12)
    h = 1e-5
    before, after = gradient(point(-h, *step)), gradient(point(h, *step))
    changes = [(new - old) / (2 * h) for old, new in zip(before, after, strict=True)]
    (rows, factor), (moved, turned) = gradient(here), changes
    moved, turned = (
        moved + damping * alpha * step[0],
        turned + damping * alpha * step[1],
    )
    rows, moved = problem.operator @ rows, problem.operator @ moved
    assert_allclose(moved, -rows, atol=1e-5 * np.abs(rows).max())
    assert_allclose(turned, -factor, atol=1e-5 * np.abs(factor).max())


@intercepts
@pytest.mark.parametrize("moreau_parameter", [4.0, 20.0])
def test_what_a_joint_step_lowers_is_the_objective(intercept, moreau_parameter):
    # A and B with the least sum of squares: it is then the penalty of f and L
    problem = smooth_problem(LowRank(), intercept, moreau_parameter)
    prepared, alpha = Majorization().prepare(problem), 1.0
    start = rounds(prepared, Request(alpha, tol=1e-2, max_iter=3)).start
    steps = JointSteps(prepared, alpha, start)
    model = steps.model_of(start)
    point = steps._decomposed(steps._point(model))
    assert point.objective <= model.objective * (1 + 1e-12)
    assert_allclose(point.objective, steps._iterate(point).objective, rtol=1e-10)
    image = problem.operator @ point.rows
    assert_allclose(point.rows.T @ image, point.factor.T @ point.factor, atol=1e-8)


def test_a_trial_of_a_joint_step_takes_no_system(monkeypatch):
    # where each L that was tried took its best f there were hundreds
    problem = smooth_problem(LowRank(2), True, moreau_parameter=20.0, n=60)
    prepared, systems = Majorization().prepare(problem), []
    # from another alpha, without the rounds that are tried where there is no start
    start = Majorization().solve(prepared, Request(4.0, tol=1e-6, max_iter=200)).start
    monkeypatch.setattr(
        active_system,
        "shifted_solver",
        lambda *given: systems.append(1) or shifted_solver(*given),
    )
    found = Majorization().solve(
        prepared, Request(1.0, tol=1e-6, max_iter=200, start=start)
    )
    assert found.certificate.status == "rank_limited"
    assert 0 < len(systems) <= 3 * found.n_iter


@pytest.mark.parametrize("alpha", [0.1, *later(1.0)])
def test_a_bounded_rank_ends_no_higher_than_either_way_there(alpha):
    # by way of larger alphas alone it ended at 50 where rounds had led to 26
    problem = smooth_problem(LowRank(2), True, moreau_parameter=20.0, n=40)
    prepared = Majorization().prepare(problem)
    found = Majorization().solve(prepared, Request(alpha, tol=1e-6, max_iter=100))
    few = rounds(prepared, Request(alpha, tol=1e-2, max_iter=6))
    assert found.certificate.primal <= few.certificate.primal * (1 + 1e-9)
    larger = factor_newton._by_way_of_larger_alphas(prepared, alpha)
    model = JointSteps(prepared, alpha, larger).model_of(larger)
    assert found.certificate.primal <= model.objective * (1 + 1e-9)


def test_a_joint_step_takes_few_solutions(monkeypatch):
    # preconditioned by the step in B of the alternation it took more: where the loss
    # holds f, what changes of B cost is the sum of squares alone
    K, Y = targets_for(Logistic(), 120, 8)
    inputs = Inputs.of(Dense(K), fit_intercept=True)
    problem = formulate(inputs, Y, Logistic(), LowRank()).problem
    prepared, alpha, solved = Majorization().prepare(problem), 1e-3, []
    start = rounds(prepared, Request(alpha, tol=1e-2, max_iter=20)).start
    answers = type(prepared).answers

    def counted(*given):
        solve = answers(*given)
        return lambda right: solved.append(1) or solve(right)

    monkeypatch.setattr(type(prepared), "answers", counted)
    steps = JointSteps(prepared, alpha, start)
    model = steps.model_of(start)
    joint_step(
        prepared, steps._point(model), alpha, damping=0.0, convex=True, rtol=1e-2
    )
    assert len(solved) <= 14


def unfinished(name):
    """Return a problem that a few steps do not solve."""
    K, Y = targets_for(Softmax(), 40, 5)
    loss, structure, weights = Softmax(), LowRank(), None
    if name == "a bound on the rank":
        structure = LowRank(2)
    elif name == "missing targets":
        loss, structure = Squared(), LowRank()
        weights = np.random.default_rng(0).integers(0, 2, Y.shape).astype(float)
    elif name == "labels":
        loss, structure = Logistic(), Frobenius()
        Y = 2 * Y - 1
    inputs = Inputs.of(Dense(K), fit_intercept=False)
    return formulate(inputs, Y, loss, structure, weights).problem


@pytest.mark.parametrize("alpha", [1e-3, 2.0])
@pytest.mark.parametrize("max_iter", [1, 2, 3])
@pytest.mark.parametrize(
    "name", ["classes", "a bound on the rank", "missing targets", "labels"]
)
def test_no_more_iterations_than_asked_for(name, max_iter, alpha):
    problem = unfinished(name)
    solver = Majorization()
    prepared = solver.prepare(problem)
    assert takes(prepared)
    found = solver.solve(prepared, Request(alpha, tol=1e-13, max_iter=max_iter))
    assert found.n_iter == len(found.history) == max_iter
    # by the tolerance that was asked for, not by that of the rounds at first
    assert found.certificate.status != "optimal"


@intercepts
def test_the_answer_of_classes_solves_the_equations(intercept):
    K, Y = targets_for(Softmax(), 30, 4)
    inputs = Inputs.of(Dense(K), fit_intercept=intercept)
    problem = formulate(inputs, Y, Softmax(), LowRank()).problem
    prepared, alpha = Majorization().prepare(problem), 0.3
    known = SpectralKernel.from_matrix(psd(4, seed=1))
    fit = prepared.best_predictor(known, Request(alpha, 1e-10, 100))
    scores = Scores.of(problem, fit)
    right = np.random.default_rng(0).normal(size=Y.shape)
    E = prepared.answers(known, scores, alpha)(right)
    p = Y - scores.gradient  # the probabilities
    assert_allclose(p.sum(axis=1), 1.0)
    seen = right - K @ E @ known.matrix()

    def turned(scores):
        return p * scores - p * np.sum(p * scores, axis=1, keepdims=True)

    shift = np.zeros(4)
    if intercept:
        assert_allclose(E.sum(axis=0), 0, atol=1e-8)
        sums = np.diag(p.sum(axis=0)) - p.T @ p
        shift = np.linalg.pinv(sums) @ turned(seen).sum(axis=0)
    assert_allclose(alpha * E, turned(seen - shift), atol=1e-4)


@pytest.mark.parametrize("unit", [1e5, *later(1e6, 1e7)])
def test_a_column_in_a_tiny_unit_is_an_inexact_fit_and_no_failure(unit):
    X, y = make_classification(200, 12, n_informative=8, n_classes=4, random_state=0)
    X[:, 0] *= unit
    model = OutputKernelClassifier("linear", "low_rank", alpha=0.01, loss="softmax")
    with pytest.warns(ConvergenceWarning, match="[Rr]ounding"):
        model.fit(X, y)
    assert model.certificate_.status == "stalled"
