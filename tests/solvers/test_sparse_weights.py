"""Newton's steps in weights of sparse features: they are those of dense ones."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from okl.losses import Logistic, Softmax
from okl.operators import Features, SparseFeatures
from okl.solvers import NewtonCG, solve, solve_path
from okl.solvers.predictor.newton_start import alphas_before, zero_point
from okl.solvers.predictor.primal_step import primal_step
from okl.solvers.predictor.sparse_weights import takes_weights
from okl.solvers.predictor.weight_step import has_few_features
from okl.structures import Fixed, Identity, Mean
from tests.samples import psd
from tests.solvers.test_primal_step import (
    M,
    N,
    intercepts,
    prepared_for,
    problem_of,
    words,
)

losses = pytest.mark.parametrize("loss", [Softmax(), Logistic()], ids=repr)
structures = pytest.mark.parametrize(
    "structure",
    [Identity(), Mean(2.0), Fixed(psd(M, 6, rank=2))],
    ids=["identity", "mean", "fixed"],
)
without = pytest.mark.parametrize("without", [0, 5, N - 4], ids=["all", "many", "few"])
columns = pytest.mark.parametrize("case", ["full", "repeated", "zero", "constant"])


def rows_of(case):
    """Return sparse rows, of which columns may depend on each other."""
    X = words(d=20)
    added = {
        "full": X[:, :0],
        "repeated": sp.hstack([X[:, :4], X[:, :3] + X[:, 3:6]]),
        "zero": sp.csr_matrix((N, 3)),
        "constant": sp.csr_matrix(np.ones((N, 1))),
    }
    return sp.hstack([X, added[case]]).tocsr()


def weights_of(n_without):
    """Return the weights of rows, None where all count the same."""
    if not n_without:
        return None
    weights = np.random.default_rng(3).uniform(0.2, 2.0, size=(N, 1))
    weights[:n_without] = 0.0
    return weights


@losses
@intercepts
@without
@columns
@pytest.mark.parametrize("alpha", [1.0, 1e-4])
def test_the_optimum_is_that_of_dense_features(loss, intercept, without, case, alpha):
    X, weights = rows_of(case), weights_of(without)
    problems = [
        problem_of(loss, Identity(), intercept, operator, weights)
        for operator in (SparseFeatures(X), Features(X.toarray()))
    ]
    assert all(has_few_features(NewtonCG().prepare(problem)) for problem in problems)
    found, other = (
        solve(problem, alpha, solver="newton_cg", tol=1e-8) for problem in problems
    )
    assert found.certificate.status == other.certificate.status == "optimal"
    slack = (1e-8 + 1e-12) * abs(other.certificate.primal)
    assert abs(found.certificate.primal - other.certificate.primal) <= slack


@losses
@structures
@intercepts
@without
def test_a_step_is_that_of_dense_features(loss, structure, intercept, without):
    X, weights = words(), weights_of(without)
    found, other = (
        primal_step(prepared, zero_point(prepared), 0.1, 1e-16)
        for prepared in (
            prepared_for(loss, structure, intercept, operator, weights)
            for operator in (SparseFeatures(X), Features(X.toarray()))
        )
    )
    scale = np.abs(other.predictions).max()
    assert_allclose(found.predictions, other.predictions, atol=1e-5 * scale)
    assert found.objective == pytest.approx(other.objective, rel=1e-9)


@intercepts
@without
@columns
def test_dual_variables_have_the_weights_that_are_told(intercept, without, case):
    operator = SparseFeatures(rows_of(case))
    weights = weights_of(without)
    prepared = prepared_for(Softmax(), Identity(), intercept, operator, weights)
    features = prepared.approximation.features
    rng = np.random.default_rng(0)
    balanced = prepared.problem.balanced(rng.normal(size=(N, M)))
    balanced[:without] = 0.0
    if intercept:
        balanced[without:] -= balanced[without:].mean(axis=0)
    inside = features.adjoint(balanced)
    dual, reached = features.dual_of(inside)
    assert_allclose(reached, inside, atol=1e-8 * np.abs(inside).max())
    assert_allclose(features.adjoint(dual), reached, atol=1e-12 * np.abs(inside).max())
    assert_array_equal(dual[:without], 0.0)
    if intercept:
        assert_allclose(dual.sum(axis=0), 0.0, atol=1e-12 * np.abs(dual).sum())


@intercepts
def test_a_path_of_features_that_depend_on_each_other_is_certified(intercept):
    operator = SparseFeatures(rows_of("repeated"))
    problem = problem_of(Softmax(), Identity(), intercept, operator, weights_of(7))
    for solution in solve_path(
        problem, [1.0, 1e-2, 1e-4, 1e-6], tol=1e-8, max_iter=100
    ):
        assert solution.certificate.status == "optimal"


@intercepts
def test_features_that_are_all_zero_are_harmless(intercept):
    operator = SparseFeatures(sp.csr_matrix((N, 3)))
    problem = problem_of(Softmax(), Mean(2.0), intercept, operator)
    solution = solve(problem, 1.0, solver="newton_cg")
    assert solution.certificate.status == "optimal"
    assert not np.any(problem.entries.predictions(solution.dual_coef))


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("scale", [1e-24, 1e-12, 1e12, 1e24])
def test_the_units_of_features_do_not_matter(scale):
    expected, found = (
        solve(
            problem_of(Softmax(), Identity(), True, SparseFeatures(by * words())),
            0.1 * by**2,
            tol=1e-8,
        )
        for by in (1.0, scale)
    )
    assert found.certificate.relative_gap <= 1e-8
    assert_allclose(found.certificate.primal, expected.certificate.primal, rtol=1e-7)


def test_more_outputs_pay_for_more_features():
    rows = SparseFeatures(words(n=600, d=300)).sparse_rows
    assert not takes_weights(rows, 2)
    assert takes_weights(rows, 20)
    assert SparseFeatures(words(d=90)).sparse_rows is None


def test_columns_in_very_different_units_are_left_to_dual_variables():
    X, unit = words(n=600, d=50), np.ones(50)
    unit[3] = 1e4
    assert takes_weights(SparseFeatures(X).sparse_rows, 20)
    assert not takes_weights(SparseFeatures(X @ sp.diags(unit)).sparse_rows, 20)
    unit[3] = 0.0  # a column that is never used is in no unit
    assert takes_weights(SparseFeatures(X @ sp.diags(unit)).sparse_rows, 20)


def test_rows_that_were_scaled_have_no_weights():
    rows = SparseFeatures(words(n=600, d=50)).sparse_rows
    assert not takes_weights(rows.scaled(np.full(600, 2.0)), 20)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@intercepts
def test_sparse_features_with_an_intercept_come_to_a_small_alpha_by_larger_ones(
    sparse, intercept
):
    operator = SparseFeatures(words()) if sparse else Features(words(dense=True))
    prepared = prepared_for(Softmax(), Identity(), intercept, operator)
    assert has_few_features(prepared)
    zero = zero_point(prepared)
    assert bool(alphas_before(prepared, 1e-6, zero)) == (sparse and intercept)
    assert alphas_before(prepared, 1e3, zero) == []
