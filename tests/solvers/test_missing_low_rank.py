"""Missing targets under a trace penalty: Newton in a factor of L and in the targets."""

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.losses import Huber, Softmax
from okl.operators import JointSpectrum
from okl.solvers import Majorization, Request
from okl.solvers.smooth import factor_newton
from okl.solvers.smooth.factor_newton import takes
from okl.solvers.smooth.rounds import rounds
from okl.structures import Frobenius, LowRank, TraceBall
from tests import reference
from tests.samples import alpha_max, draw, gaussian, psd, solve, targets_for

PART = 0.6
traces = pytest.mark.parametrize("structure", [LowRank(), TraceBall()], ids=repr)
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])


def holes(shape, seed=0):
    """Draw weights of zero and one, with every output seen somewhere."""
    weights = (np.random.default_rng(seed).random(shape) >= PART).astype(float)
    weights[0] = 1.0
    return weights


def few_functions(n, m, seed=0):
    """Draw K and targets that four hidden functions drive, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    hidden = np.sin(X @ rng.normal(size=(5, 4))) @ rng.normal(size=(4, m))
    return gaussian(X, gamma=0.2), hidden + 0.3 * rng.normal(size=(n, m))


@traces
@intercepts
@pytest.mark.parametrize("fraction", [0.3, 1e-2, 1e-4])
@pytest.mark.parametrize("rank", [None, 3])
@pytest.mark.each_value
def test_the_optimum_of_the_rounds(structure, intercept, fraction, rank):
    _, Y, K = draw(25, 5)
    K = K if rank is None else psd(25, rank=rank)
    weights = holes(Y.shape)
    alpha = fraction * alpha_max(K, weights * Y)
    options = {"weights": weights, "intercept": intercept}
    newton = solve(K, Y, structure, alpha, tol=1e-8, **options)
    prepared = Majorization().prepare(newton.formulation.problem)
    alone = rounds(prepared, Request(alpha, tol=1e-5, max_iter=1000))
    one, two = newton.solution.certificate, alone.certificate
    assert one.status == "optimal"
    assert two.dual <= one.primal * (1 + 1e-12)
    assert one.dual <= two.primal * (1 + 1e-12)
    assert len(newton.solution.history) == newton.solution.n_iter


@traces
@intercepts
def test_a_conic_solver_finds_the_same(structure, intercept):
    _, Y, K = draw(8, 3)
    weights = holes(Y.shape)
    value, *_ = reference.conic_optimum(
        K, Y, 0.1, structure, intercept, weights=weights
    )
    found = solve(K, Y, structure, 0.1, weights=weights, intercept=intercept)
    assert_allclose(found.solution.certificate.primal, value, rtol=1e-5)


@intercepts
@pytest.mark.parametrize("structure", [LowRank(), LowRank(2), TraceBall()], ids=repr)
def test_any_array_namespace(structure, intercept):
    _, Y, K = draw(15, 4)
    options = {"weights": holes(Y.shape), "intercept": intercept}
    here = solve(K, Y, structure, 0.05, **options)
    there = solve(K, Y, structure, 0.05, xp=strict, **options)
    assert there.dual_coef.__array_namespace__() is strict
    assert there.output_kernel.eigenvalues.__array_namespace__() is strict
    one, two = here.solution.certificate, there.solution.certificate
    assert one.status == two.status
    assert_allclose(two.primal, one.primal, rtol=2e-6)


def test_what_it_is_for():
    _, Y, K = draw(12, 4)
    missing = holes(Y.shape)
    for structure, weights, loss, taken in (
        (LowRank(), missing, None, True),
        (LowRank(2), missing, None, True),
        (TraceBall(), missing, None, True),
        (TraceBall(1e-2), missing, None, False),
        (Frobenius(), missing, None, True),
        (LowRank(), 2 * missing, None, True),
        (LowRank(), missing, Huber(), True),
        (LowRank(), None, Huber(), False),
        (LowRank(), 1 + missing, None, False),
    ):
        found = solve(K, Y, structure, 1.0, weights=weights, loss=loss)
        assert takes(Majorization().prepare(found.formulation.problem)) == taken


@pytest.mark.parametrize("loss", [Huber(), Softmax()], ids=lambda one: one.name)
@pytest.mark.parametrize("structure", [LowRank(), TraceBall(), Frobenius()], ids=repr)
def test_a_row_without_weight_is_no_missing_target(loss, structure):
    K, Y = targets_for(loss, 12, 4)
    weights = np.ones((12, 1))
    whole = solve(K, Y, structure, 1.0, loss=loss, weights=2 * weights)
    weights[3] = 0.0
    found = solve(K, Y, structure, 1.0, loss=loss, weights=weights)
    one, two = (
        takes(Majorization().prepare(fit.formulation.problem)) for fit in (whole, found)
    )
    assert one == two


@pytest.mark.parametrize(
    ("loss", "weight"), [(Huber(0.5), 1.0), (None, 2.0)], ids=["huber", "weights"]
)
@pytest.mark.parametrize("structure", [LowRank(), TraceBall()], ids=repr)
@intercepts
def test_steps_where_f_is_no_closed_form(structure, loss, weight, intercept):
    # imputation has none for other losses, and for weights other than zero and one
    _, Y, K = draw(25, 5)
    weights = weight * holes(Y.shape)
    alpha = 1e-3 * alpha_max(K, weights * Y)
    options = {"weights": weights, "loss": loss, "intercept": intercept}
    newton = solve(K, Y, structure, alpha, tol=1e-8, **options)
    prepared = Majorization().prepare(newton.formulation.problem)
    alone = rounds(prepared, Request(alpha, tol=1e-4, max_iter=1000))
    one, two = newton.solution.certificate, alone.certificate
    assert one.status == "optimal"
    assert newton.solution.n_iter < alone.n_iter
    assert two.dual <= one.primal * (1 + 1e-12)
    assert one.dual <= two.primal * (1 + 1e-12)


def test_many_observed_targets_of_other_losses_are_left_to_rounds(monkeypatch):
    _, Y, K = draw(12, 4)
    weights = holes(Y.shape)
    found = solve(K, Y, LowRank(), 1.0, weights=weights, loss=Huber())
    prepared = Majorization().prepare(found.formulation.problem)
    assert takes(prepared)
    monkeypatch.setattr(factor_newton, "DIRECT", int(weights.sum()) - 1)
    assert not takes(prepared)
    again = solve(K, Y, LowRank(), 1.0, weights=weights, loss=Huber())
    assert again.solution.certificate.status == "optimal"


@intercepts
@pytest.mark.parametrize("rank", [1, 2])
def test_a_bound_on_the_rank(intercept, rank):
    _, Y, K = draw(30, 6)
    weights = holes(Y.shape)
    alpha = alpha_max(K, weights * Y) / 100
    options = {"weights": weights, "intercept": intercept}
    free = solve(K, Y, LowRank(), alpha, **options)
    found = solve(K, Y, LowRank(rank), alpha, **options)
    certificate = found.solution.certificate
    assert found.output_kernel.rank == rank < free.output_kernel.rank
    assert certificate.status == "rank_limited"
    # the bound is one for every rank
    assert certificate.primal > free.solution.certificate.primal
    assert certificate.dual <= free.solution.certificate.primal
    # the gradient in B vanishes: alpha (I - C'KC) B, C zero where targets are missing
    C = weights * (Y - found.predict(K)) / alpha
    B = found.output_kernel.factor()
    assert np.linalg.norm(B - C.T @ (K @ (C @ B))) < 2e-3 * np.linalg.norm(B)


def test_a_bound_that_does_not_bind_changes_nothing():
    _, Y, K = draw(30, 6)
    weights = holes(Y.shape)
    alpha = alpha_max(K, weights * Y) / 3
    free = solve(K, Y, LowRank(), alpha, weights=weights)
    assert free.output_kernel.rank < 6
    bounded = solve(K, Y, LowRank(free.output_kernel.rank), alpha, weights=weights)
    assert bounded.solution.certificate.status == "optimal"
    assert_allclose(
        bounded.solution.certificate.primal,
        free.solution.certificate.primal,
        rtol=2e-6,
    )


@intercepts
def test_alpha_from_which_on_nothing_is_learned(intercept):
    # L = 0 from ||K^(1/2) G||_2 on, G minus the gradient at the best constant
    _, Y, K = draw(20, 5)
    weights = holes(Y.shape)
    means = (weights * Y).sum(0) / weights.sum(0) if intercept else 0.0
    G = weights * (Y - means)
    largest = np.linalg.norm(G.T @ K @ G, 2) ** 0.5
    # what is learned just below lowers the objective by some 1e-6 of it
    options = {"weights": weights, "intercept": intercept, "tol": 1e-9}
    above = solve(K, Y, LowRank(), 1.01 * largest, **options)
    assert above.output_kernel.rank == 0
    start = above.solution.start
    for share in (0.999, 0.5):
        below = solve(K, Y, LowRank(), share * largest, start=start, **options)
        assert below.output_kernel.rank > 0
        assert below.solution.certificate.status == "optimal"


@traces
def test_more_outputs_than_samples(structure):
    K, Y = few_functions(8, 12)
    weights = holes(Y.shape)
    alpha = alpha_max(K, weights * Y) / 100
    found = solve(K, Y, structure, alpha, weights=weights, intercept=True)
    assert found.solution.certificate.status == "optimal"


@traces
def test_a_start_from_the_optimum_and_from_a_neighbour(structure):
    K, Y = few_functions(40, 6)
    weights = holes(Y.shape)
    alpha = alpha_max(K, weights * Y) / 1000
    options = {"weights": weights, "intercept": True}
    near = solve(K, Y, structure, alpha, **options).solution
    again = solve(K, Y, structure, alpha, start=near.start, **options).solution
    assert again.certificate.status == "optimal"
    assert again.n_iter == 1
    cold = solve(K, Y, structure, alpha / 2, **options).solution
    warm = solve(K, Y, structure, alpha / 2, start=near.start, **options).solution
    assert warm.certificate.status == cold.certificate.status == "optimal"
    assert warm.n_iter <= cold.n_iter


@pytest.mark.parametrize("structure", [LowRank(), LowRank(3)], ids=repr)
@pytest.mark.parametrize("fraction", [1e-3, 1e-4])
def test_hardly_more_products_than_for_the_frobenius_norm(
    structure, fraction, monkeypatch
):
    # rounds alone took seventy times the time at the smaller alpha
    counted = []
    coordinates = JointSpectrum.coordinates

    def count(self, rows):
        counted.append(1)
        return coordinates(self, rows)

    monkeypatch.setattr(JointSpectrum, "coordinates", count)
    K, Y = few_functions(100, 30)
    weights = holes(Y.shape)
    alpha = fraction * alpha_max(K, weights * Y)
    products = []
    for each in (Frobenius(), structure):
        counted.clear()
        found = solve(K, Y, each, alpha, weights=weights, intercept=True)
        assert found.solution.certificate.status != "max_iter"
        products.append(len(counted))
    assert products[1] <= 5 * products[0]
    assert found.solution.n_iter <= 25
