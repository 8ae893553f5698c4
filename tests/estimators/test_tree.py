"""Classes, and outputs, that are the leaves of a tree."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import okl
from okl import (
    ClassTree,
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
)
from okl.model_selection import GradientSearchCV
from okl.structures import Tree

PATHS = ["a/p", "a/q", "b/r", "b/s", "b/z"]
TREE = ClassTree.from_paths(PATHS)


def rows_of(labels, seed=0):
    """Return rows whose mean depends on the class, and on its parent."""
    rng = np.random.default_rng(seed)
    means = {"a": rng.normal(size=6), "b": rng.normal(size=6)}
    own = {path: means[path[0]] + rng.normal(size=6) for path in PATHS}
    return np.array([own[label] for label in labels]) + 0.3 * rng.normal(
        size=(len(labels), 6)
    )


LABELS = np.array(PATHS * 8)
# what scores of two fits to a gap of 1e-12 may differ by: its root
SAME = 1e-6
X = rows_of(LABELS)


def tree_model(structure=None, **options):
    options = {"loss": "softmax", "alpha": 0.1, "kernel": "linear"} | options
    return OutputKernelClassifier(structure=structure or Tree(TREE), **options)


def test_a_tree_of_depth_one_is_the_identity():
    flat = ClassTree.from_dict(dict.fromkeys(PATHS, "all"))
    one = tree_model(Tree(flat), tol=1e-12).fit(X, LABELS)
    two = tree_model("identity", tol=1e-12).fit(X, LABELS)
    assert_array_equal(one.classes_, two.classes_)
    assert_allclose(one.output_kernel_, two.output_kernel_, atol=1e-15)
    assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=SAME)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_fit_is_that_to_the_matrix_of_the_tree(intercept):
    structure = Tree(TREE, [2.0, 0.5], tied="level")
    fixed = okl.structures.Fixed(structure.matrix(5))
    options = {"fit_intercept": intercept, "tol": 1e-12}
    one = tree_model(structure, **options).fit(X, LABELS)
    two = tree_model(fixed, **options).fit(X, LABELS)
    assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-6)
    assert one.certificate_.status == "optimal"
    certificate = okl.certify(one, X, LABELS)
    assert_allclose(certificate.primal, one.certificate_.primal, rtol=1e-9)
    assert_allclose(one.output_kernel_, structure.matrix(5), atol=1e-14)
    assert one.rank_ == 5


def test_labels_are_called_as_they_were_given():
    own = np.array([label.split("/")[1] for label in LABELS])
    by_path = tree_model().fit(X, LABELS)
    by_name = tree_model().fit(X, own)
    assert by_path.classes_.tolist() == PATHS
    assert by_name.classes_.tolist() == ["p", "q", "r", "s", "z"]
    assert_allclose(by_name.predict_proba(X), by_path.predict_proba(X), atol=1e-12)
    assert by_name.score(X, own) == by_path.score(X, LABELS) > 0.9


def test_own_names_are_sorted_with_their_columns():
    tree = ClassTree.from_paths(["a/z", "b/y", "b/x"])
    labels = np.array(["z", "y", "x"] * 5)
    rows = np.eye(3)[[0, 1, 2] * 5] + 0.01
    model = tree_model(Tree(tree)).fit(rows, labels)
    assert model.classes_.tolist() == ["x", "y", "z"]
    assert model.score(rows, labels) == 1
    # x and y share a parent
    L = model.output_kernel_
    assert L[0, 1] == 1
    assert L[0, 2] == L[1, 2] == 0


def test_a_class_without_rows_is_predicted_by_its_relatives():
    seen = LABELS != "b/z"
    with pytest.warns(
        UserWarning, match=r"No rows of the class b/z: .*without an intercept"
    ):
        warned = tree_model().fit(X[seen], LABELS[seen])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no probabilities, none of which is zero
        tree_model(loss="squared").fit(X[seen], LABELS[seen])
    model = tree_model(fit_intercept=False).fit(X[seen], LABELS[seen])
    assert model.classes_.tolist() == PATHS
    proba = model.predict_proba(X)
    assert proba.shape == (len(X), 5)
    assert_allclose(warned.predict_proba(X), proba, atol=1e-12)
    assert warned.intercept_ == 0
    assert okl.certify(warned, X[seen], LABELS[seen]).status == "optimal"
    assert proba[~seen, 4].mean() > 1.5 * proba[LABELS == "a/p", 4].mean()
    weights = seen.astype(float)
    weighted = tree_model(fit_intercept=False, class_weight="balanced")
    weighted.fit(X, LABELS, sample_weight=weights)
    assert weighted.classes_.tolist() == PATHS


@pytest.mark.parametrize("loss", ["softmax", "logistic"])
def test_one_class_of_a_tree_alone(loss):
    only = LABELS == "a/p"
    with pytest.warns(UserWarning, match="No rows of the class"):
        model = tree_model(loss=loss).fit(X[only], LABELS[only])
    assert model.certificate_.status == "optimal"
    assert 0 <= model.certificate_.relative_gap < 1e-6


def test_a_class_without_rows_in_a_fold_is_predicted_by_its_relatives():
    # each fold holds out all rows of a class, and some of the others
    rows = np.arange(len(X))
    out = [(rows % 4 == 0) | (name == LABELS) for name in PATHS]
    folds = [(np.flatnonzero(~held), np.flatnonzero(held)) for held in out]
    model = OutputKernelClassifierCV(
        "linear",
        [Tree(TREE)],
        loss="softmax",
        alphas=3,
        cv=folds,
        scoring="neg_log_loss",
    )
    with pytest.warns(UserWarning, match=r"'a/q' \(fold 1\).* related classes predict"):
        model.fit(X, LABELS)
    assert model.intercept_.shape == (5,)
    # with an intercept their probability is zero, and its logarithm -36
    assert np.all(model.scores_ > -5)


def test_a_gradient_search_takes_folds_without_a_class_that_has_relatives():
    rows = np.arange(len(X))
    out = [(rows % 2 == k) | (LABELS == "b/z") for k in range(2)]
    folds = [(np.flatnonzero(~held), np.flatnonzero(held)) for held in out]
    search = GradientSearchCV(tree_model(), ["alpha"], cv=folds, priors=False)
    with pytest.warns(
        UserWarning, match=r"'b/z' \(every fold\).* related classes"
    ) as said:
        search.fit(X, LABELS)
    assert {one.filename for one in said} == {__file__}
    alpha = search.best_params_["alpha"]

    def value(a):
        """Return minus the log likelihood of held-out rows, of fits to the others."""
        total = 0.0
        for train, test in folds:
            model = tree_model(alpha=a, fit_intercept=False)
            chances = model.fit(X[train], LABELS[train]).predict_proba(X[test])
            own = np.searchsorted(PATHS, LABELS[test])
            total -= np.log(chances[np.arange(len(test)), own]).sum()
        return total

    assert_allclose(-search.best_score_, value(alpha), rtol=1e-3)
    assert value(alpha) < min(value(alpha / 3), value(3 * alpha))
    flat = clone(search).set_params(estimator__structure="identity")
    with pytest.raises(ValueError, match="Fold 0 has no training rows of class b/z"):
        flat.fit(X, LABELS)


def test_a_gradient_search_warns_once_and_where_it_was_called():
    seen = LABELS != "b/z"
    model = tree_model(alpha=0.2)
    search = GradientSearchCV(model, ["alpha"], max_iter=2, cv=2)
    with pytest.warns(UserWarning, match="No rows of the class b/z") as said:
        search.fit(X[seen], LABELS[seen])
    texts = [str(one.message) for one in said]
    assert len(set(texts)) == len(texts)
    assert {one.filename for one in said} == {__file__}
    pandas = pytest.importorskip("pandas")
    Y = np.random.default_rng(0).normal(size=(len(X), 5))
    outputs = pandas.DataFrame(Y, columns=[f"y{i}" for i in range(5)])
    regressor = OutputKernelRegressor("linear", Tree(TREE))
    search = GradientSearchCV(regressor, ["alpha"], max_iter=2)
    with pytest.warns(UserWarning, match="No output has the name of a leaf") as said:
        search.fit(X, outputs)
    texts = [str(one.message) for one in said]
    assert len(set(texts)) == len(texts)
    assert {one.filename for one in said} == {__file__}


def test_a_label_that_is_not_in_the_tree_is_named():
    labels = LABELS.astype(object)
    labels[3] = "b/t"
    with pytest.raises(ValueError, match="'b/t' is not in the tree"):
        tree_model().fit(X, labels)
    with pytest.raises(ValueError, match="'b/t' is not in the tree"):
        OutputKernelClassifierCV(structures=[Tree(TREE)]).fit(X, labels)


@pytest.mark.filterwarnings("ignore:The alpha chosen")
def test_a_search_compares_a_tree_with_no_structure():
    model = OutputKernelClassifierCV(
        "linear",
        [Tree(TREE), "identity"],
        loss="softmax",
        alphas=3,
        cv=3,
        scoring="neg_log_loss",
    ).fit(X, LABELS)
    assert model.classes_.tolist() == PATHS
    assert model.score(X, LABELS) > 0.9
    assert np.all(np.isfinite(model.scores_))


@pytest.mark.filterwarnings("ignore:The alpha chosen")
def test_a_search_that_settles_on_no_structure_still_has_the_tree():
    # classes that have nothing in common with their relatives
    rows = 3 * np.eye(5)[np.tile(np.arange(5), 8)]
    rows += 0.1 * np.random.default_rng(0).normal(size=rows.shape)
    far = Tree(TREE, [1e4, 1e-4], tied="level")
    model = OutputKernelClassifierCV(
        "linear", [far, "identity"], loss="softmax", alphas=[0.1, 1.0], cv=3
    ).fit(rows, LABELS)
    assert model.structure_.class_tree is None
    below, proba = model.predict_proba(rows, level=1), model.predict_proba(rows)
    assert_allclose(below[:, 0], proba[:, :2].sum(axis=1), atol=1e-12)
    assert model.predict(rows, decision="taxo").tolist() == LABELS.tolist()
    own = [label.split("/")[1] for label in LABELS]
    assert model.score(rows, own) == 1


def test_leaves_alone_are_no_structure_that_knows_the_tree():
    one = tree_model(Tree(TREE, "leaves"), tol=1e-12).fit(X, LABELS)
    two = tree_model("identity", tol=1e-12).fit(X, LABELS)
    assert_allclose(one.output_kernel_, two.output_kernel_, atol=1e-15)
    assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=SAME)
    assert one.predict_proba(X, level=1).shape == (len(X), 2)
    with pytest.raises(ValueError, match="needs a tree of the classes"):
        two.predict_proba(X, level=1)


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge", "squared_hinge"])
def test_other_losses(loss):
    model = tree_model(loss=loss).fit(X, LABELS)
    assert model.certificate_.status == "optimal"
    assert model.score(X, LABELS) > 0.9


def test_outputs_of_a_regressor_are_leaves():
    rng = np.random.default_rng(0)
    rows, Y = rng.normal(size=(30, 3)), rng.normal(size=(30, 5))
    structure = Tree(TREE, [3.0, 0.2], tied="level", root=1.0)
    model = OutputKernelRegressor("linear", structure).fit(rows, Y)
    fixed = OutputKernelRegressor(
        "linear", okl.structures.Fixed(structure.matrix(5))
    ).fit(rows, Y)
    assert_allclose(model.predict(rows), fixed.predict(rows), atol=1e-9)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(Y, columns=["p", "q", "r", "s", "z"])
    mixed = ["z", "p", "s", "q", "r"]
    moved = OutputKernelRegressor("linear", structure).fit(rows, frame[mixed])
    assert_allclose(
        moved.predict(rows), fixed.predict(rows)[:, [4, 0, 3, 1, 2]], atol=1e-9
    )
    with pytest.raises(ValueError, match="'t' is not in the tree"):
        OutputKernelRegressor("linear", structure).fit(
            rows, frame.rename(columns={"z": "t"})
        )
    with pytest.raises(ValueError, match=r"one output for each .* none for 'b/z'"):
        OutputKernelRegressor("linear", structure).fit(rows, frame[mixed[1:]])


def test_outputs_of_which_none_has_the_name_of_a_leaf_are_told():
    pandas = pytest.importorskip("pandas")
    Y = pandas.DataFrame(np.eye(8)[:, :5], columns=[f"y{i}" for i in range(5)])
    rows = np.arange(16.0).reshape(8, 2)
    model = OutputKernelRegressor("linear", Tree(TREE))
    with pytest.warns(
        UserWarning, match=r"outputs are 'y0', 'y1'.*leaves 'a/p'.*Rename the columns"
    ) as told:
        model.fit(rows, Y)
    assert told[0].filename == __file__
    search = OutputKernelRegressorCV("linear", structures=Tree(TREE), cv=2)
    with pytest.warns(UserWarning, match="No output has the name of a leaf") as told:
        search.fit(rows, Y)
    assert __file__ in [one.filename for one in told if "leaf" in str(one.message)]
    # without names there is nothing to compare
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(rows, Y.to_numpy())
        model.fit(rows, pandas.DataFrame(Y.to_numpy()))


def test_the_variances_are_learned():
    model = tree_model(Tree(TREE, "level"), fit_intercept=False)
    search = GradientSearchCV(model, ["structure__variances"], cv=2, max_iter=8).fit(
        X, LABELS
    )
    learned = search.best_params_["structure__variances"]
    assert learned.shape == (2,)
    values = search.cv_results_["value"]
    assert values[-1] < values[0]
    best = search.best_estimator_
    assert_array_equal(best.structure_.variances, learned)
    assert best.classes_.tolist() == PATHS
    # what classifiers are asked is answered by the best
    assert_array_equal(search.predict_node(X, 0.8), best.predict_node(X, 0.8))
    assert_array_equal(search.decision_function(X), best.decision_function(X))
