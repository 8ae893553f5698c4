"""Missing targets with a known output kernel: the imputed ones solve a system."""

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from okl.losses import Squared
from okl.operators import Dense, Features
from okl.problems import Inputs, formulate
from okl.solvers import ClosedForm, Imputation, NewtonCG, Request, choose_solver
from okl.structures import Fixed, Frobenius, Graph, Identity, LowRank, Mean
from tests import reference
from tests.instances import ring
from tests.samples import draw, psd, solve

N, M = 14, 4
STRUCTURES = [
    Identity(),
    Mean(2.5),
    Graph(ring(M), 0.5),
    Fixed(psd(M, 5)),
    Fixed(psd(M, 6, rank=2)),
]
each = pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
alphas = pytest.mark.parametrize("alpha", [3.0, 0.1, 1e-3])
RNG = np.random.default_rng


def holes(shape, part=0.5, seed=0):
    """Draw weights of zero and one, with every output seen somewhere."""
    weights = (RNG(seed).random(shape) >= part).astype(float)
    weights[0] = 1.0
    return weights


def dense(K, Y, L, alpha, weights, intercept):
    """Solve K C L + alpha C + 1 b' = Y at the observed entries, C zero elsewhere."""
    n, m = Y.shape
    seen = weights.ravel() > 0
    A = (np.kron(K, L) + alpha * np.eye(n * m))[np.ix_(seen, seen)]
    B = np.kron(np.ones((n, 1)), np.eye(m))[seen]
    right = Y.ravel()[seen]
    if intercept:
        A = np.block([[A, B], [B.T, np.zeros((m, m))]])
        right = np.r_[right, np.zeros(m)]
    solution = np.linalg.solve(A, right)
    C = np.zeros(n * m)
    C[seen] = solution[: seen.sum()]
    return C.reshape(n, m), solution[seen.sum() :] if intercept else np.zeros(m)


@each
@intercepts
@alphas
@pytest.mark.parametrize("part", [0.1, 0.8])
def test_the_system_of_the_observed_entries(structure, intercept, alpha, part):
    _, Y, K = draw(N, M)
    weights = holes(Y.shape, part)
    L = reference.fixed_kernel(structure, M)
    C, b = dense(K, Y, L, alpha, weights, intercept)
    found = solve(
        K, Y, structure, alpha, weights=weights, intercept=intercept, tol=1e-10
    )
    assert found.solution.certificate.status == "optimal"
    F = K @ C @ L + b
    assert_allclose(found.predict(K), F, atol=1e-4 * np.abs(F).max())
    residual = weights * (Y - F)
    value = np.sum(residual**2) / 2 + alpha / 2 * np.sum(C * (K @ C @ L))
    assert_allclose(found.solution.certificate.primal, value, rtol=1e-9)


@each
@intercepts
def test_a_conic_solver_finds_the_same(structure, intercept):
    _, Y, K = draw(8, M)
    weights = holes(Y.shape)
    value, *_ = reference.conic_optimum(
        K, Y, 0.3, structure, intercept, weights=weights
    )
    found = solve(K, Y, structure, 0.3, weights=weights, intercept=intercept)
    assert_allclose(found.solution.certificate.primal, value, rtol=1e-5)


@each
@intercepts
@alphas
def test_nothing_missing_is_the_closed_form(structure, intercept, alpha):
    _, Y, K = draw(N, M)
    options = {"intercept": intercept}
    expected = solve(K, Y, structure, alpha, solver="closed_form", **options)
    for weights in (None, np.ones_like(Y), np.ones((N, 1))):
        found = solve(
            K, Y, structure, alpha, solver="imputation", weights=weights, **options
        )
        assert found.solution.n_iter == 1
        scale = np.abs(expected.dual_coef).max()
        assert_allclose(found.dual_coef, expected.dual_coef, atol=1e-10 * scale)
        assert_allclose(found.predict(K), expected.predict(K), atol=1e-10)


@each
@intercepts
def test_a_row_without_targets_is_no_row(structure, intercept):
    _, Y, K = draw(N, M)
    weights = holes(Y.shape, 0.3)
    weights[[3, 8]] = 0.0
    kept = np.setdiff1d(np.arange(N), [3, 8])
    options = {"intercept": intercept, "tol": 1e-11}
    one = solve(K, Y, structure, 0.1, weights=weights, **options)
    two = solve(
        K[np.ix_(kept, kept)], Y[kept], structure, 0.1, weights=weights[kept], **options
    )
    assert_allclose(
        one.solution.certificate.primal, two.solution.certificate.primal, rtol=1e-9
    )
    assert_allclose(one.predict(K), two.predict(K[:, kept]), atol=1e-4)
    assert_allclose(one.dual_coef[[3, 8]], 0, atol=1e-4 * np.abs(one.dual_coef).max())


@intercepts
def test_the_order_of_rows_and_outputs_does_not_matter(intercept):
    _, Y, K = draw(N, M)
    L, weights = psd(M, 5), holes(Y.shape)
    rows, columns = RNG(1).permutation(N), RNG(2).permutation(M)
    options = {"intercept": intercept, "tol": 1e-11}
    one = solve(K, Y, Fixed(L), 0.1, weights=weights, **options)
    here, there = np.ix_(rows, columns), np.ix_(columns, columns)
    two = solve(
        K[np.ix_(rows, rows)],
        Y[here],
        Fixed(L[there]),
        0.1,
        weights=weights[here],
        **options,
    )
    F = one.predict(K)[here]
    assert_allclose(two.predict(K[np.ix_(rows, rows)]), F, atol=1e-4)


@intercepts
@pytest.mark.parametrize("structure", STRUCTURES[-2:], ids=repr)
def test_a_kernel_matrix_of_low_rank_and_features(structure, intercept):
    X, Y, _ = draw(N, M)
    weights, L = holes(Y.shape), reference.fixed_kernel(structure, M)
    C, b = dense(X @ X.T, Y, L, 0.1, weights, intercept)
    F = X @ X.T @ C @ L + b
    for operator in (Dense(X @ X.T), Features(X)):
        inputs = Inputs.of(operator, fit_intercept=intercept)
        formulation = formulate(inputs, Y, Squared(), structure, weights)
        solver = choose_solver("auto", formulation.problem)
        assert solver.name == "imputation"
        solution = solver.solve(
            solver.prepare(formulation.problem), Request(0.1, tol=1e-11, max_iter=100)
        )
        assert solution.certificate.status == "optimal"
        found = X @ (X.T @ solution.dual_coef)
        found = found + (
            formulation.intercept(solution.dual_coef, solution.intercept)
            if intercept
            else 0.0
        )
        assert_allclose(found, F, atol=1e-4)


@intercepts
def test_coefficients_stay_in_the_range_of_a_clipped_matrix(intercept):
    _, Y, K = draw(N, M)
    values, vectors = np.linalg.eigh(K)
    values[:3] = -1e-9 * values[-1]
    noisy = (vectors * values) @ vectors.T
    noisy = (noisy + noisy.T) / 2
    inputs = Inputs.of(Dense(noisy, trusted=False), fit_intercept=intercept)
    assert inputs.operator.clipped
    weights = holes(Y.shape)
    problem = formulate(inputs, Y, Squared(), Mean(), weights).problem
    solver = Imputation()
    solution = solver.solve(
        solver.prepare(problem), Request(0.1, tol=1e-9, max_iter=100)
    )
    assert solution.certificate.status == "optimal"
    U = inputs.operator.spectrum.vectors
    outside = solution.dual_coef - U @ (U.T @ solution.dual_coef)
    assert_allclose(outside, 0, atol=1e-12 * np.abs(solution.dual_coef).max())


@each
@intercepts
def test_what_the_solver_tells_on_its_way_is_true(structure, intercept):
    _, Y, K = draw(30, M)
    weights, alpha = holes(Y.shape, 0.7), 0.01
    L = reference.fixed_kernel(structure, M)
    for max_iter in (1, 2, 4, 7):
        result = solve(
            *(K, Y, structure, alpha),
            weights=weights,
            intercept=intercept,
            tol=1e-300,
            max_iter=max_iter,
        )
        found = result.solution
        assert found.n_iter == max_iter
        record = found.history[-1]
        assert_allclose(record["primal"], found.certificate.primal, rtol=1e-9)
        residual = weights * (Y - result.predict(K))
        norm = np.sum(residual * (K @ residual @ L)) / (2 * alpha)
        dual = np.sum(residual * (Y - residual / 2)) - norm
        assert_allclose(record["dual"], dual, rtol=1e-7)
        # of the two dual points that it knows the certificate takes the better one
        assert dual * (1 - 1e-9 * np.sign(dual)) <= found.certificate.dual
        assert found.certificate.dual <= record["primal"]


@each
def test_any_array_namespace(structure):
    _, Y, K = draw(N, M)
    weights = holes(Y.shape)
    for intercept in (False, True):
        options = {"weights": weights, "intercept": intercept}
        here = solve(K, Y, structure, 0.1, **options)
        there = solve(K, Y, structure, 0.1, xp=strict, **options)
        assert there.dual_coef.__array_namespace__() is strict
        assert there.solution.n_iter == here.solution.n_iter
        F = here.predict(K)
        assert_allclose(there.predict(K), F, atol=1e-9 * np.abs(F).max())
        again = solve(K, Y, structure, 0.1, **options)
        assert_array_equal(again.dual_coef, here.dual_coef)


def test_few_steps_and_one_decomposition_for_a_path():
    # half of 20 000 targets are missing: 10 000 unknowns
    rng = RNG(0)
    X = rng.normal(size=(400, 4))
    K = np.exp(-0.1 * ((X[:, None] - X[None]) ** 2).sum(-1))
    Y = K @ rng.normal(size=(400, 50)) / 10 + rng.normal(size=(400, 50))
    weights = holes(Y.shape)
    inputs = Inputs.of(Dense(K), fit_intercept=True)
    problem = formulate(inputs, Y, Squared(), Mean(), weights).problem
    solver = choose_solver("auto", problem, n_alphas=3)
    assert isinstance(solver, Imputation)
    prepared = solver.prepare(problem)
    spectrum = problem.operator.spectrum
    start = None
    for alpha, most in ((1.0, 12), (0.5, 8), (0.1, 20), (0.01, 40)):
        cold = solver.solve(prepared, Request(alpha, tol=1e-6, max_iter=100))
        warm = solver.solve(
            prepared, Request(alpha, tol=1e-6, max_iter=100, start=start)
        )
        assert cold.certificate.status == warm.certificate.status == "optimal"
        assert warm.n_iter <= min(cold.n_iter, most)
        start = warm.start
    again = solver.solve(prepared, Request(0.01, tol=1e-6, max_iter=100, start=start))
    assert again.n_iter == 1
    assert problem.operator.spectrum is spectrum


def test_an_output_that_is_nowhere_observed_follows_the_others():
    # as may happen in a fold; L tells what it is, up to the intercept
    _, Y, K = draw(N, M)
    weights = holes(Y.shape, 0.3)
    weights[:, 2] = 0.0
    L = psd(M, 5)
    C, _ = dense(K, Y, L, 0.1, weights, False)
    found = solve(K, Y, Fixed(L), 0.1, weights=weights, tol=1e-11)
    assert_allclose(found.predict(K), K @ C @ L, atol=1e-4)
    found = solve(K, Y, Fixed(L), 0.1, weights=weights, intercept=True)
    assert found.solution.certificate.status == "optimal"
    assert np.all(np.isfinite(found.predict(K)))


def test_an_impossible_tolerance_ends():
    _, Y, K = draw(30, M)
    found = solve(
        K, Y, Mean(), 1e-3, weights=holes(Y.shape), tol=1e-300, max_iter=10**6
    )
    assert found.solution.n_iter < 500
    assert found.solution.certificate.relative_gap < 1e-11


class TestChoice:
    """Zeros and ones are imputed; other weights are for Newton's method."""

    def problem(self, weights, structure=None):
        _, Y, K = draw(N, M)
        inputs = Inputs.of(Dense(K), fit_intercept=True)
        structure = Mean() if structure is None else structure
        return formulate(inputs, Y, Squared(), structure, weights).problem

    def test_automatic(self):
        weights = holes((N, M))
        assert choose_solver("auto", self.problem(weights)).name == "imputation"
        assert choose_solver("auto", self.problem(weights * 2)).name == "newton_cg"
        learned = self.problem(weights, LowRank(2))
        assert choose_solver("auto", learned).name == "observed_newton"

    def test_few_observed_targets_are_the_unknowns(self):
        weights = np.zeros((N, M))
        weights.ravel()[: N * M // 4] = 1.0
        assert choose_solver("auto", self.problem(weights)).name == "imputation"
        weights.ravel()[0] = 0.0
        assert choose_solver("auto", self.problem(weights)).name == "newton_cg"
        with pytest.raises(ValueError, match="at least 1 in 4 targets to be"):
            choose_solver("imputation", self.problem(weights))

    def test_refused(self):
        with pytest.raises(ValueError, match="weights of zero and one only"):
            choose_solver("imputation", self.problem(holes((N, M)) + 1))
        with pytest.raises(ValueError, match="a structure that fixes"):
            choose_solver("imputation", self.problem(None, Frobenius()))
        with pytest.raises(ValueError, match="targets without weights"):
            choose_solver(ClosedForm(), self.problem(holes((N, M))))
        assert not NewtonCG().missing(self.problem(holes((N, M)) + 1))


@pytest.mark.parametrize("alpha", [0.1, 0.02])
def test_an_output_without_targets_does_not_lead_astray(alpha):
    """Its mean is anything; what rounding says of it was once followed to 1e5."""
    X, Y, _ = draw(N, M)
    inputs = Inputs.of(Dense(X[:, :2] @ X[:, :2].T), fit_intercept=True)
    solver = Imputation()
    for seed in range(12):
        weights = holes(Y.shape, 0.6, seed)
        weights[:, 1] = 0.0
        structure = Fixed(psd(M, 6, rank=2))
        problem = formulate(inputs, Y, Squared(), structure, weights).problem
        prepared = solver.prepare(problem)
        solution = solver.solve(prepared, Request(alpha, tol=1e-14, max_iter=200))
        assert np.abs(solution.start).max() < 20 * np.abs(Y).max()
