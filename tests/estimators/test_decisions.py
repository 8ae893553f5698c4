"""What classifiers answer when errors differ in what they cost."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import okl
from okl import ClassTree, OutputKernelClassifier, OutputKernelClassifierCV
from okl.decisions import decide
from okl.metrics import ClassTreeScorer
from okl.structures import Tree
from tests.trees.random_trees import parent_matrix, taxo_matrix

X, Y = load_iris(return_X_y=True)
Y = np.array(["setosa", "versicolor", "virginica"])[Y]
COSTS = np.array([[0, 1, 1], [1, 0, 1], [1, 20, 0.0]])


@pytest.fixture(scope="module")
def flat():
    return OutputKernelClassifier(loss="softmax", structure="identity").fit(X, Y)


def test_a_cost_matrix_moves_the_border(flat):
    found = flat.predict(X, decision=COSTS)
    p = flat.predict_proba(X)
    assert np.array_equal(found, flat.classes_[np.argmin(p @ COSTS, axis=1)])
    assert np.sum(found == "virginica") > np.sum(flat.predict(X) == "virginica")
    assert np.array_equal(found, decide(p, COSTS, classes=flat.classes_))


def test_no_answer_where_it_would_be_too_unsure(flat):
    found = flat.predict(X, reject=0.2)
    unsure = flat.predict_proba(X).max(axis=1) < 0.8
    assert 0 < unsure.sum() < len(X)
    assert [label is None for label in found] == unsure.tolist()
    assert np.array_equal(found[~unsure], flat.predict(X)[~unsure])


def test_two_classes_and_pipelines():
    model = make_pipeline(StandardScaler(), OutputKernelClassifier(loss="logistic"))
    model.fit(X[50:], Y[50:])
    found = model.predict(X[50:], decision=[[0, 1], [0, 0]])
    assert set(found) == {"versicolor"}  # which is never wrong


def test_searches_pass_decisions_on():
    search = OutputKernelClassifierCV(
        kernel="linear", structures="identity", loss="softmax", alphas=[1.0], cv=2
    ).fit(X, Y)
    found = search.predict(X, decision=COSTS)
    expected = decide(search.predict_proba(X), COSTS, classes=search.classes_)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        ({"decision": "taxo"}, r"decision='taxo' needs a tree.*Identity\(\) does not"),
        ({"decision": "best"}, "one of 'accuracy'.*'best'"),
        ({"decision": np.eye(2)}, r"shape \(2, 2\), and 3 classes"),
        ({"reject": "often"}, "reject, the cost of giving no answer, must be a number"),
    ],
)
def test_errors_come_before_any_row_is_looked_at(flat, ask, text):
    with pytest.raises(ValueError, match=text):
        flat.predict("no rows", **ask)


def test_nodes_need_a_tree(flat):
    for ask in ({"level": 1}, {"nodes": ["plants"]}):
        with pytest.raises(ValueError, match="needs a tree of the classes"):
            flat.predict_proba("no rows", **ask)
    with pytest.raises(ValueError, match=r"predict_node.* needs a tree"):
        flat.predict_node("no rows")


def test_decisions_need_probabilities_of_one_class_a_row():
    model = OutputKernelClassifier(loss="squared").fit(X, Y)
    with pytest.raises(ValueError, match="probabilities, which the loss 'squared'"):
        model.predict(X, reject=0.1)
    assert not hasattr(model, "predict_node")
    labels = (Y[:, None] == np.unique(Y)).astype(int)
    model = OutputKernelClassifier(loss="logistic").fit(X, labels)
    with pytest.raises(
        ValueError, match="one class per row; here every row has several"
    ):
        model.predict(X, reject=0.1)


TREE = ClassTree.from_paths(
    ["soft/setosa", "hard/versicolor", "hard/virginica", "weed"]
)


@pytest.fixture(scope="module")
def in_tree():
    """A model of three of the four leaves of a tree, called by their own names."""
    return OutputKernelClassifier(
        "linear", Tree(TREE), loss="softmax", fit_intercept=False
    ).fit(X, Y)


def test_levels_and_nodes_are_sums_over_the_leaves_below(in_tree):
    p = in_tree.predict_proba(X)
    tree = in_tree.structure_.class_tree
    assert in_tree.classes_.tolist() == ["setosa", "versicolor", "virginica", "weed"]
    first = in_tree.predict_proba(X, level=1)
    assert tree.nodes(1).tolist() == ["hard", "soft", "weed"]
    expected = np.stack([p[:, 1] + p[:, 2], p[:, 0], p[:, 3]], axis=1)
    np.testing.assert_allclose(first, expected, rtol=1e-12)
    for level in range(tree.depth + 1):
        whole = in_tree.predict_proba(X, level=level).sum(axis=1)
        np.testing.assert_allclose(whole, 1, atol=1e-12)
    some = in_tree.predict_proba(X, nodes=["weed", "hard/virginica", "hard"])
    np.testing.assert_allclose(some, np.stack([p[:, 3], p[:, 2], first[:, 0]], axis=1))


@pytest.mark.parametrize("decision", ["taxo", "parent"])
def test_decisions_by_the_tree_of_the_structure(in_tree, decision):
    tree = in_tree.structure_.class_tree
    matrices = {"taxo": taxo_matrix, "parent": parent_matrix}
    expected = in_tree.predict_proba(X) @ matrices[decision](tree, tree.leaves)
    columns = tree.class_numbers(in_tree.predict(X, decision=decision))
    cost = expected[range(len(X)), columns]
    np.testing.assert_allclose(cost, expected.min(axis=1), atol=1e-12)
    unsure = expected.min(axis=1) > 0.4
    rejected = in_tree.predict(X, decision=decision, reject=0.4)
    assert [label is None for label in rejected] == unsure.tolist()


def test_the_deepest_node_that_is_sure(in_tree):
    p = in_tree.predict_proba(X)
    found = in_tree.predict_node(X, 0.9)
    leaf = p.max(axis=1) >= 0.9
    expected = np.where(p[:, 1] + p[:, 2] >= 0.9, "hard", "/")
    expected[leaf] = "leaf"
    names = np.where(np.isin(found, in_tree.classes_), "leaf", found)
    assert names.tolist() == expected.tolist()
    assert np.array_equal(found[leaf], in_tree.predict(X)[leaf])
    assert {"leaf", "hard"} <= set(names)


def test_scores_by_the_names_of_either_kind(in_tree):
    scores = ClassTreeScorer(TREE)(in_tree, X, Y)
    again = ClassTreeScorer(TREE)(in_tree, X, TREE.names[TREE.node_numbers(Y)])
    assert scores == again
    paths = TREE.names[TREE.node_numbers(Y)]
    assert in_tree.score(X, paths) == in_tree.score(X, Y) == scores["accuracy"]
    assert scores["parent_accuracy"] >= scores["accuracy"] > 0.8


def test_levels_and_nodes_that_are_not_there(in_tree):
    for ask, text in (
        ({"level": 3}, r"0 \(the root\) to 2; got 3"),
        ({"nodes": ["tulip"]}, "'tulip' is not in the tree"),
        ({"level": 1, "nodes": ["hard"]}, "level or nodes, not both"),
    ):
        with pytest.raises(ValueError, match=text):
            in_tree.predict_proba("no rows", **ask)
    with pytest.raises(ValueError, match=r"min_probability.*got 0"):
        in_tree.predict_node("no rows", 0)


def test_a_tree_of_tasks_or_labels_is_none_of_classes():
    high = np.where(X[:, 0] > np.median(X[:, 0]), "high", "low")
    tree = ClassTree.from_paths(["soft/setosa", "hard/versicolor", "hard/virginica"])
    model = OutputKernelClassifier("linear", Tree(tree), loss="logistic")
    model.fit(X, high, task=Y)
    accuracy = np.mean(model.predict(X, task=Y) == high)
    assert model.score(X, high, task=Y) == accuracy
    labels = pd.DataFrame({path: path.split("/")[1] == Y for path in tree.classes_})
    several = clone(model).fit(X, labels)
    for one in (model, several):
        with pytest.raises(ValueError, match="level=1 needs a tree of the classes "):
            one.predict_proba("no rows", level=1)
        with pytest.raises(ValueError, match=r"predict_node.* and one class per row"):
            one.predict_node("no rows")


def test_a_tree_may_be_one_of_several_terms():
    model = OutputKernelClassifier(
        ["linear", "rbf"], [Tree(TREE), "identity"], loss="softmax", fit_intercept=False
    ).fit(X[::5], Y[::5])
    assert model.certificate_.status == "optimal"
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica", "weed"]
    p = model.predict_proba(X[::5])
    first = model.predict_proba(X[::5], level=1)
    np.testing.assert_allclose(first[:, 0], p[:, 1] + p[:, 2], rtol=1e-12)
    labels = np.where(Y == "virginica", "hard", Y)
    model.fit(X[::5], labels[::5])
    assert model.certificate_.status == "stationary"
    assert okl.certify(model, X[::5], labels[::5]).status == "stationary"


@pytest.mark.filterwarnings("ignore:The alpha chosen")
def test_a_search_may_be_by_a_score_of_the_tree():
    scorer = ClassTreeScorer(TREE, "neg_taxo_loss")
    search = OutputKernelClassifierCV(
        kernel="linear",
        structures=[Tree(TREE), "identity"],
        loss="softmax",
        alphas=[0.1, 1.0, 10.0],
        cv=2,
        scoring=scorer,
        fit_intercept=False,
    ).fit(X[::3], Y[::3])
    assert -1 < search.best_score_ <= 0
    assert search.predict_proba(X, level=1).shape == (len(X), 3)
