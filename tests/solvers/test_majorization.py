"""Rounds of squared-loss problems, for a learned output kernel and any loss."""

from itertools import product

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from okl import OutputKernelRegressor
from okl.kernels import Gaussian
from okl.losses import Huber, Logistic, Softmax, Squared, SquaredHinge
from okl.operators import Dense, counted_products
from okl.problems import Inputs, formulate
from okl.solvers import Majorization, NewtonCG, Request
from okl.solvers.smooth import rounds
from okl.solvers.smooth.rounds import _Rounds
from okl.structures import Cluster, Frobenius, LowRank, Sparse, TraceBall
from tests.samples import draw_classes, gaussian, solve, targets_for
from tests.solvers.test_newton_cg import weights_for

N, M = 12, 3
LOSSES = [Huber(0.8), Logistic(), Softmax(), SquaredHinge()]
STRUCTURES = [
    Frobenius(),
    LowRank(),
    TraceBall(),
    TraceBall(1e-2),
    Cluster(2),
    Sparse(0.3, 1e-2),
]
each = pytest.mark.parametrize("loss", LOSSES, ids=repr)
structures = pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])


# one for each inner solver and way of its; these have tests of their own
@each
@pytest.mark.parametrize(
    "setting", [*product([Frobenius(), LowRank(), Cluster(2)], [False, True])], ids=str
)
def test_any_array_namespace(loss, setting):
    structure, weighted = setting
    K, Y = targets_for(loss, N, M)
    weights = weights_for(loss, N, M) if weighted else None
    options = {"loss": loss, "intercept": True, "weights": weights, "tol": 1e-5}
    here = solve(K, Y, structure, 0.3, **options)
    there = solve(K, Y, structure, 0.3, xp=strict, **options)
    assert there.dual_coef.__array_namespace__() is strict
    assert there.output_kernel.eigenvalues.__array_namespace__() is strict
    one, two = here.solution.certificate, there.solution.certificate
    assert one.status == two.status
    assert_allclose(two.primal, one.primal, rtol=2e-5)


@structures
@intercepts
@pytest.mark.parametrize("loss", [Logistic(), Softmax(), SquaredHinge()], ids=repr)
def test_a_round_begins_below_where_the_last_one_ended(
    loss, structure, intercept, monkeypatch
):
    # at the f of a model that is nowhere below the objective
    K, Y = targets_for(loss, 30, 4)
    problem = formulate(
        Inputs.of(Dense(K), fit_intercept=intercept), Y, loss, structure
    )
    problem, alpha = problem.problem, 0.01
    turns = _Rounds(Majorization().prepare(problem), Request(alpha, 1e-9, 50))
    turns.turn()
    last = turns._accepted[-1]
    turns.h, fit, begun = turns.bound, turns._fit, []
    monkeypatch.setattr(turns, "_fit", lambda *at: begun.append(at) or fit(*at))
    turns.turn()
    kernel, start = begun[0]
    dual = turns.prepared.dual_of(start)
    fitted = K @ dual @ kernel.matrix()
    if intercept:
        fitted = fitted - fitted.mean(axis=0)
    scores, _ = problem.at_best_intercept(fitted)
    cost = np.sum(dual * fitted) / 2 + structure.penalty(kernel.matrix())
    assert problem.loss_at(scores) + alpha * cost <= last * (1 + 1e-9)


@each
@structures
def test_twice_the_same_is_the_same_to_the_last_bit(loss, structure):
    K, Y = targets_for(loss, N, M)
    one, two = (
        solve(K, Y, structure, 0.1, loss=loss, intercept=True, tol=1e-5)
        for _ in range(2)
    )
    assert_array_equal(one.dual_coef, two.dual_coef)
    assert_array_equal(one.output_kernel.matrix(), two.output_kernel.matrix())
    assert one.solution.n_iter == two.solution.n_iter


@each
@structures
def test_more_outputs_than_samples(loss, structure):
    # here the inner problems are solved in fewer outputs
    K, Y = targets_for(loss, 4, 4)
    Y = np.concatenate([Y, Y[:, ::-1]], axis=1)
    if loss.name == "softmax":
        Y = Y / Y.sum(axis=1, keepdims=True)
    found = solve(K, Y, structure, 0.1, loss=loss, intercept=True)
    assert found.solution.certificate.status == "optimal"


@each
@intercepts
def test_a_bound_on_the_rank(loss, intercept):
    K, Y = targets_for(loss, N, M)
    options = {"loss": loss, "intercept": intercept, "tol": 1e-4}
    free = solve(K, Y, LowRank(), 0.3, **options)
    found = solve(K, Y, LowRank(1), 0.3, **options)
    certificate = found.solution.certificate
    assert found.output_kernel.rank == 1 < free.output_kernel.rank
    assert certificate.status == "rank_limited"
    assert certificate.primal > free.solution.certificate.primal
    # the bound is one for every rank
    assert certificate.dual <= free.solution.certificate.primal
    # to start from there gains nothing
    again = solve(K, Y, LowRank(1), 0.3, start=found.solution.start, **options)
    assert again.solution.certificate.primal == pytest.approx(
        certificate.primal, rel=1e-4
    )


@each
@structures
def test_a_start_from_a_neighbour(loss, structure):
    K, Y = targets_for(loss, N, M)
    near = solve(K, Y, structure, 0.3, loss=loss, intercept=True).solution
    cold = solve(K, Y, structure, 0.25, loss=loss, intercept=True).solution
    warm = solve(
        K, Y, structure, 0.25, loss=loss, intercept=True, start=near.start
    ).solution
    assert warm.certificate.status == cold.certificate.status
    assert_allclose(warm.certificate.primal, cold.certificate.primal, rtol=1e-5)


def test_alpha_from_which_on_nothing_is_learned():
    # the trace structure: L = 0 from ||K^(1/2) G||_2 on, G minus the gradient at the
    # best constant
    _, labels, K = draw_classes(N, M)
    loss = Softmax()
    Y = loss.coding.encode(labels, "multiclass", M)
    G = Y - Y.mean(axis=0)
    largest = np.linalg.norm(G.T @ K @ G, 2) ** 0.5
    above = solve(K, Y, LowRank(), 1.01 * largest, loss=loss, intercept=True)
    below = solve(K, Y, LowRank(), 0.98 * largest, loss=loss, intercept=True)
    assert above.output_kernel.rank == 0
    assert np.all(above.dual_coef == 0)
    assert below.output_kernel.rank > 0
    assert above.solution.certificate.status == "optimal"
    assert below.solution.certificate.status == "optimal"


def test_missing_entries_are_imputed_by_their_predictions():
    # at the optimum the same problem without weights has the same solution
    K, Y = targets_for(Squared(), N, M)
    missing = np.random.default_rng(0).random(Y.shape) < 0.3
    weights = np.where(missing, 0.0, 1.0)
    one = solve(K, Y, Frobenius(), 0.3, weights=weights, intercept=True, tol=1e-9)
    imputed = np.where(missing, one.predict(K), Y)
    two = solve(K, imputed, Frobenius(), 0.3, intercept=True, tol=1e-9)
    F = two.predict(K)
    assert_allclose(one.predict(K), F, atol=1e-4 * np.abs(F).max())


@pytest.mark.parametrize("loss", [Logistic(), Softmax()], ids=repr)
@pytest.mark.parametrize(
    ("structure", "most"), [(Frobenius(), 15), (Sparse(), 20), (TraceBall(), 60)]
)
def test_saturated_probabilities_take_few_rounds(loss, structure, most):
    # proximal gradients alone need hundreds here, as no h is small enough for certain
    X, labels = load_digits(return_X_y=True)
    X, labels = X[:200] / 16, labels[:200]
    Y = loss.coding.encode(labels, "multiclass", 10)
    K = gaussian(X, gamma=0.1)
    found = solve(K, Y, structure, 0.01, loss=loss, intercept=True)
    assert found.solution.certificate.status == "optimal"
    assert found.solution.n_iter <= most


@pytest.mark.parametrize(
    ("loss", "intercept", "most"),
    [(Softmax(), True, 450), (Logistic(), False, 1500)],
    ids=["softmax", "logistic"],
)
def test_few_steps_of_f_under_a_bound_on_the_rank(loss, intercept, most, monkeypatch):
    # each L that is tried starts from the function found for the one before
    counts = []
    solve_f = NewtonCG.solve

    def counted(self, *args, **options):
        found = solve_f(self, *args, **options)
        counts.append(found.n_iter)
        return found

    monkeypatch.setattr(NewtonCG, "solve", counted)
    K, Y = targets_for(loss, 20, 4)
    solve(K, Y, LowRank(2), 1e-2, loss=loss, intercept=intercept)
    assert sum(counts) <= most


def test_rounds_look_no_closer_while_the_gap_falls(monkeypatch):
    # the dual value errs to first order: its rounds go on when the objective is at its
    # end, and closer models would not help it
    n, m = 200, 12
    rng = np.random.default_rng(0)
    X, (bent, straight) = rng.normal(size=(n, 10)), rng.normal(size=(2, 10, 5))
    hidden = np.sin(X @ bent) + 0.3 * X @ straight
    Y = hidden @ rng.normal(size=(5, m)) + rng.gumbel(size=(n, m))
    K, Y = Gaussian(0.05)(X), np.eye(m)[np.argmax(Y, axis=1)]

    def products():
        with counted_products() as count:
            found = solve(K, Y, LowRank(), 0.05, loss=Softmax(), intercept=True)
        assert found.solution.certificate.status == "optimal"
        return count.total

    here = products()
    monkeypatch.setattr(rounds, "_CLOSER", 1.0)
    assert here <= 1.05 * products()


@pytest.mark.parametrize("columns", [1, 8])
def test_models_of_few_columns_lead_to_the_same_optimum(columns):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(60, 3)), np.arange(60) % 4
    y = X[:, 0] + 0.5 * codes * X[:, 1] + 0.4 * rng.normal(size=60)
    few, all_of_them = (
        OutputKernelRegressor(
            Gaussian(0.3), "frobenius", 0.1, loss="huber", solver=Majorization(number)
        ).fit(X, y, task=codes)
        for number in (columns, 100)
    )
    assert few.certificate_.status == "optimal"
    assert_allclose(few.certificate_.primal, all_of_them.certificate_.primal, rtol=2e-6)


@pytest.mark.parametrize("alpha", [1.0, 0.1])
def test_labels_that_no_row_has_cost_no_rounds(alpha):
    # their intercepts are infinite, up to rounding: where these moved by hundreds from
    # round to round the curvature of the models was taken from that, and there were 11
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 20))
    hidden = X @ rng.normal(size=(20, 8)) + 2 * rng.normal(size=(80, 8))
    Y = np.where(hidden > 8, 1.0, -1.0)
    Y = np.concatenate([Y, -np.ones((80, 3))], axis=1)
    options = {"loss": Logistic(), "intercept": True, "tol": 1e-4}
    found = solve(X @ X.T, Y, Frobenius(), alpha, **options)
    assert found.solution.certificate.status == "optimal"
    assert found.solution.n_iter <= 7
