"""Newton's method for the weights of features, sparse or few."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from okl import OutputKernelClassifier, OutputKernelRegressor
from okl.losses import Huber, Logistic, Softmax, SquaredHinge
from okl.operators import Features, SparseFeatures
from okl.operators.centred_rows import CentredRows
from okl.operators.dense_rows import DenseRows
from okl.operators.feature_rows import FeatureRows
from okl.problems import Inputs, Observed
from okl.solvers import FeatureNewton, choose_solver, solve, solve_path
from okl.solvers.predictor import feature_steps
from okl.solvers.predictor.feature_equations import FeatureEquations
from okl.solvers.predictor.feature_point import FeatureProblem
from okl.solvers.request import Request
from okl.structures import Fixed, Identity, Mean, Tree
from okl.trees import ClassTree
from tests.samples import psd

N, D, M = 60, 25, 4
LOSSES = [Softmax(), Logistic(), SquaredHinge(), Huber(0.8)]
STRUCTURES = [
    Identity(),
    Mean(2.0),
    Fixed(psd(M, 6, rank=2)),
    Tree(ClassTree.from_paths(["a/0", "a/1", "b/2", "b/3"])),
]
each = pytest.mark.parametrize("loss", LOSSES, ids=repr)
structures = pytest.mark.parametrize("structure", STRUCTURES, ids=lambda s: s.name)
kinds = pytest.mark.parametrize("dense", [False, True], ids=["sparse", "dense"])
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])


def words(n=N, d=D, seed=0, *, dense=False):
    """Return rows of which few entries are not zero, kept sparse or not."""
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, density=0.2, random_state=rng, format="csr")
    return X.toarray() if dense else X


def targets(loss, n=N):
    labels = np.random.default_rng(1).integers(M, size=n)
    unit = (labels[:, None] == np.arange(M)).astype(float)
    return unit if loss.name in ("softmax", "huber") else 2 * unit - 1


def problem_of(loss, structure, intercept, X=None, weights=None):
    X = words() if X is None else X
    operator = SparseFeatures(X) if sp.issparse(X) else Features(X)
    inputs = Inputs.of(operator, fit_intercept=intercept)
    observed = Observed(targets(loss, X.shape[0]), loss, weights)
    return observed.formulate(inputs, structure).problem


@each
@structures
@intercepts
@kinds
@pytest.mark.parametrize("alpha", [1.0, 1e-3])
def test_the_optimum_is_that_of_dual_variables(
    loss, structure, intercept, dense, alpha
):
    problem = problem_of(loss, structure, intercept, words(dense=dense))
    found, other = (
        solve(problem, alpha, solver=solver, tol=1e-7)
        for solver in ("feature_newton", "newton_cg")
    )
    assert found.certificate.status == other.certificate.status == "optimal"
    slack = (1e-7 + 1e-12) * abs(other.certificate.primal)
    assert abs(found.certificate.primal - other.certificate.primal) <= slack


@intercepts
@kinds
def test_weights_of_rows_count(intercept, dense):
    weights = np.random.default_rng(3).uniform(0.2, 2.0, size=(N, 1))
    X = words(dense=dense)
    problem = problem_of(Softmax(), Identity(), intercept, X, weights=weights)
    found, other = (
        solve(problem, 0.01, solver=solver, tol=1e-7)
        for solver in ("feature_newton", "newton_cg")
    )
    assert found.certificate.status == "optimal"
    assert found.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-7)


@pytest.mark.parametrize(("d", "name"), [(D, "feature_newton"), (90, "newton_cg")])
def test_it_is_chosen_where_features_are_not_many(d, name):
    problem = problem_of(Softmax(), Identity(), True, X=words(d=d))
    assert choose_solver("auto", problem).name == name


def test_rows_that_carry_weights_are_refused():
    # with an intercept they are centred by as much as their weights say
    weights = np.linspace(0.2, 2.0, N)
    model = OutputKernelRegressor("linear", "identity", solver="feature_newton")
    with pytest.raises(ValueError, match="without weights in a squared loss"):
        model.fit(words(), targets(Huber()), sample_weight=weights)
    model.fit(words(), targets(Huber()))
    assert model.certificate_.status == "optimal"


@kinds
@intercepts
def test_features_that_depend_on_each_other_do_not_hinder(dense, intercept):
    X = words()
    constant = np.ones((N, 1))
    X = sp.hstack([X, X[:, :5], X[:, :5] + X[:, 5:10], constant]).tocsr()
    X = X.toarray() if dense else X
    problem = problem_of(Softmax(), Identity(), intercept, X=X)
    for solution in solve_path(problem, [1.0, 1e-2, 1e-4], tol=1e-8, max_iter=100):
        assert solution.certificate.status == "optimal"


def test_a_solve_that_is_cut_short_says_so():
    problem = problem_of(Softmax(), Identity(), False)
    solution = solve(problem, 1e-4, solver="feature_newton", max_iter=2, tol=1e-9)
    assert solution.certificate.failed
    assert solution.n_iter == 2


@structures
@intercepts
@kinds
def test_the_equations_are_those_of_the_weights(structure, intercept, dense):
    rng = np.random.default_rng(0)
    problem = problem_of(Softmax(), structure, intercept, words(dense=dense))
    rows = problem.operator.feature_rows.uncorrelated()
    rows = FeatureRows(rows, intercept, M)
    kernel, scores = problem.known(), rng.normal(size=(N, M))
    curvature = problem.loss.curvature(problem.targets, scores)
    of = FeatureProblem(problem, kernel, rows)
    equations = FeatureEquations(of, curvature, 0.3, single=False)
    right = rows.adjoint(problem.loss.negative_gradient(problem.targets, scores))
    for step in equations.steps(right):
        if step.left < 1e-10:
            break
    L = kernel.matrix()
    change = step.inside @ L
    if intercept:
        change[-1] = step.intercept
    assert_allclose(step.slope, np.vdot(right, change), rtol=1e-7)
    left = equations.product(change, step.inside)
    # what all classes have in common the softmax does not see
    assert_allclose(left, right, atol=1e-7 * np.abs(right).max())


def test_the_squares_of_centred_rows_are_not_formed():
    X, rng = words(), np.random.default_rng(0)
    means, right = X.mean(axis=0), rng.uniform(size=(N, 3))
    rows = CentredRows(X, np.asarray(means).ravel())
    dense = (X.toarray() - rows.means) ** 2
    assert_allclose(rows.adjoint_of_squares(right), dense.T @ right, atol=1e-12)


def test_dense_features_are_turned_to_where_they_are_unrelated():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, 5)) @ psd(5, 1)
    weights, right = rng.normal(size=(5, 2)), rng.normal(size=(N, 2))
    rows = DenseRows(X).uncorrelated()
    products = rows.features.T @ rows.features
    scale = np.abs(products).max()
    assert_allclose(products, np.diag(rows.column_norms()), atol=1e-12 * scale)
    assert_allclose(X @ rows.along(weights), rows.forward(weights), atol=1e-10)
    assert_allclose(rows.along(rows.adjoint(right)), X.T @ right, atol=1e-10)


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize("name", ["identity", "tree"])
@pytest.mark.parametrize("alpha", [1.0, 1e-4])
def test_fits_with_few_features_and_many_classes_are_certified(name, intercept, alpha):
    draws = np.random.default_rng(1)
    groups, each, columns, n = 6, 6, 30, 200
    paths = np.array([f"{g}/{g}.{c}" for g in range(groups) for c in range(each)])
    y = np.concatenate([paths, draws.choice(paths, n - len(paths))])
    centres = draws.normal(size=(len(paths), columns))
    X = centres[np.searchsorted(paths, y)] + draws.normal(size=(n, columns))
    structure = Identity() if name == "identity" else Tree(ClassTree.from_paths(paths))
    model = OutputKernelClassifier(
        "linear", structure, loss="softmax", alpha=alpha, fit_intercept=intercept
    )
    model.set_params(tol=1e-8).fit(X, y, sample_weight=1.0 + np.arange(n) % 3)
    assert model.certificate_.status == "optimal"


@structures
@intercepts
@kinds
@pytest.mark.parametrize("loss", [Softmax(), Logistic()], ids=repr)
def test_products_in_single_precision_are_nearly_those_in_double(
    loss, structure, intercept, dense
):
    problem = problem_of(loss, structure, intercept, words(dense=dense))
    of = FeatureNewton().prepare(problem)
    rng = np.random.default_rng(3)
    change, inside = rng.normal(size=(2, *of.rows.shape))
    curvature = loss.curvature(problem.targets, rng.normal(size=(N, M)))
    one, other = (
        FeatureEquations(of, curvature, 0.1, single=single).product(change, inside)
        for single in (True, False)
    )
    assert one.dtype == np.float64
    error = np.linalg.norm(one - other) / np.linalg.norm(other)
    assert 0 < error < 1e-6


@kinds
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("scale", [1e-24, 1e-12, 1e12, 1e24])
def test_the_units_of_features_do_not_matter(scale, dense):
    # their squares are zero or infinite in single precision
    X = words(dense=dense)
    expected = solve(problem_of(Softmax(), Identity(), True, X), 0.1, tol=1e-8)
    problem = problem_of(Softmax(), Identity(), True, scale * X)
    found = solve(problem, 0.1 * scale**2, solver="feature_newton", tol=1e-8)
    assert found.certificate.relative_gap <= 1e-8
    assert_allclose(found.certificate.primal, expected.certificate.primal, rtol=1e-7)


@kinds
@pytest.mark.parametrize(("alpha", "expected"), [(1e-2, {True}), (1e-9, {False})])
def test_single_precision_is_for_rough_steps_at_alphas_that_it_resolves(
    alpha, expected, dense, monkeypatch
):
    used = set()

    def recorded(of, curvature, alpha, *, single):
        used.add(single)
        return FeatureEquations(of, curvature, alpha, single=single)

    monkeypatch.setattr(feature_steps, "FeatureEquations", recorded)
    problem = problem_of(Softmax(), Identity(), True, words(dense=dense))
    prepared = FeatureNewton().prepare(problem)
    # not by way of larger alphas
    point, _ = feature_steps._iterate(prepared, Request(alpha, 1e-3, 3, None))
    assert point.scores.dtype == np.float64
    assert used == expected


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_weights_of_rows_beyond_single_precision():
    # infinite there: steps are found in double precision, as those of weights of one
    weight = 1e42
    expected = solve(problem_of(Softmax(), Identity(), True), 0.1, tol=1e-8)
    weights = np.full((N, 1), weight)
    problem = problem_of(Softmax(), Identity(), True, weights=weights)
    prepared, alpha = FeatureNewton().prepare(problem), 0.1 * weight
    assert prepared.least_single_alpha < alpha
    # no other solver goes on from there
    point, monitor, _ = feature_steps.fitted(prepared, Request(alpha, 1e-8, 50, None))
    assert monitor.gap <= 1e-8
    assert_allclose(point.objective / weight, expected.certificate.primal, rtol=1e-7)
