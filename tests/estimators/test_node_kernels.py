"""Nodes of a tree with kernels of their own: a sum of terms."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import okl
from okl import (
    ClassTree,
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
    output_kernel_path,
)
from okl.kernels import Columns, Gaussian, Linear, PerOutput, Row
from okl.plotting import ClassTreeDisplay
from okl.structures import Tree

PATHS = ["a/p", "a/q", "b/r", "b/s", "b/z"]
TREE = ClassTree.from_paths(PATHS)
LABELS = np.array(PATHS * 6)
VARIANCES = {"variances": [2.0, 0.5], "tied": "level"}
# of 'a' and below a kernel, but of its first leaf that of the estimator
KERNELS = {"a": Gaussian(0.4), "p": None, "r": Linear(), "s": Linear()}


def sample(seed=0):
    """Return rows whose mean depends on the class, new ones, and targets."""
    rng = np.random.default_rng(seed)
    means = {path: rng.normal(size=4) for path in PATHS}
    rows = np.array([means[label] for label in LABELS]) + rng.normal(size=(30, 4))
    return rows, rng.normal(size=(7, 4)), rng.normal(size=(30, 5))


X, NEW, Y = sample()


def classifier(structure, **options):
    given = {"kernel": "linear", "alpha": 0.2, "loss": "softmax"} | options
    return OutputKernelClassifier(structure=structure, **given)


def joint_kernel(kernels, rows, columns):
    """Return sum_q K_q (x) L_q of `KERNELS`, node by node: (n, 5, n', 5)."""
    by_node = {
        "a": ("a", [0, 1]),
        "b": (None, [2, 3, 4]),
        "p": (None, [0]),
        "q": ("a", [1]),
        "r": ("r", [2]),
        "s": ("s", [3]),
        "z": (None, [4]),
    }
    total = np.zeros((len(rows), 5, len(columns), 5))
    for name, (key, leaves) in by_node.items():
        K = kernels[key](rows, columns)
        variance = 2.0 if name in "ab" else 0.5
        for s in leaves:
            for t in leaves:
                total[:, s, :, t] += variance * K
    return total


@pytest.mark.parametrize("intercept", [True, False])
def test_the_squared_loss_has_the_closed_form_of_the_joint_kernel(intercept):
    kernels = {None: Gaussian(0.1), **KERNELS}
    alpha, size = 0.3, Y.size
    structure = Tree(TREE, **VARIANCES, kernels=KERNELS)
    model = OutputKernelRegressor(
        kernels[None], structure, alpha, fit_intercept=intercept, normalize_y=False
    ).fit(X, Y)
    inside = joint_kernel(kernels, X, X).reshape(size, size)
    ones = np.tile(np.eye(5), (len(X), 1)) * intercept
    system = np.block(
        [[inside + alpha * np.eye(size), ones], [ones.T, np.eye(5) * (1 - intercept)]]
    )
    found = np.linalg.solve(system, np.r_[Y.ravel(), np.zeros(5)])
    new = joint_kernel(kernels, NEW, X).reshape(-1, size)
    expected = (new @ found[:size]).reshape(-1, 5) + found[size:]
    assert_allclose(model.predict(NEW), expected, atol=1e-7)
    assert len(model.kernel_) == 3  # those of r and s are equal
    assert model.certificate_.status == "optimal"
    residual = Y - (inside @ found[:size]).reshape(Y.shape) - found[size:]
    objective = np.sum(residual**2) / 2
    objective += alpha / 2 * found[:size] @ inside @ found[:size]
    assert_allclose(model.certificate_.primal, objective, rtol=1e-8)


@pytest.mark.parametrize("loss", ["softmax", "squared", "logistic", "squared_hinge"])
@pytest.mark.parametrize("kernels", [{1: Gaussian(0.2)}, {2: Gaussian(0.2)}])
def test_equal_kernels_everywhere_are_the_plain_tree(loss, kernels):
    options = {
        "kernel": Gaussian(0.2),
        "loss": loss,
        "fit_intercept": False,
        "tol": 1e-9,
    }
    one = classifier(Tree(TREE, **VARIANCES), **options).fit(X, LABELS)
    structure = Tree(TREE, **VARIANCES, kernels=kernels)
    two = classifier(structure, **options).fit(X, LABELS)
    # the level below the root is everything, that of the leaves a part
    assert len(two.kernel_) == (1 if 1 in kernels else 2)
    assert two.certificate_.status == "optimal"
    gaps = [
        max(one_of.certificate_.primal - one_of.certificate_.dual, 0)
        for one_of in (one, two)
    ]
    primal = one.certificate_.primal
    assert abs(two.certificate_.primal - primal) <= sum(gaps) + 1e-12 * primal
    # a gap g leaves f within sqrt(2 g / alpha) of the optimum in its norm, and a score
    # is at most sqrt(k(x, x) L_tt) times a norm, here sqrt(2.5)
    norms = sum(np.sqrt(2 * (gap + 1e-13 * primal) / one.alpha) for gap in gaps)
    scores = one.decision_function(NEW), two.decision_function(NEW)
    assert np.max(np.abs(scores[0] - scores[1])) <= np.sqrt(2.5) * norms
    assert_allclose(two.output_kernel_, one.output_kernel_, atol=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
def test_softmax_is_at_the_fixed_point_of_its_dual_variables(intercept):
    structure = Tree(TREE, **VARIANCES, kernels=KERNELS)
    model = classifier(structure, fit_intercept=intercept, tol=1e-11).fit(X, LABELS)
    again = okl.certify(model, X, LABELS)
    assert again.status == model.certificate_.status == "optimal"
    assert_allclose(again.primal, model.certificate_.primal, rtol=1e-9)
    # alpha C is minus the gradient of the loss, and f is sum_q K_q C L_q
    classes = LABELS[:, None] == model.classes_
    dual = (classes - model.predict_proba(X)) / model.alpha
    kernels = {None: Linear(), **KERNELS}
    inside = joint_kernel(kernels, NEW, X).reshape(NEW.shape[0] * 5, -1)
    expected = (inside @ dual.ravel()).reshape(-1, 5)
    found = model.decision_function(NEW)
    parts = sum(
        kernel(NEW, X) @ part
        for kernel, part in zip(model.kernel_, model.dual_coef_, strict=True)
    )
    assert_allclose(parts + model.intercept_, found, atol=1e-8)
    # with an intercept the linear kernel is seen from the mean of the rows, which
    # changes the intercept alone
    base = found[0] - expected[0] if intercept else 0.0
    assert_allclose(expected + base, found, atol=1e-4)
    if intercept:
        assert_allclose(dual.sum(axis=0), 0, atol=1e-4)


def test_it_answers_as_any_tree_does():
    structure = Tree(TREE, kernels={2: Gaussian(0.3)})
    model = classifier(structure).fit(X, LABELS)
    below = model.predict_proba(NEW, level=1)
    proba = model.predict_proba(NEW)
    assert_allclose(below[:, 0], proba[:, :2].sum(axis=1), atol=1e-12)
    assert set(model.predict(NEW, decision="taxo")) <= set(PATHS)
    assert model.predict_node(NEW, 0.99).shape == (7,)
    own = np.array([label.split("/")[1] for label in LABELS])
    named = clone(model).fit(X, own)
    assert named.classes_.tolist() == ["p", "q", "r", "s", "z"]
    assert named.score(X, own) == model.score(X, LABELS)


def test_a_class_without_rows_is_predicted_by_its_relatives():
    seen = LABELS != "b/z"
    structure = Tree(TREE, kernels={2: Gaussian(0.3)})
    model = classifier(structure, fit_intercept=False).fit(X[seen], LABELS[seen])
    proba = model.predict_proba(X)
    assert model.classes_.tolist() == PATHS
    assert proba[~seen, 4].mean() > proba[LABELS == "a/p", 4].mean()


def test_labels_may_be_inner_nodes():
    labels = np.where(np.arange(30) % 4 == 0, [p[0] for p in LABELS], LABELS)
    structure = Tree(TREE, kernels={"b": Gaussian(0.3)})
    model = classifier(structure, fit_intercept=False).fit(X, labels)
    objectives = model.completion_.objectives
    assert len(objectives) > 1
    assert np.all(np.diff(objectives) <= 1e-9 * objectives[0])
    assert model.certificate_.status == "stationary"
    assert okl.certify(model, X, labels).status == "stationary"
    # the observed penalised likelihood, from attributes
    within = TREE.below(np.eye(5))[:, TREE.node_numbers(labels)].T > 0
    loss = -np.log(np.sum(model.predict_proba(X) * within, axis=1)).sum()
    norm = 0.0
    for K, part, L in zip(
        [kernel(X) for kernel in model.kernel_],
        model.dual_coef_,
        model.output_kernels_,
        strict=True,
    ):
        norm += np.sum((part.T @ K @ part) * np.linalg.pinv(L, rtol=1e-10))
    assert_allclose(objectives[-1], loss + model.alpha / 2 * norm, rtol=1e-5)


def test_features_that_matter_below_a_level():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    structure = Tree(TREE, kernels={2: Columns(Linear(), ["c", "d"])})
    kernel = Columns(Linear(), ["a", "b"])
    model = classifier(structure, kernel=kernel, fit_intercept=False)
    named = clone(model).fit(frame, LABELS)
    numbered = Tree(TREE, kernels={2: Columns(Linear(), [2, 3])})
    model = classifier(
        numbered, kernel=Columns(Linear(), [0, 1]), fit_intercept=False
    ).fit(X, LABELS)
    assert_allclose(named.predict_proba(frame), model.predict_proba(X), atol=1e-12)
    # siblings differ by nothing in columns that only their parents see
    moved = X + np.array([1.0, -2.0, 0.0, 0.0])
    change = model.decision_function(moved) - model.decision_function(X)
    assert_allclose(change[:, 0], change[:, 1], atol=1e-9)
    assert np.min(np.abs(change[:, 0] - change[:, 2])) > 1e-4


def test_sparse_rows_are_those_rows():
    structure = Tree(TREE, kernels={2: Gaussian(0.3)})
    dense = classifier(structure, tol=1e-9).fit(X, LABELS)
    rows = classifier(structure, tol=1e-9).fit(csr_array(X), LABELS)
    assert_allclose(
        rows.predict_proba(csr_array(NEW)), dense.predict_proba(NEW), atol=1e-4
    )


def test_parameters_copies_and_files():
    structure = Tree(TREE, kernels={2: Gaussian(0.3)})
    model = classifier(structure).fit(X, LABELS)
    params = model.get_params()
    assert params["structure__kernels"] == {2: structure.kernels[2]}
    again = clone(model)
    assert again.structure.kernels is not structure.kernels
    assert again.structure.kernels[2].gamma == 0.3
    again.set_params(structure__kernels={2: Gaussian(3.0)}).fit(X, LABELS)
    assert [kernel.get_params() for kernel in again.kernel_][1] == {"gamma": 3.0}
    kept = pickle.loads(pickle.dumps(model))
    assert_array_equal(kept.predict_proba(NEW), model.predict_proba(NEW))
    search = GridSearchCV(
        classifier(Tree(TREE), fit_intercept=False),
        {"structure__kernels": [None, {2: Gaussian(0.3)}]},
        scoring="neg_log_loss",
        cv=2,
    ).fit(X, LABELS)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


def test_outputs_of_a_regressor_are_leaves():
    pandas = pytest.importorskip("pandas")
    structure = Tree(TREE, **VARIANCES, kernels={"b": Gaussian(0.3)})
    model = OutputKernelRegressor("linear", structure).fit(X, Y)
    frame = pandas.DataFrame(Y, columns=["p", "q", "r", "s", "z"])
    mixed = ["z", "p", "s", "q", "r"]
    moved = OutputKernelRegressor("linear", structure).fit(X, frame[mixed])
    expected = model.predict(NEW)[:, [4, 0, 3, 1, 2]]
    assert_allclose(moved.predict(NEW), expected, atol=1e-9)
    missing = np.where(np.random.default_rng(1).random(Y.shape) < 0.3, np.nan, Y)
    fitted = OutputKernelRegressor("linear", structure).fit(X, missing)
    assert okl.certify(fitted, X, missing).status == "optimal"
    path = output_kernel_path(X, Y, kernel="linear", structure=structure, alphas=3)
    assert all(one.status == "optimal" for one in path.certificates)


def test_a_tree_with_kernels_in_a_list_is_several_terms():
    structure = [Tree(TREE, kernels={2: Gaussian(0.3)}), "frobenius"]
    model = OutputKernelRegressor(["linear", Row()], structure).fit(X, Y)
    kinds = [type(kernel) for kernel in model.kernel_]
    assert kinds == [Linear, Gaussian, Row]
    assert okl.certify(model, X, Y).status == "optimal"
    assert model.residual_kernel_.shape == (5, 5)


def test_the_picture_has_the_variances_of_all_nodes():
    plt = pytest.importorskip("matplotlib.pyplot")
    pytest.importorskip("networkx")
    structure = Tree(TREE, **VARIANCES, kernels={2: Gaussian(0.3)})
    model = classifier(structure).fit(X, LABELS)
    display = ClassTreeDisplay.from_estimator(model)
    assert_array_equal(display.values, [0, 2, 2, 0.5, 0.5, 0.5, 0.5, 0.5])
    plt.close("all")


@pytest.mark.parametrize(
    ("kernel", "kernels", "error", "message"),
    [
        ("linear", {"c": "rbf"}, ValueError, "names the node 'c'"),
        ("linear", {3: "rbf"}, ValueError, "names the level 3"),
        ("linear", {1: 3}, TypeError, r"^kernels\[1\] of Tree.*a name .*got 3"),
        ("linear", {"a": "rbq"}, ValueError, r"^kernels\['a'\] of Tree.*'rbq'"),
        ("linear", {1: "precomputed"}, ValueError, "use okl.kernels.Gram"),
        ("linear", {1: "auto"}, ValueError, r"^kernels\[1\] of Tree.*learned"),
        ("linear", {1: Row()}, TypeError, r"^kernels\[1\] of Tree.*own"),
        ("linear", {1: PerOutput(["rbf"])}, TypeError, r"^kernels\[1\] of Tree"),
        ("linear", {1: ["rbf"]}, TypeError, r"^kernels\[1\] of Tree"),
        ("precomputed", {2: "rbf"}, ValueError, "kernels for some nodes .*Gram"),
        ("precomputed", {1: "rbf"}, ValueError, "kernels for some nodes .*Gram"),
        (PerOutput([Linear()] * 5), {2: "rbf"}, TypeError, "kernels for some nodes"),
    ],
)
def test_bad_kernels_are_named(kernel, kernels, error, message):
    with pytest.raises(error, match=message):
        classifier(Tree(TREE, kernels=kernels), kernel=kernel).fit(X, LABELS)


def test_what_takes_one_kernel_says_so():
    structure = Tree(TREE, kernels={1: Gaussian(0.3)})
    own = r"kernels\[1\] of Tree is a kernel of its own"
    with pytest.raises(ValueError, match=own):
        OutputKernelClassifierCV("linear", [structure], loss="softmax").fit(X, LABELS)
    with pytest.raises(ValueError, match=own):
        OutputKernelRegressorCV("linear", [structure, "identity"]).fit(X, Y)
    model = OutputKernelRegressor("linear", structure)
    names = np.array(["p", "q", "r", "s", "z"] * 6)
    with pytest.raises(ValueError, match="not supported for data in long form"):
        clone(model).fit(X, Y[:, 0], task=names)
    with pytest.raises(ValueError, match="5 leaves, and the number of outputs is 4"):
        clone(model).fit(X, Y[:, :4])
