"""Steps of Newton's method as minima of models of the primal objective."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from okl import OutputKernelClassifier
from okl.losses import Huber, Logistic, Softmax, Squared, SquaredHinge
from okl.operators import Dense, Features, SparseFeatures, counted_products
from okl.output_kernels import TreeKernel
from okl.problems import Inputs, Observed
from okl.solvers import NewtonCG, solve, solve_path
from okl.solvers.predictor.newton_point import NewtonPoint
from okl.solvers.predictor.newton_start import zero_point
from okl.solvers.predictor.primal_step import (
    _by_products,
    _Start,
    primal_step,
)
from okl.solvers.predictor.weight_step import has_few_features
from okl.structures import Fixed, Identity, Mean, Tree
from okl.trees import ClassTree
from tests.samples import psd

N, D, M = 60, 25, 4
LOSSES = [Softmax(), Logistic(), SquaredHinge(), Huber(0.8)]
TREE = Tree(ClassTree.from_paths(["a/0", "a/1", "b/2", "b/3"]))
STRUCTURES = [Identity(), Mean(2.0), Fixed(psd(M, 6, rank=2)), TREE]
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
    return unit if loss.name in ("softmax", "huber", "squared") else 2 * unit - 1


def problem_of(loss, structure, intercept, operator=None, weights=None):
    operator = Features(words(dense=True)) if operator is None else operator
    inputs = Inputs.of(operator, fit_intercept=intercept)
    observed = Observed(targets(loss, operator.n_samples), loss, weights)
    return observed.formulate(inputs, structure).problem


def prepared_for(*args, **kwargs):
    return NewtonCG().prepare(problem_of(*args, **kwargs))


def by_products():
    """Return an operator that shows no features."""
    X = words(dense=True)
    return Dense(X @ X.T)


ways = pytest.mark.parametrize(
    "operator",
    [None, SparseFeatures(words()), by_products()],
    ids=["features", "sparse", "products"],
)


@each
@structures
@intercepts
@pytest.mark.parametrize("alpha", [1.0, 1e-3])
def test_the_optimum_is_that_of_the_matrix(loss, structure, intercept, alpha):
    X = words(dense=True)
    found, other = (
        solve(
            problem_of(loss, structure, intercept, operator),
            alpha,
            solver="newton_cg",
            tol=1e-7,
        )
        for operator in (Features(X), Dense(X @ X.T))
    )
    assert found.certificate.status == other.certificate.status == "optimal"
    slack = (1e-7 + 1e-12) * abs(other.certificate.primal)
    assert abs(found.certificate.primal - other.certificate.primal) <= slack


@intercepts
@pytest.mark.parametrize("columns", [1, M], ids=["rows", "entries"])
def test_weights_count(intercept, columns):
    weights = np.random.default_rng(3).uniform(0.2, 2.0, size=(N, columns))
    loss, X = Softmax() if columns == 1 else Squared(), words(dense=True)
    found, other = (
        solve(
            problem_of(loss, Mean(2.0), intercept, operator, weights),
            0.01,
            solver="newton_cg",
            tol=1e-7,
        )
        for operator in (Features(X), Dense(X @ X.T))
    )
    assert found.certificate.status == other.certificate.status == "optimal"
    assert found.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-7)


@pytest.mark.parametrize(
    ("operator", "structure", "expected"),
    [
        (Features(words(dense=True)), Mean(2.0), True),
        (Features(words(d=90, dense=True)), Mean(2.0), False),
        (Features(words(dense=True)[:, :0]), Mean(2.0), False),
        (SparseFeatures(words()), Mean(2.0), True),
        (SparseFeatures(words(d=31)), Mean(2.0), False),
        (SparseFeatures(words(), workspace=1.0), Mean(2.0), False),
        (SparseFeatures(words(n=4800, d=2400)), Mean(2.0), False),
        (Features(words(d=31, dense=True)), TREE, True),
        (Features(words(dense=True)), Fixed(np.zeros((M, M))), False),
    ],
    ids=[
        "few",
        "many",
        "none",
        "sparse",
        "dim",
        "memory",
        "slow",
        "tree",
        "zero",
    ],
)
def test_steps_are_those_of_weights_where_features_are_few(
    operator, structure, expected
):
    assert has_few_features(prepared_for(Softmax(), structure, True, operator)) == (
        expected
    )


def test_they_are_not_where_a_large_tree_has_many_features(monkeypatch):
    monkeypatch.setattr("okl.solvers.predictor.weight_step._LEAVES", 3)
    for d, few in ((31, False), (30, True)):
        operator = Features(words(d=d, dense=True))
        assert has_few_features(prepared_for(Softmax(), TREE, True, operator)) == few


def test_the_unknowns_are_not_weights_under_a_tree_that_is_singular():
    problem = problem_of(Softmax(), TREE, True, Features(words(d=20, dense=True)))
    levels, variances = problem.known().nodes
    last = np.arange(len(variances)) == len(variances) - 1
    assert last[levels.leaves].any()
    for kernel in (
        TreeKernel(levels, np.where(last, leaf, 1.0)) for leaf in (0.0, 1.0)
    ):
        few = has_few_features(NewtonCG().prepare_for(problem, kernel))
        assert few == bool(kernel.variances[-1])


@intercepts
@pytest.mark.parametrize("without", [0, 5, N - 4], ids=["all", "many", "few"])
def test_features_are_along_axes_where_their_part_is_orthogonal(intercept, without):
    X = words(dense=True)
    X = np.hstack([X, X[:, :5]])
    counted = np.ones((N, 1))
    counted[:without] = 0.0
    operator = Features(X)
    prepared = prepared_for(Softmax(), Identity(), intercept, operator, counted)
    axes = prepared.approximation.features
    K = prepared.problem.operator @ np.eye(N)
    assert_allclose(axes.rows @ axes.rows.T, K, atol=1e-12 * K.max())
    inside = np.random.default_rng(0).normal(size=(axes.rows.shape[1], M))
    inside *= axes.inverses > 0
    dual, reached = axes.dual_of(inside)
    assert_array_equal(reached, inside)
    # as the features of the rows that make it up are not independent of each other
    assert np.sum(axes.inverses > 0) <= min(D, N - without)
    assert_allclose(axes.rows.T @ dual, inside, atol=1e-9 * np.abs(inside).max())
    assert_array_equal(dual[:without], 0.0)
    if intercept:
        assert_allclose(dual.sum(axis=0), 0.0, atol=1e-9 * np.abs(dual).max())


@pytest.mark.parametrize("loss", [Softmax(), Logistic()], ids=repr)
@intercepts
@ways
def test_a_start_loses_its_dual_variables_of_entries_without_weight(
    loss, intercept, operator
):
    by_entry = loss.name != "softmax" and isinstance(operator, Dense)
    rng = np.random.default_rng(3)
    weights = (rng.random((N, M if by_entry else 1)) < 0.7).astype(float)
    prepared = prepared_for(loss, Mean(2.0), intercept, operator, weights)
    problem, alpha = prepared.problem, 1.0
    dual = problem.balanced(1e-3 * rng.normal(size=(N, M)))
    point = NewtonPoint.at(problem, dual, prepared.joint @ dual, alpha)
    moved = primal_step(prepared, point, alpha, 1e-4)
    scale = np.abs(moved.dual).max()
    assert np.abs(moved.dual * (weights == 0)).max() <= 1e-14 * scale
    assert_allclose(
        prepared.joint @ moved.dual,
        moved.predictions,
        atol=1e-10 * np.abs(moved.predictions).max(),
    )
    if intercept:
        assert_allclose(moved.dual.sum(axis=0), 0.0, atol=1e-11 * scale)


@pytest.mark.parametrize("alpha", [1.0, 0.1, 0.01])
@intercepts
def test_a_step_is_lower_though_losing_such_dual_variables_is_not(intercept, alpha):
    # a function that is close to the best, by rows without weight alone: it takes
    # iterations to be as close again by the others
    X = np.random.default_rng(0).normal(size=(N, 8))
    weights = np.ones((N, 1))
    weights[:30] = 0.0
    args = Softmax(), Mean(2.0), intercept, Dense(X @ X.T), weights
    prepared, problem = prepared_for(*args), problem_of(*args)
    found = solve(problem, alpha, solver="newton_cg", tol=1e-2)
    coef = found.dual_coef @ np.linalg.inv(prepared.kernel.matrix())
    ones = np.ones((1, 30)) * intercept
    inside = np.vstack([X.T @ coef, np.zeros((1, M))])
    dual = np.zeros((N, M))
    dual[:30] = np.linalg.lstsq(np.vstack([X[:30].T, ones]), inside)[0]
    predictions = prepared.joint @ dual
    assert_allclose(predictions, prepared.joint @ coef, atol=1e-10)
    point = NewtonPoint.at(problem, dual, predictions, alpha)
    moved = primal_step(prepared, point, alpha, 1e-2)
    assert moved is not None
    assert moved.objective < point.objective


@each
@pytest.mark.parametrize("structure", STRUCTURES[:3], ids=lambda s: s.name)
@intercepts
@ways
@pytest.mark.parametrize("gap", [1.0, 1e-16])
def test_predictions_are_those_of_the_dual_variables_after_any_step(
    loss, structure, intercept, operator, gap
):
    prepared, alpha = prepared_for(loss, structure, intercept, operator), 0.01
    point = zero_point(prepared)
    for _ in range(2):
        moved = primal_step(prepared, point, alpha, gap)
        assert moved.objective < point.objective
        point = moved
    scale = np.abs(point.predictions).max()
    image = prepared.joint @ point.dual
    assert_allclose(image, point.predictions, atol=1e-10 * scale)
    if intercept:
        size = np.abs(point.dual).max()
        assert_allclose(point.dual.sum(axis=0), 0.0, atol=1e-11 * size)


@pytest.mark.parametrize("structure", STRUCTURES[:3], ids=lambda s: s.name)
@intercepts
@ways
def test_a_quadratic_loss_takes_one_step(structure, intercept, operator):
    weights = np.random.default_rng(3).uniform(0.2, 2.0, size=(N, M))
    prepared = prepared_for(Squared(), structure, intercept, operator, weights)
    point = primal_step(prepared, zero_point(prepared), 0.01, 1e-16)
    problem, kernel = prepared.problem, prepared.kernel
    certificate = problem.certificate(
        problem.balanced_theta(point.dual, kernel),
        kernel,
        0.01,
        tol=1e-10,
        intercept=point.intercept,
    )
    assert certificate.relative_gap < 1e-10


def test_a_step_that_needs_more_products_is_none_as_soon_as_it_is_likely():
    prepared = prepared_for(Softmax(), Mean(2.0), True, by_products())
    zero, alpha = zero_point(prepared), 1e-3
    needed = primal_step(prepared, zero, alpha, 1e-16).products
    assert primal_step(prepared, zero, alpha, 1e-16, most=needed) is not None
    with counted_products() as all_but_one:
        assert primal_step(prepared, zero, alpha, 1e-16, most=needed - 1) is None
    with counted_products() as far_from_it:
        assert primal_step(prepared, zero, alpha, 1e-16, most=3) is None
    assert far_from_it.total == 2  # J a is one of them
    assert needed / 2 < all_but_one.total <= needed


def test_products_end_where_rounding_is_left_of_the_residual():
    joint = np.diag(np.linspace(1.0, 2.0, N))
    right = np.ones((N, 1))
    lost = _Start(0 * right, -right, right, joint @ right)  # raises the model for good
    bent = []

    def bend(ahead):
        bent.append(1)
        return ahead

    assert _by_products(joint, bend, right, lost, 0.1, rtol=0.1, most=400) is None
    assert len(bent) < 50


@intercepts
def test_features_that_are_zero_are_left_out(intercept):
    problem = problem_of(Softmax(), Mean(2.0), intercept, Features(np.zeros((N, 3))))
    solution = solve(problem, 1.0, solver="newton_cg")
    assert solution.certificate.status == "optimal"
    assert not np.any(problem.entries.predictions(solution.dual_coef))


@kinds
@intercepts
def test_features_that_depend_on_each_other_do_not_hinder(dense, intercept):
    X = words()
    constant = np.ones((N, 1))
    X = sp.hstack([X, X[:, :5], X[:, :5] + X[:, 5:10], constant]).tocsr()
    operator = Features(X.toarray()) if dense else SparseFeatures(X)
    problem = problem_of(Softmax(), Identity(), intercept, operator)
    for solution in solve_path(problem, [1.0, 1e-2, 1e-4], tol=1e-8, max_iter=100):
        assert solution.certificate.status == "optimal"


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


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("scale", [1e-24, 1e-12, 1e12, 1e24])
def test_the_units_of_features_do_not_matter(scale):
    X = words(dense=True)
    expected, found = (
        solve(
            problem_of(Softmax(), Identity(), True, Features(by * X)),
            0.1 * by**2,
            tol=1e-8,
        )
        for by in (1.0, scale)
    )
    assert found.certificate.relative_gap <= 1e-8
    assert_allclose(found.certificate.primal, expected.certificate.primal, rtol=1e-7)
