"""Newton's method by products with K, for a known output kernel and any loss."""

from itertools import product

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from okl import OutputKernelClassifier, OutputKernelRegressor
from okl.datasets import make_text_tree
from okl.kernels import Gaussian
from okl.losses import Huber, Logistic, Softmax, Squared, SquaredHinge
from okl.operators import Dense, Features, Kronecker, counted_products
from okl.problems import Inputs, formulate
from okl.solvers import NewtonCG, Request
from okl.solvers.neighbours import Neighbours
from okl.solvers.predictor import (
    newton_cg,
    newton_point,
    newton_start,
    newton_step,
)
from okl.solvers.predictor.newton_step import NewtonSteps
from okl.solvers.predictor.preconditioner_form import Form, form_of
from okl.structures import Fixed, Frobenius, Identity, LowRank, Mean, Tree
from tests.samples import draw, psd, solve, targets_for

N, M = 20, 4
LOSSES = [Squared(), Huber(0.8), Logistic(), Softmax(), SquaredHinge()]
STRUCTURES = [Identity(), Mean(2.0), Fixed(psd(M, 6, rank=2))]
each = pytest.mark.parametrize("loss", LOSSES, ids=repr)
structures = pytest.mark.parametrize("structure", STRUCTURES, ids=lambda s: s.name)
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])


def weights_for(loss, n=N, m=M):
    """Draw weights of entries, some zero, where the loss has them; else of rows."""
    weights = np.random.default_rng(3).uniform(
        0.2, 2.0, size=(n, 1 if loss.name == "softmax" else m)
    )
    weights[2] = 0.0
    return weights


class Counting(Dense):
    """A kernel matrix that counts how often it multiplies."""

    products = 0

    def __matmul__(self, right):
        self.products += 1
        return super().__matmul__(right)


@each
@structures
@intercepts
@pytest.mark.parametrize("alpha", [1.0, 1e-2])
@pytest.mark.each_value
def test_the_preconditioner_does_not_change_the_optimum(
    loss, structure, intercept, alpha
):
    K, Y = targets_for(loss, N, M)
    options = {"loss": loss, "intercept": intercept, "tol": 1e-9}
    results = [
        solve(K, Y, structure, alpha, solver=NewtonCG(columns), **options)
        for columns in (0, 5, N)
    ]
    first = results[0]
    for found in results:
        assert found.solution.certificate.status == "optimal"
        assert_allclose(
            found.solution.certificate.primal,
            first.solution.certificate.primal,
            rtol=1e-8,
        )
        F = first.predict(K)
        assert_allclose(found.predict(K), F, atol=1e-3 * np.abs(F).max())


@each
@pytest.mark.parametrize(
    "setting", [*product([0, N], [False, True])], ids=["0", "0-b", "N", "N-b"]
)
def test_any_array_namespace(loss, setting):
    (columns, intercept), (K, Y) = setting, targets_for(loss, N, M)
    for structure in STRUCTURES:
        for weights in (None, weights_for(loss)):
            options = {
                "loss": loss,
                "intercept": intercept,
                "weights": weights,
                "solver": NewtonCG(columns),
            }
            here = solve(K, Y, structure, 0.1, **options)
            there = solve(K, Y, structure, 0.1, xp=strict, **options)
            assert there.dual_coef.__array_namespace__() is strict
            assert there.solution.certificate.status == "optimal"
            assert_allclose(
                there.solution.certificate.primal,
                here.solution.certificate.primal,
                rtol=1e-7,
            )
            F = here.predict(K)
            assert_allclose(there.predict(K), F, atol=1e-3 * np.abs(F).max())


@each
def test_twice_the_same_is_the_same_to_the_last_bit(loss):
    K, Y = targets_for(loss, N, M)
    one, two = (
        solve(K, Y, Mean(2.0), 0.1, loss=loss, intercept=True, solver="newton_cg")
        for _ in range(2)
    )
    assert_array_equal(one.dual_coef, two.dual_coef)
    assert_array_equal(one.intercept, two.intercept)


@each
@intercepts
def test_a_start_saves_iterations_and_does_not_change_the_optimum(loss, intercept):
    K, Y = targets_for(loss, N, M)
    options = {"loss": loss, "intercept": intercept, "solver": "newton_cg"}
    near = solve(K, Y, Mean(2.0), 0.1, **options).solution
    cold = solve(K, Y, Mean(2.0), 0.09, **options).solution
    warm = solve(K, Y, Mean(2.0), 0.09, start=near.start, **options).solution
    assert warm.n_iter <= cold.n_iter
    assert_allclose(warm.certificate.primal, cold.certificate.primal, rtol=1e-6)
    again = solve(K, Y, Mean(2.0), 0.1, start=near.start, **options).solution
    assert again.n_iter == 1


@pytest.mark.parametrize(
    ("loss", "intercept"),
    [(Softmax(), True), (Softmax(), False), (Logistic(), False)],
)
def test_a_start_of_another_output_kernel_is_the_same_function(loss, intercept):
    # C has parts that an L of rank two does not see; one turned a little sees them, at
    # a small alpha so large that all probabilities are 0 or 1
    K, Y = targets_for(loss, N, M)
    rng = np.random.default_rng(0)
    B = rng.normal(size=(M, 2))
    one, other = (
        Fixed(100 * (factor @ factor.T))
        for factor in (B, B + 0.02 * rng.normal(size=(M, 2)))
    )
    options = {"loss": loss, "intercept": intercept, "solver": "newton_cg"}
    near = solve(K, Y, one, 1e-3, **options).solution
    cold = solve(K, Y, other, 1e-3, **options).solution
    warm = solve(K, Y, other, 1e-3, start=near.start, **options).solution
    assert warm.certificate.status == "optimal"
    # the last steps are those of any start, and rounding decides how many they are
    rough = options | {"tol": 1e-4}
    with counted_products() as of_cold:
        solve(K, Y, other, 1e-3, **rough)
    with counted_products() as of_warm:
        solve(K, Y, other, 1e-3, start=near.start, **rough)
    assert of_warm.total <= 0.8 * of_cold.total
    assert_allclose(warm.certificate.primal, cold.certificate.primal, rtol=2e-6)


@pytest.mark.parametrize(
    ("loss", "intercept"),
    [(Softmax(), True), (Softmax(), False), (Logistic(), False)],
)
def test_it_ends_where_steps_are_rounding(loss, intercept):
    K, Y = targets_for(loss, N, M)
    B = np.random.default_rng(0).normal(size=(M, 2))
    options = {"loss": loss, "intercept": intercept, "solver": "newton_cg"}
    structure = Fixed(100 * (B @ B.T))
    fit = solve(K, Y, structure, 1e-3, **options, tol=1e-6).solution
    closest = solve(K, Y, structure, 1e-3, **options, tol=1e-15).solution
    assert fit.n_iter <= 20
    assert closest.n_iter <= fit.n_iter + 8


@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-15])
def test_a_last_step_ends_below_the_tolerance_and_none_is_loose_at_rounding(tol):
    request = Request(1.0, tol, 1)
    for gap in 10.0 ** -np.arange(12):
        # Newton's method squares the gap, up to what is left of the residual
        assert gap <= request.enough(gap) <= max(gap, tol / 10 / gap)
    for gap in (1e-13, 1e-15, 2**-52):
        assert request.enough(gap) == gap


@pytest.mark.parametrize("loss", [Logistic(), Softmax()], ids=repr)
@intercepts
def test_few_products_with_the_kernel_matrix(loss, intercept):
    # With all columns of K conjugate gradients need a few products a Newton step, the
    # gap one, and so do the certificate and what L couples: at most 10 a step here,
    # where the problem has 240 unknowns.
    K, Y = targets_for(loss, 60, M)
    operator = Counting(K.copy())
    inputs = Inputs.of(operator, fit_intercept=intercept)
    if intercept:  # centring makes a new operator
        operator = Counting(inputs.operator._matrix)
        inputs = Inputs(operator, inputs.kernel_means)
    problem = formulate(inputs, Y, loss, Identity()).problem
    solver = NewtonCG(60)
    solution = solver.solve(
        solver.prepare(problem), Request(1.0, tol=1e-6, max_iter=100)
    )
    assert solution.certificate.status == "optimal"
    assert solution.n_iter <= 8
    assert operator.products <= 10 * solution.n_iter


def test_the_squared_loss_is_one_newton_step(monkeypatch):
    # with all columns from the start, which make conjugate gradients exact
    monkeypatch.setattr(newton_step, "_EASY", 0)
    monkeypatch.setattr(newton_step, "form_of", lambda *given: Form("separate", N, 0.0))
    K, Y = targets_for(Squared(), N, M)
    found = solve(K, Y, Mean(2.0), 0.1, solver=NewtonCG(N), intercept=True, tol=1e-3)
    assert found.solution.n_iter == 2


@pytest.mark.parametrize("width", [8, 40, 300])
def test_what_a_preconditioner_costs(width):
    # its rank squared for each row, a product two numbers for each of its features, or
    # one for each column of a stored matrix
    X = np.random.default_rng(0).normal(size=(60, width))
    L = Identity().known(np.zeros((60, 2)))
    stored, rows = Kronecker(Dense(X @ X.T), L), Kronecker(Features(X), L)
    W = Logistic().curvature(np.ones((60, 2)), np.zeros((60, 2)))
    assert form_of(stored, 25, W, 1.0).cost == pytest.approx(25**2 / 60)
    expected = min(100, width) ** 2 / (2 * width)
    assert form_of(rows, 100, W, 1.0).cost == pytest.approx(expected)


@pytest.mark.parametrize("loss", [Huber(0.8), Logistic(), Softmax()], ids=repr)
def test_the_drift_of_the_intercept(loss):
    K, Y = targets_for(loss, N, M)
    problem = formulate(
        Inputs.of(Dense(K), fit_intercept=True), Y, loss, Identity()
    ).problem
    rng = np.random.default_rng(1)
    scores, ahead = 0.1 * rng.normal(size=(2, N, M))
    _, b = problem.at_best_intercept(scores)
    curvature = loss.curvature(problem.targets, scores + b)
    drift = newton_point.drift_of(problem, curvature, ahead)
    h = 1e-5
    ends = [problem.at_best_intercept(scores + step * ahead)[1] for step in (h, -h)]
    assert_allclose(drift, (ends[0] - ends[1]) / (2 * h), atol=1e-6)


def test_without_an_intercept_nothing_drifts():
    K, Y = targets_for(Softmax(), N, M)
    free = formulate(
        Inputs.of(Dense(K), fit_intercept=False), Y, Softmax(), Identity()
    ).problem
    curvature = Softmax().curvature(free.targets, free.targets)
    assert newton_point.drift_of(free, curvature, free.targets) is None


@pytest.mark.parametrize("alpha", [1e-1, 1e-2, 1e-3])
@intercepts
def test_wild_targets_at_a_small_alpha(alpha, intercept):
    # far from all targets the Huber loss has no second derivative, and the first steps
    # of Newton's method are endless
    rng = np.random.default_rng(0)
    _, _, K = draw(60, M)
    Y = 5 * rng.standard_t(2, size=(60, M))
    options = {"loss": Huber(1.0), "intercept": intercept, "solver": "newton_cg"}
    for structure in (Identity(), Fixed(10 * psd(M, 3))):
        found = solve(K, Y, structure, alpha, **options).solution
        assert found.certificate.status == "optimal"
        assert found.n_iter <= 60


@pytest.mark.parametrize("alpha", [1e-3, 1e-6])
def test_numbers_are_not_come_to_by_way_of_larger_alphas(alpha):
    # that took 539 and 403 products
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    Y = np.sin(X @ rng.normal(size=(5, 4))) @ rng.normal(size=(4, 4))
    Y += 0.3 * rng.normal(size=Y.shape)
    model = OutputKernelRegressor(Gaussian(0.1), "mean", alpha, loss="huber")
    with counted_products() as count:
        model.fit(X, Y)
    assert model.certificate_.status == "optimal"
    assert count.total < 150


@intercepts
def test_centred_targets_are_moved_back(intercept):
    # without weights the squared loss has its targets centred before the solver
    _, Y, K = draw(N, M)
    for structure, solver in (
        (Mean(2.0), NewtonCG()),
        (Frobenius(), "majorization"),
    ):
        found, expected = (
            solve(K, Y + 9.0, structure, 0.1, solver=s, intercept=intercept, tol=1e-9)
            for s in (solver, "auto")
        )
        assert_allclose(found.predict(K), expected.predict(K), atol=1e-3)


def test_many_classes_begin_from_plausible_scores(monkeypatch):
    # steps from zero are far too long, and take many products each
    X, y, tree = make_text_tree(400, (8, 30, 120), n_words=2000, random_state=0)

    def products():
        model = OutputKernelClassifier(
            "linear", Tree(tree), 0.1, loss="softmax", fit_intercept=False, tol=1e-4
        )
        with counted_products() as count:
            model.fit(X, y)
        assert model.certificate_.status == "optimal"
        return count.total, model.certificate_.primal

    fewer, objective = products()
    monkeypatch.setattr(Softmax, "plausible_scores", lambda *_: None)
    more, same = products()
    assert fewer < 0.8 * more
    assert_allclose(objective, same, rtol=2e-4)


def test_a_far_smaller_alpha_is_come_to_by_way_of_larger_ones(monkeypatch):
    X, y, tree = make_text_tree(150, (6, 20, 60), n_words=400, random_state=0)

    def products():
        model = OutputKernelClassifier(
            "linear", Tree(tree), 1e-5, loss="softmax", fit_intercept=False, tol=1e-3
        )
        with counted_products() as count:
            model.fit(X, y)
        assert model.certificate_.status == "optimal"
        return count.total, model.certificate_.primal

    fewer, objective = products()
    monkeypatch.setattr(newton_cg, "alphas_before", lambda *_: [])
    more, same = products()
    assert fewer < 0.8 * more
    assert_allclose(objective, same, rtol=2e-3)


@pytest.mark.parametrize("easy", [False, True], ids=["columns", "products"])
def test_a_step_is_solved_no_closer_than_the_tolerance_asks(easy):
    K, Y = targets_for(Softmax(), 60, M)
    inputs = Inputs(Dense(K), None)
    prepared = NewtonCG(5).prepare(formulate(inputs, Y, Softmax(), Identity()).problem)
    gap, zero = 1e-6, newton_start.zero_point(prepared)
    duals = Neighbours().joined(1e-2, zero.dual)
    start = newton_start.NewtonStart(duals, prepared.kernel, easy=easy)
    closely, enough, closer = (
        NewtonSteps(prepared, Request(1e-2, tol, 1, start)).take(zero, gap).products
        for tol in (gap**2, gap / 2, gap / 1000)
    )
    assert enough < closer < closely


def test_a_few_classes_or_numbers_begin_from_zero():
    assert Softmax().plausible_scores(np.eye(4)) is None
    assert Squared().plausible_scores(np.eye(120)) is None
    scores = Softmax().plausible_scores(np.eye(120))
    assert_allclose(np.exp(scores).sum(axis=1), 1.0)
    assert_array_equal(scores.argmax(axis=1), np.arange(120))


@pytest.mark.parametrize("loss", ["softmax", "logistic"])
def test_a_cold_fit_at_a_tiny_alpha_of_classes_that_come_apart_is_proved(loss):
    X, labels = load_digits(return_X_y=True)
    X, y = X[:300] / 16, labels[:300]
    kernel = 1e4 * Gaussian(0.1)
    model = OutputKernelClassifier(kernel, "identity", 1e-5, loss=loss, tol=1e-4)
    with counted_products() as count:
        model.fit(X, y)
    assert model.certificate_.status == "optimal"
    assert count.total < 1000


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["softmax", "logistic"])
def test_full_steps_do_not_lead_a_fit_under_a_tree_astray(loss, intercept):
    # from zero they ended at wrong probabilities of 0 and 1, hundreds of short steps
    # from the optimum or for good
    X, y, tree = make_text_tree(200, (3, 8, 30), n_words=60, random_state=0)
    problem = {"loss": loss, "fit_intercept": intercept, "tol": 1e-4}
    with counted_products() as count:
        for alpha in (1e-4, 5e-4):
            model = OutputKernelClassifier("linear", Tree(tree), alpha, **problem)
            assert model.fit(X, y).certificate_.status == "optimal"
    assert count.total < 1200


def test_targets_that_zero_fits_are_fitted_by_zero():
    K, _ = targets_for(Huber(1.0), N, M)
    fit = solve(
        K, np.zeros((N, M)), Identity(), 0.1, loss=Huber(1.0), solver="newton_cg"
    ).solution
    assert fit.certificate.status == "optimal"
    assert not fit.dual_coef.any()


def path_problem(structure, n=60, m=5):
    """Draw classes that come apart, and formulate their problem."""
    rng = np.random.default_rng(4)
    labels = rng.integers(m, size=n)
    rows = np.eye(m)[labels] + 0.4 * rng.normal(size=(n, m))
    operator = Features(np.hstack([rows, rng.normal(size=(n, 8))]))
    inputs = Inputs(operator, None)
    return formulate(inputs, np.eye(m)[labels], Softmax(), structure).problem


def test_along_a_path_the_next_model_is_where_the_last_ones_lead():
    problem, solver = path_problem(Identity()), NewtonCG()
    prepared = solver.prepare(problem)
    alphas, tol = [1e-3, 1e-4, 1e-5], 1e-6
    start, gaps = None, {}
    for alpha in alphas:
        before = start
        solution = solver.solve(
            prepared, Request(alpha, tol=tol, max_iter=99, start=start)
        )
        start = solution.start
        gaps[alpha] = solution.history[0]["relative_gap"]
    alone = before._replace(duals=Neighbours(before.duals.found[:1]))
    cold = solver.solve(
        prepared, Request(alphas[-1], tol=tol, max_iter=99, start=alone)
    )
    assert gaps[alphas[-1]] < 0.1 * cold.history[0]["relative_gap"]
    assert solution.certificate.status == cold.certificate.status == "optimal"


@pytest.mark.parametrize("loss", [Logistic(), Softmax()], ids=lambda one: one.name)
def test_a_start_that_is_worse_than_zero_is_none(loss):
    K, Y = targets_for(loss, 30, 4)
    problem = formulate(Inputs.of(Dense(K), fit_intercept=True), Y, loss, Identity())
    solver = NewtonCG()
    prepared = solver.prepare(problem.problem)
    cold = solver.solve(prepared, Request(1e-3, 1e-6, 200))
    wild = 1e3 * np.random.default_rng(0).normal(size=Y.shape)
    far = Neighbours().joined(1e-3, wild - wild.mean(axis=0))
    wild = cold.start._replace(duals=far)
    found = solver.solve(prepared, Request(1e-3, 1e-6, 200, wild))
    assert_array_equal(found.dual_coef, cold.dual_coef)


@pytest.mark.parametrize(("scale", "tol"), [(1e3, 1e-6), (1e-3, 1e-10)])
def test_steps_from_another_output_kernel_lead_to_the_end(scale, tol):
    K, Y = targets_for(Logistic(), 30, 4)
    solver, one, two = NewtonCG(), Fixed(psd(4, 0)), Fixed(scale * psd(4, 1))
    inputs = Inputs.of(Dense(K), fit_intercept=True)
    first, last = (
        solver.prepare(formulate(inputs, Y, Logistic(), structure).problem)
        for structure in (one, two)
    )
    there = solver.solve(first, Request(1e-3, tol, 200))
    found = solver.solve(last, Request(1e-3, tol, 200, there.start))
    assert found.certificate.status == "optimal"


def test_steps_that_change_nothing_are_solved_more_closely(monkeypatch):
    # what is left of the residual there is hardly seen by the preconditioned one
    n, m = 300, 10
    rng = np.random.default_rng(0)
    X, (bent, straight) = rng.normal(size=(n, 10)), rng.normal(size=(2, 10, 5))
    hidden = np.sin(X @ bent) + 0.3 * X @ straight
    Y = hidden @ rng.normal(size=(5, m)) + 0.5 * rng.normal(size=(n, m))
    K, Y = Gaussian(0.05)(X), np.where(Y > 1, 1.0, -1.0)
    steps, take = [], NewtonSteps.take

    def counted(self, point, gap):
        steps.append(gap)
        return take(self, point, gap)

    monkeypatch.setattr(NewtonSteps, "take", counted)
    found = solve(K, Y, LowRank(), 0.02, loss=Logistic(), intercept=True)
    assert found.solution.certificate.status == "optimal"
    assert len(steps) < 70  # 127 if each is solved to the same part


def fit_of_classes(X, codes, gamma, alpha, start=None):
    inputs = Inputs.of(Dense(Gaussian(gamma)(X)), fit_intercept=True)
    targets, solver = np.eye(codes.max() + 1)[codes], NewtonCG()
    problem = formulate(inputs, targets, Softmax(), Identity()).problem
    return solver.solve(solver.prepare(problem), Request(alpha, 1e-6, 500, start))


def test_a_start_from_a_wider_kernel_that_leads_nowhere_is_left():
    # 60 classes of 4 rows: with a kernel that is much narrower the C of the wider one
    # makes probabilities 0 or 1 that are wrong, of which each step repairs a few
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(60), 4)
    X = (1.1 * rng.normal(size=(60, 16)))[codes] + rng.normal(size=(240, 16))
    start = fit_of_classes(X, codes, 0.01, 1e-3).start
    for gamma in (0.1, 0.3):
        cold = fit_of_classes(X, codes, gamma, 1e-3)
        warm = fit_of_classes(X, codes, gamma, 1e-3, start)
        assert warm.certificate.status == "optimal"
        assert warm.n_iter <= cold.n_iter + 2  # 17 and 19 in the place of 4 and 5
        assert_array_equal(warm.dual_coef, cold.dual_coef)


def test_a_start_from_a_fit_nearby_is_kept_although_it_is_slow():
    # with another kernel the gap is as wide as at zero for some steps, and then closes
    # at once; the last steps to a larger alpha leave nearly all of the objective
    rng = np.random.default_rng(1)
    codes = np.repeat(np.arange(30), 10)
    X = (0.9 * rng.normal(size=(30, 10)))[codes] + rng.normal(size=(300, 10))
    for first, gamma, alpha in (
        (1e-5, 0.027, 1e-5),
        (1e-5, 0.0315, 1e-5),
        (1e-3, 0.03, 1e-2),
    ):
        start = fit_of_classes(X, codes, 0.03, first).start
        with counted_products() as few:
            fit_of_classes(X, codes, gamma, alpha, start)
        with counted_products() as many:
            fit_of_classes(X, codes, gamma, alpha)
        assert few.total < 0.8 * many.total
