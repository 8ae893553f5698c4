"""Steps in weights of few features, and their preconditioner."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from okl import OutputKernelClassifier
from okl.losses import Logistic, Softmax, Squared
from okl.operators import Features, SparseFeatures
from okl.problems import Inputs, Observed
from okl.solvers import NewtonCG, solve
from okl.solvers.predictor import weight_preconditioner as preconditioner
from okl.solvers.predictor import weight_step as steps
from okl.solvers.predictor.newton_point import NewtonPoint
from okl.solvers.predictor.newton_start import zero_point
from okl.solvers.predictor.primal_step import primal_step
from okl.solvers.predictor.weight_preconditioner import weight_preconditioner
from okl.solvers.predictor.weight_step import has_few_features, weight_step
from okl.structures import Diagonal, Fixed, Identity, Mean, Tree
from okl.trees import ClassTree
from tests.samples import psd
from tests.solvers.test_primal_step import M, N, intercepts, prepared_for, words

UNEVEN = Tree(
    ClassTree.from_paths(["a/0", "a/1", "b", "c/d/3"]),
    np.array([0.3, 2.0, 1.0, 0.5, 1.5, 4.0, 0.7]),
    root=0.4,
)
STRUCTURES = [Identity(), UNEVEN, Mean(2.0), Fixed(psd(M, 6, rank=2))]
structures = pytest.mark.parametrize(
    "structure", STRUCTURES, ids=["identity", "tree", "mean", "rank 2"]
)
losses = pytest.mark.parametrize("loss", [Softmax(), Logistic()], ids=repr)


def features_of(sparse):
    """Return features that are few enough for a tree as well."""
    return SparseFeatures(words(d=20)) if sparse else Features(words(d=20, dense=True))


def at_random_scores(loss, structure, intercept, operator=None, weights=None):
    """Return a prepared problem, its features, L and the curvature at some scores."""
    operator = features_of(sparse=False) if operator is None else operator
    prepared = prepared_for(loss, structure, intercept, operator, weights)
    assert has_few_features(prepared)
    scores = np.random.default_rng(5).normal(size=(N, M))
    curvature = prepared.problem.curvature(scores)
    return prepared, prepared.approximation.features, prepared.kernel, curvature


@losses
@structures
@intercepts
def test_the_preconditioner_is_a_symmetric_definite_map_of_pairs(
    loss, structure, intercept
):
    _, features, kernel, curvature = at_random_scores(loss, structure, intercept)
    inverse = weight_preconditioner(features, kernel, curvature, 0.1, intercept)
    shape = features.n_features + intercept, M
    units = np.eye(shape[0] * M).reshape(-1, *shape)
    pairs = [inverse(unit) for unit in units]
    for inside, image in pairs:
        k = features.n_features
        scale = np.abs(image).max()
        assert_allclose(image[:k], kernel.multiply(inside[:k]), atol=1e-9 * scale)
    matrix = np.array([image.ravel() for _, image in pairs])
    assert_allclose(matrix, matrix.T, atol=1e-8 * np.abs(matrix).max())
    values = np.linalg.eigvalsh((matrix + matrix.T) / 2)
    assert values[0] >= -1e-9 * values[-1]
    rank = np.linalg.matrix_rank(kernel.matrix()) * features.n_features
    # a common intercept is not seen by the softmax loss
    rank += intercept * (M - (loss.name == "softmax"))
    assert np.sum(values > 1e-9 * values[-1]) == rank


# each feature is one of two rows alone, that balance each other
APART = (
    np.repeat(np.eye(N // 2), 2, axis=0)[:, :20] * np.array([[1.0], [-1.0]] * 30)[:N]
)
ONE = np.random.default_rng(7).normal(size=(N, 1)) + 3.0


@pytest.mark.parametrize("structure", STRUCTURES[:2], ids=["identity", "tree"])
@pytest.mark.parametrize("rows", [APART, ONE], ids=["apart", "one"])
@intercepts
def test_it_is_exact_for_uncorrelated_features_and_a_loss_of_each_class(
    structure, rows, intercept
):
    weights = np.ones((N, 1))
    weights[:6] = 0.0
    given = Logistic(), structure, intercept, Features(rows), weights
    prepared, features, kernel, _ = at_random_scores(*given)
    curvature = prepared.problem.curvature(np.zeros((N, M)))
    inverse = weight_preconditioner(features, kernel, curvature, 0.1, intercept)
    right = np.random.default_rng(2).normal(size=(features.n_features + intercept, M))
    inside, image = inverse(right)
    k, mean = features.n_features, features.mean
    scores = features.forward(image[:k])
    if intercept:
        scores = scores + image[k:] - mean @ image[:k]
    curved = curvature.product(scores)
    assert_allclose(
        0.1 * inside[:k] + features.adjoint(curved) - mean.T * curved.sum(axis=0),
        right[:k],
        atol=1e-10 * np.abs(right).max(),
    )
    if intercept:
        assert_allclose(curved.sum(axis=0), right[k], atol=1e-10 * np.abs(right).max())


@structures
@intercepts
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_a_start_loses_what_all_classes_have_in_common(structure, intercept, sparse):
    operator = (
        SparseFeatures(words(d=20)) if sparse else Features(words(d=20, dense=True))
    )
    prepared = prepared_for(Softmax(), structure, intercept, operator)
    problem, alpha = prepared.problem, 0.1
    dual = problem.balanced(np.random.default_rng(3).normal(size=(N, M)))
    assert np.abs(dual.sum(axis=1)).max() > 1
    point = NewtonPoint.at(problem, dual, prepared.joint @ dual, alpha)
    for _ in range(25):
        moved = primal_step(prepared, point, alpha, 1e-12)
        point = point if moved is None else moved
    certificate = problem.certificate(
        problem.balanced_theta(point.dual, prepared.kernel),
        prepared.kernel,
        alpha,
        tol=1e-8,
        intercept=point.intercept,
    )
    assert certificate.relative_gap < 1e-8


@losses
@structures
@intercepts
@pytest.mark.parametrize("without", [0, 7])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_a_step_solves_the_equations_of_any_residual(
    loss, structure, intercept, without, sparse
):
    operator = (
        SparseFeatures(words(d=20)) if sparse else Features(words(d=20, dense=True))
    )
    weights = np.random.default_rng(3).uniform(0.2, 2.0, size=(N, 1))
    weights[:without] = 0.0
    prepared = prepared_for(loss, structure, intercept, operator, weights)
    rng = np.random.default_rng(4)
    curvature = prepared.problem.curvature(rng.normal(size=(N, M)))
    alpha, residual = 0.1, rng.normal(size=(N, M))
    if loss.name == "softmax":
        residual -= residual.mean(axis=1, keepdims=True)
    change, ahead = weight_step(prepared, curvature, residual, alpha, 1e-10)
    scale = np.abs(residual).max()
    image = prepared.joint @ change
    assert_allclose(ahead, image, atol=1e-8 * np.abs(image).max())
    # of dual variables features see no more than this
    left = residual - alpha * change - curvature.product(ahead)
    if intercept:
        assert_allclose(change.sum(axis=0), 0.0, atol=1e-9 * np.abs(change).sum())
        b = curvature.solve_total(left.sum(axis=0))
        left = left - curvature.product(np.broadcast_to(b, (N, M)))
        assert_allclose(left.sum(axis=0), 0.0, atol=1e-7 * scale * N)
    seen = prepared.kernel.multiply(prepared.approximation.features.adjoint(left))
    assert np.abs(seen).max() <= 1e-6 * scale * N


@pytest.mark.parametrize("structure", STRUCTURES, ids=["id", "tree", "mean", "2"])
@intercepts
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_entries_without_a_weight_have_no_dual_variables(structure, intercept, sparse):
    rng = np.random.default_rng(6)
    weights = rng.uniform(0.2, 2.0, size=(N, M)) * (rng.random((N, M)) < 0.7)
    operator, alpha = features_of(sparse), 0.1
    prepared = prepared_for(Logistic(), structure, intercept, operator, weights)
    point = zero_point(prepared)
    for _ in range(8):
        moved = primal_step(prepared, point, alpha, 1e-12)
        point = point if moved is None else moved
    seen = np.abs(point.dual)
    assert np.max(seen[weights == 0]) <= 1e-6 * np.max(seen)
    assert_allclose(
        alpha * point.dual, point.gradient, atol=1e-5 * alpha * np.max(seen)
    )


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@intercepts
def test_outputs_of_very_different_variances_are_certified(intercept, sparse):
    # products with L are so large that rounding of scores hides the optimum: it is the
    # dual variables that prove it
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, Y = 10.0 * rng.normal(size=(100, 8)), rng.normal(size=(100, 4))
        weights = rng.uniform(0, 2, size=Y.shape) * (rng.random(Y.shape) < 0.7)
        operator = SparseFeatures(sp.csr_matrix(X)) if sparse else Features(X)
        inputs = Inputs.of(operator, fit_intercept=intercept)
        observed = Observed(Y, Squared(), weights)
        problem = observed.formulate(inputs, Diagonal(np.logspace(-2, 2, 4))).problem
        solution = solve(problem, 1e-3, solver="newton_cg")
        assert solution.certificate.status == "optimal"


def test_a_tree_takes_fewer_iterations_than_its_eigenbasis(monkeypatch):
    rng = np.random.default_rng(0)
    paths = [f"{g}/{c}" for g in range(5) for c in range(4)]
    X = sp.random(400, 60, density=0.1, random_state=rng, format="csr")
    labels = np.concatenate([paths, rng.choice(paths, 380)])
    model = OutputKernelClassifier(
        "linear", Tree(ClassTree.from_paths(paths)), 0.01, loss="softmax"
    ).set_params(fit_intercept=False, solver=NewtonCG())
    taken = []
    pairs = steps.conjugate_pairs

    def counted(*args):
        for step in pairs(*args):
            taken[-1] += 1
            yield step

    monkeypatch.setattr(steps, "conjugate_pairs", counted)
    taken.append(0)
    model.fit(X, labels)
    monkeypatch.setattr(
        preconditioner,
        "_of_tree",
        lambda kernel, weights, alpha, free: preconditioner._of_eigenbasis(
            kernel.spectral(), weights, alpha
        ),
    )
    taken.append(0)
    model.fit(X, labels)
    assert 0 < taken[0] < 0.8 * taken[1]
