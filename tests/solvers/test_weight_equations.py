"""Newton steps in the weights of features are those in dual variables."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl import ClassTree, OutputKernelClassifier
from okl.losses import Logistic, Softmax
from okl.operators import Features
from okl.problems import Inputs, formulate
from okl.solvers import NewtonCG
from okl.solvers.predictor.hessian import HessianSystem
from okl.solvers.predictor.newton_equations import RowEquations
from okl.solvers.predictor.weight_equations import WeightEquations
from okl.solvers.predictor.weight_space import WeightSpace
from okl.structures import Fixed, Identity, Tree
from tests.samples import psd

N, M, K = 60, 6, 4
rng = np.random.default_rng(0)
PHI = rng.normal(size=(N, K)) @ np.diag([3.0, 1.0, 0.3, 0.0]) + 0.2
SCORES = 2 * rng.normal(size=(N, M))
TARGETS = np.eye(M)[np.arange(N) % M]
TREE = ClassTree.from_paths(["a/a/0", "a/a/1", "a/b/2", "b/c/3", "b/c/4", "b/d/5"])
STRUCTURES = {
    "identity": Identity(),
    "tree": Tree(TREE, np.array([0.5, 0.3, 1.0]), "level"),
    "leafless": Tree(TREE, np.array([0.5, 0.3, 0.0]), "level"),
}


def system_of(structure, intercept, alpha, *, columns=False):
    inputs = Inputs.of(Features(PHI.copy()), fit_intercept=intercept)
    problem = formulate(inputs, TARGETS, Softmax(), structure).problem
    prepared = NewtonCG().prepare(problem)
    some = prepared.approximation.columns if columns else None
    curvature = Softmax().curvature(TARGETS, SCORES)
    return HessianSystem(prepared, curvature, alpha, some)


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize("columns", [False, True], ids=["easy", "eliminated"])
@pytest.mark.parametrize("alpha", [1.0, 1e-3])
def test_the_step_is_that_of_the_dual_equations(name, intercept, columns, alpha):
    system = system_of(STRUCTURES[name], intercept, alpha, columns=columns)
    residual = rng.normal(size=(N, M))
    residual -= residual.mean(axis=1, keepdims=True)
    if intercept:
        residual -= residual.mean(axis=0)
    rows = RowEquations(system, residual, foreign=False)
    space = system.prepared.approximation.weight_space
    weights = WeightEquations(space, system, residual)
    for equations in (rows, weights):
        for left in equations.steps():
            if left <= 1e-11:
                break
    expected, found = rows.direction(), weights.direction()
    scale = np.abs(expected.predictions).max()
    assert_allclose(found.predictions, expected.predictions, atol=1e-6 * scale)
    assert found.slope == pytest.approx(expected.slope, rel=1e-6)


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_a_step_that_is_cut_short_belongs_to_dual_variables(intercept):
    system = system_of(STRUCTURES["tree"], intercept, 0.1)
    residual = TARGETS - TARGETS.mean(axis=0)
    equations = WeightEquations(
        system.prepared.approximation.weight_space, system, residual
    )
    next(equations.steps())
    step = equations.direction()
    scale = np.abs(step.predictions).max()
    inside = PHI @ (PHI.T @ step.change)
    image = system.prepared.kernel.multiply(inside)
    moved = image - step.predictions
    # an intercept may be moved into it, and what all classes share
    if intercept:
        moved -= moved.mean(axis=0)
        assert_allclose(step.change.sum(axis=0), 0, atol=1e-9 * scale)
    assert_allclose(moved, 0, atol=1e-9 * scale)
    assert_allclose(step.change.sum(axis=1), 0, atol=1e-9 * scale)
    # and it is the step that conjugate gradients found, up to what all classes share
    beside = PHI @ equations._weights - step.predictions
    beside -= beside.mean(axis=1, keepdims=True)
    if intercept:
        beside -= beside.mean(axis=0)
    assert_allclose(beside, 0, atol=1e-6 * scale)


def test_it_serves_softmax_and_trees_that_fit():
    space = WeightSpace.of(PHI, centered=False)
    assert space.values.shape == (4,)  # 0.2 is the fourth dimension
    assert WeightSpace.of(PHI, centered=True).values.shape == (3,)
    softmax = Softmax().curvature(TARGETS, SCORES)
    logistic = Logistic().curvature(2 * TARGETS - 1, SCORES)

    def known(structure):
        return structure.known(TARGETS)

    assert space.serves(known(Identity()), softmax)
    assert space.serves(known(STRUCTURES["tree"]), softmax)
    assert not space.serves(known(Identity()), logistic)
    assert not space.serves(known(Fixed(psd(M, 0))), softmax)
    wide = WeightSpace.of(rng.normal(size=(N, N)), centered=False)
    assert not wide.serves(known(STRUCTURES["tree"]), softmax)


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize("name", ["identity", "tree"])
@pytest.mark.parametrize("alpha", [1.0, 1e-4])
def test_fits_with_few_features_and_many_classes_are_certified(name, intercept, alpha):
    # classes enough that no small matrix stands for all of them
    draws = np.random.default_rng(1)
    groups, each, columns, n = 6, 6, 30, 200
    paths = np.array([f"{g}/{g}.{c}" for g in range(groups) for c in range(each)])
    y = np.concatenate([paths, draws.choice(paths, n - len(paths))])
    centres = draws.normal(size=(len(paths), columns))
    X = centres[np.searchsorted(paths, y)] + draws.normal(size=(n, columns))
    tree = ClassTree.from_paths(paths)
    structure = Identity() if name == "identity" else Tree(tree)
    model = OutputKernelClassifier(
        "linear", structure, loss="softmax", alpha=alpha, fit_intercept=intercept
    )
    model.set_params(tol=1e-8).fit(X, y, sample_weight=1.0 + np.arange(n) % 3)
    assert model.certificate_.status == "optimal"
