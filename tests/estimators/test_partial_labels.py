"""Labels that are inner nodes: the observed likelihood, EM and its certificates."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_predict

import okl
from okl import ClassTree, OutputKernelClassifier, OutputKernelClassifierCV
from okl.metrics import ClassTreeScorer
from okl.model_selection import GradientSearchCV
from okl.solvers import completion
from okl.structures import Tree

PATHS = ["a/x", "a/y", "a/z", "b/u", "b/v", "c/only", "d"]
TREE = ClassTree.from_paths(PATHS)
OWN = {path: path.split("/")[-1] for path in PATHS}


def sample(n_each=4, hidden=0.5, seed=0):
    """Return rows, their classes, and labels of which some are the parents."""
    rng = np.random.default_rng(seed)
    shifts = {name: rng.normal(size=3) for name in TREE.names.tolist()}
    classes = np.repeat(PATHS, n_each)
    centres = [shifts[path] + 2 * shifts[path.split("/")[0]] for path in classes]
    labels = [
        path.split("/")[0] if rng.random() < hidden else OWN[path] for path in classes
    ]
    return rng.normal(centres), np.array([OWN[path] for path in classes]), labels


def model_of(**parameters):
    given = {"alpha": 0.5, "loss": "softmax", "fit_intercept": False} | parameters
    return OutputKernelClassifier("linear", Tree(TREE), **given)


def candidates_of(model, labels):
    tree = model.structure_.class_tree
    below = tree.below(np.eye(tree.n_classes)) > 0
    return below[:, tree.node_numbers(labels)].T


def observed_objective(model, X, candidates, dual):
    """Return the penalised likelihood of f = X X' C L, and its gradient in C."""
    K, L = X @ X.T, model.output_kernel_
    scores = K @ dual @ L
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    inside = np.sum(p * candidates, axis=1, keepdims=True)
    objective = -np.log(inside).sum()
    objective += model.alpha / 2 * np.sum((K @ dual) * (dual @ L))
    return objective, K @ (p - p * candidates / inside + model.alpha * dual) @ L


@pytest.mark.parametrize("seed", [0, 1])
def test_the_observed_likelihood_rises_to_where_no_descent_raises_it(seed):
    X, _, labels = sample(seed=seed)
    model = model_of(tol=1e-8).fit(X, labels)
    objectives = np.array(model.completion_.objectives)
    assert len(objectives) > 2
    assert np.all(np.diff(objectives) <= 0)
    candidates = candidates_of(model, labels)
    dual = model.dual_coef_ @ np.linalg.inv(model.output_kernel_)
    value, _ = observed_objective(model, X, candidates, dual)
    assert value == pytest.approx(objectives[-1], rel=1e-9)

    def flat(C):
        found = observed_objective(model, X, candidates, C.reshape(dual.shape))
        return found[0], found[1].ravel()

    better = minimize(flat, dual.ravel(), method="L-BFGS-B", jac=True)
    assert better.fun >= value - 1e-6 * abs(value)


def test_longer_steps_end_at_the_same_objective_sooner(monkeypatch):
    X, _, labels = sample(hidden=0.7)
    found = [model_of(tol=1e-8).fit(X, labels).completion_]
    monkeypatch.setattr(completion, "_FIRST", 0.0)
    found.append(model_of(tol=1e-8).fit(X, labels).completion_)
    n_rounds = [len(one.objectives) for one in found]
    assert 2 * n_rounds[0] < n_rounds[1]
    assert found[0].objectives[-1] == pytest.approx(found[1].objectives[-1], rel=1e-6)


def test_every_step_has_a_certificate_and_the_whole_a_status():
    X, _, labels = sample()
    for free in (False, True):
        model = model_of(fit_intercept=free).fit(X, labels)
        certificate = model.certificate_
        assert certificate.status == "stationary"
        assert "non-convex" in certificate.message
        assert certificate.relative_gap <= model.tol
        steps = model.completion_.certificates
        assert len(steps) == len(model.completion_.objectives)
        assert {step.status for step in steps} == {"optimal"}
        again = okl.certify(model, X, labels)
        assert again.status == "stationary"
        assert again.primal == pytest.approx(certificate.primal, rel=1e-9)
        assert again.dual == pytest.approx(certificate.dual, rel=1e-6)


def test_classes_of_rows_in_part_help():
    X, classes, labels = sample(n_each=12, hidden=0.7)
    model = model_of().fit(X, labels)
    known = [label in OWN.values() for label in labels]
    leaves = model_of().fit(X[known], np.array(labels)[known])
    assert model.classes_.tolist() == leaves.classes_.tolist()
    rows, truth, _ = sample(n_each=60, seed=0)
    assert model.score(rows, truth) > leaves.score(rows, truth)
    # an answer below an inner node is right
    assert model.score(X, labels) >= model.score(X, classes)
    scorer = ClassTreeScorer(TREE, "accuracy")
    assert scorer(model, X, labels) == model.score(X, labels)


def test_a_node_above_one_leaf_is_that_leaf():
    X, classes, _ = sample()
    inner = np.where(classes == "only", "c", classes)
    p = model_of(tol=1e-9).fit(X, inner).predict_proba(X)
    expected = model_of(tol=1e-9).fit(X, classes).predict_proba(X)
    np.testing.assert_allclose(p, expected, atol=1e-3)


def test_the_root_is_a_row_that_does_not_count():
    X, classes, _ = sample()
    labels = classes.copy()
    labels[::3] = "/"
    weights = np.where(labels == "/", 0.0, 1.0)
    p = model_of(tol=1e-9).fit(X, labels).predict_proba(X)
    leaves = model_of(tol=1e-9).fit(X, classes, sample_weight=weights)
    np.testing.assert_allclose(p, leaves.predict_proba(X), atol=2e-3)


def test_steps_and_rounds_that_do_not_end_say_so():
    X, _, labels = sample()
    with pytest.warns(ConvergenceWarning, match="after the 1 iterations"):
        model = model_of(max_iter=1).fit(X, labels)
    assert model.certificate_.status == "max_iter"
    assert len(model.completion_.objectives) == 1


@pytest.mark.slow
def test_a_weight_is_a_row_again():
    X, _, labels = sample(n_each=3)
    w = np.arange(len(X)) % 3
    again = np.repeat(np.arange(len(X)), w)
    p = model_of().fit(X, labels, sample_weight=w).completion_.objectives[-1]
    expected = model_of().fit(X[again], np.array(labels)[again])
    assert p == pytest.approx(expected.completion_.objectives[-1], rel=1e-4)


def test_a_later_fit_to_leaves_is_convex_again():
    X, classes, labels = sample()
    model = model_of().fit(X, labels).fit(X, classes)
    assert not hasattr(model, "completion_")
    assert model.certificate_.status == "optimal"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_alpha_is_chosen_by_scikit_learn():
    X, _, labels = sample()
    search = GridSearchCV(model_of(tol=1e-3), {"alpha": [0.1, 10]}, cv=2)
    assert search.fit(X, labels).best_score_ > 0.3


@pytest.mark.parametrize(
    ("fit", "text"),
    [
        (lambda X, y: model_of(loss="logistic").fit(X, y), "with the loss 'logistic'"),
        (
            lambda X, y: model_of(class_weight="balanced").fit(X, y),
            "inner node of the tree.*pass sample_weight",
        ),
        (lambda X, y: model_of().fit(X, [*y[:-1], "e"]), "'e' is not in the tree"),
        (
            lambda X, y: OutputKernelClassifierCV(
                "linear", Tree(TREE), loss="softmax"
            ).fit(X, y),
            "OutputKernelClassifierCV takes labels that are leaves",
        ),
        (
            lambda X, y: GradientSearchCV(model_of()).fit(X, y),
            "GradientSearchCV takes labels that are leaves",
        ),
    ],
)
def test_what_takes_leaves_only_says_so(fit, text):
    X, _, labels = sample()
    with pytest.raises(ValueError, match=text):
        fit(X, labels)


def test_codes_in_the_place_of_labels_are_told():
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 4, 60)
    X = np.eye(4)[numbers] + 0.3 * rng.normal(size=(60, 4))
    tree = ClassTree.from_dict({1: 0, 2: 0, 3: 1, 4: 1, 5: 2, 6: 2})
    model = OutputKernelClassifier("linear", Tree(tree), loss="softmax")
    with pytest.warns(UserWarning, match=r"labels 0 to 3 are inner nodes.*are codes"):
        cross_val_predict(model, X, numbers + 3, cv=2, method="predict_proba")
    with pytest.warns(UserWarning, match="labels 0 to 3 are inner nodes") as said:
        model.fit(X, numbers)
    assert {one.filename for one in said} == {__file__}
    text = ClassTree.from_paths(["a/b", "a/c", "d/e", "d/f"])
    model.set_params(structure=Tree(text))
    with pytest.raises(ValueError, match=r"0 is not in the tree.*instead of labels"):
        cross_val_predict(
            model, X, text.classes_[numbers], cv=2, method="predict_proba"
        )
