"""Scores of classes in a tree, against definitions written with sets."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    label_ranking_average_precision_score,
    log_loss,
)
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.svm import LinearSVC

from okl import ClassTree, OutputKernelClassifier
from okl.decisions import decide, deepest_nodes, node_probabilities
from okl.metrics import (
    ClassTreeScorer,
    hierarchical_f1_score,
    hierarchical_precision_score,
    hierarchical_recall_score,
    level_accuracy_score,
    mean_reciprocal_rank,
    parent_accuracy_score,
    reject_curve,
    reject_curve_area,
    taxo_loss,
)
from okl.plotting import ClassTreeDisplay
from okl.structures import Tree
from tests.covering import examples
from tests.trees.random_trees import ancestors, random_tree

SOME = [["cat"], ["dog"]]
P = [[0.4, 0.6]]
OF_A_TREE = [
    *(
        lambda tree, score=score: score(*SOME, tree=tree)
        for score in (
            taxo_loss,
            parent_accuracy_score,
            hierarchical_f1_score,
            hierarchical_precision_score,
            hierarchical_recall_score,
        )
    ),
    lambda tree: level_accuracy_score(*SOME, tree=tree, level=1),
    *(
        lambda tree, score=score: score(["cat"], P, labels=["cat", "dog"], tree=tree)
        for score in (mean_reciprocal_rank, reject_curve, reject_curve_area)
    ),
    ClassTreeScorer,
    lambda tree: decide(P, "taxo", classes=["cat", "dog"], tree=tree),
    lambda tree: deepest_nodes(P, 0.8, classes=["cat", "dog"], tree=tree),
    lambda tree: node_probabilities(P, classes=["cat", "dog"], tree=tree),
    ClassTreeDisplay,
]
TREE = ClassTree.from_paths(["animal/cat", "animal/dog", "plant/oak", "rock"])


@pytest.mark.parametrize("function", OF_A_TREE)
def test_what_is_no_tree_is_refused_by_name(function):
    with pytest.raises(TypeError, match=r"tree must be an okl.ClassTree.*\['a/b'\]"):
        function(["a/b"])


@examples(25)
@given(seed=st.integers(0, 2**31), n_nodes=st.integers(2, 30), weighted=st.booleans())
def test_scores_of_answers_by_sets(seed, n_nodes, weighted):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_nodes)
    true, found = rng.integers(0, n_nodes, size=(2, 8))  # inner nodes too
    w = rng.integers(0, 3, size=8) + 0.5 if weighted else None
    sets = [
        (ancestors(tree, a), ancestors(tree, b))
        for a, b in zip(true, found, strict=True)
    ]
    weights = np.ones(8) if w is None else w

    def mean(values):
        return np.average(list(values), weights=weights)

    def total(values):
        return weights @ np.array(list(values))

    given = {
        "y_true": tree.names[true],
        "y_pred": tree.names[found],
        "tree": tree,
        "sample_weight": w,
    }
    assert taxo_loss(**given) == pytest.approx(mean(len(a ^ b) / 2 for a, b in sets))
    same = tree.parents[true] == tree.parents[found]
    assert parent_accuracy_score(**given) == pytest.approx(mean(same))
    both = total(len(a & b) for a, b in sets)
    answered, truths = total(len(b) for _, b in sets), total(len(a) for a, _ in sets)
    precision = both / answered if answered else 0
    recall = both / truths if truths else 0
    assert hierarchical_precision_score(**given) == pytest.approx(precision)
    assert hierarchical_recall_score(**given) == pytest.approx(recall)
    f1 = 2 * precision * recall / (precision + recall) if both else 0
    assert hierarchical_f1_score(**given) == pytest.approx(f1)


@examples(10)
@given(seed=st.integers(0, 2**31), n_nodes=st.integers(3, 30))
def test_accuracy_of_levels_by_nodes_above(seed, n_nodes):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_nodes)
    true, found = rng.choice(tree.classes_, size=(2, 20))
    for level in range(tree.depth + 1):
        numbers = tree.level_numbers(level)
        at = tree.below(np.eye(tree.n_classes))[:, numbers].argmax(axis=1)
        right = at[tree.class_numbers(true)] == at[tree.class_numbers(found)]
        assert level_accuracy_score(
            true, found, tree=tree, level=level
        ) == pytest.approx(right.mean())


def test_at_depth_one_the_taxo_loss_is_the_error():
    tree = ClassTree.from_paths(["a", "b", "c"])
    true, found = ["a", "b", "c", "c"], ["a", "c", "c", "a"]
    assert taxo_loss(true, found, tree=tree) == 1 - accuracy_score(true, found)
    assert parent_accuracy_score(true, found, tree=tree) == 1


def test_reciprocal_ranks_are_the_ranking_precision_of_one_label():
    rng = np.random.default_rng(0)
    p = rng.integers(0, 4, size=(40, 5)) / 4  # with ties
    y = rng.integers(0, 5, size=40)
    w = rng.uniform(size=40)
    expected = label_ranking_average_precision_score(np.eye(5)[y], p, sample_weight=w)
    found = mean_reciprocal_rank(y, p, labels=np.arange(5), sample_weight=w)
    assert found == pytest.approx(expected, rel=1e-12)


def test_classes_without_a_column_have_no_rank():
    p = [[0.4, 0.6], [0.4, 0.6]]
    assert mean_reciprocal_rank(["a", "z"], p, labels=["a", "b"]) == 0.25
    # and names of two kinds are one class
    found = mean_reciprocal_rank(["cat", "rock"], p, labels=["animal/cat", "rock"])
    assert found == 0.5
    found = mean_reciprocal_rank(
        ["cat", "rock"], p, labels=["animal/cat", "rock"], tree=TREE
    )
    assert found == 0.75


def test_columns_that_may_be_in_another_order_need_labels():
    # by their paths "a/z" is first, by their own names "b"
    tree = ClassTree.from_paths(["a/z", "c/b"])
    p, short = [[0.9, 0.1], [0.2, 0.8]], ["b", "z"]
    for score in (mean_reciprocal_rank, reject_curve):
        with pytest.raises(
            ValueError, match=r"order of the columns.*ambiguous.*labels.*model.classes_"
        ):
            score(short, p, tree=tree)
    assert mean_reciprocal_rank(short, p, tree=tree, labels=short) == 1
    assert mean_reciprocal_rank(["a/z", "c/b"], p, tree=tree) == 1
    # both names in one order
    alike = ClassTree.from_paths(["a/b", "c/z"])
    assert mean_reciprocal_rank(short, p, tree=alike) == 1


@pytest.mark.parametrize("decision", ["accuracy", "taxo", "parent", "matrix"])
def test_reject_curves_by_their_definition(decision):
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(4, 0.5), size=60)
    y = rng.choice(TREE.classes_, size=60)
    if decision == "matrix":
        decision = rng.uniform(size=(4, 4))
    kinds = {"decision": decision, "tree": TREE, "labels": TREE.classes_}
    curve = reject_curve(y, p, **kinds)
    assert curve.answered[0] == curve.costs[0] == 0
    assert curve.answered[-1] == 1
    everything = decide(p, decision, classes=TREE.classes_, tree=TREE)
    scores = {"accuracy": lambda a, b: 1 - accuracy_score(a, b)}
    scores["taxo"] = lambda a, b: taxo_loss(a, b, tree=TREE)
    scores["parent"] = lambda a, b: 1 - parent_accuracy_score(a, b, tree=TREE)
    for share, cost, threshold in list(zip(*curve, strict=True))[1::7]:
        kept = decide(
            p, decision, classes=TREE.classes_, tree=TREE, reject=max(threshold, 0)
        )
        answered = np.array([label is not None for label in kept])
        assert np.array_equal(kept[answered], everything[answered])
        assert answered.mean() == pytest.approx(share)
        if isinstance(decision, str):
            expected = scores[decision](y[answered], everything[answered])
            assert cost == pytest.approx(expected * share)
    # one row at a time, and the trapezoids below
    areas = np.diff(curve.answered) * (curve.costs[1:] + curve.costs[:-1]) / 2
    assert reject_curve_area(y, p, **kinds) == pytest.approx(areas.sum())


def test_weights_are_rows_again():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(4), size=20)
    y = rng.choice(TREE.classes_, size=20)
    w = rng.integers(0, 4, size=20)
    again = np.repeat(np.arange(20), w)
    for score in (reject_curve_area, mean_reciprocal_rank):
        weighted = score(y, p, tree=TREE, sample_weight=w)
        assert weighted == pytest.approx(score(y[again], p[again], tree=TREE))


def test_rows_as_sure_as_each_other_are_answered_together():
    curve = reject_curve(["a", "b", "b"], [[0.8, 0.2]] * 2 + [[0.1, 0.9]])
    np.testing.assert_allclose(curve.answered, [0, 1 / 3, 1])
    np.testing.assert_allclose(curve.costs, [0, 0, 1 / 3])
    np.testing.assert_allclose(curve.thresholds[1:], [0.1, 0.2])


def blobs(n_samples=60):
    rng = np.random.default_rng(3)
    y = rng.choice(["cat", "dog", "oak", "rock"], size=n_samples)
    centres = {"cat": (0, 0), "dog": (1, 0), "oak": (0, 2), "rock": (4, 4)}
    return rng.normal([centres[label] for label in y]), y


def true_log_loss(y, p, classes):
    """Return scikit-learn's loss, with columns of zeros for unknown classes."""
    missing = sorted(set(y) - set(classes))
    whole = np.hstack([p, np.zeros((len(y), len(missing)))])
    names = np.array([*classes, *missing])
    order = np.argsort(names)
    likely = np.clip(whole[:, order], np.finfo(float).eps, None)
    numbers = np.searchsorted(names[order], y)
    return -np.mean(np.log(likely[np.arange(len(y)), numbers]))


def test_leaves_without_rows_have_a_likelihood_too():
    # scikit-learn's scorer does not know the classes of the model
    X, y = blobs()
    X, y = X[y != "oak"], y[y != "oak"]
    model = OutputKernelClassifier("linear", Tree(TREE), alpha=0.1, loss="softmax")
    scorer = ClassTreeScorer(TREE, "neg_log_loss")
    search = GridSearchCV(model, {"alpha": [100.0, 0.1]}, scoring=scorer).fit(X, y)
    assert search.best_params_ == {"alpha": 0.1}
    fitted = model.fit(X, y)
    assert "oak" in fitted.classes_
    expected = -log_loss(y, fitted.predict_proba(X), labels=fitted.classes_)
    assert_allclose(scorer(fitted, X, y), expected)
    # of the inner node that cats and dogs are below
    inner = np.where(np.isin(y, ["cat", "dog"]), "animal", y)
    assert scorer(fitted, X, inner) > scorer(fitted, X, y)


def test_one_scorer_has_every_column_of_the_table():
    X, y = blobs()
    model = LogisticRegression().fit(X, y)
    # of three of the classes, and with columns in the order of the short names
    few = LogisticRegression().fit(X[y != "oak"], y[y != "oak"])
    for classifier in (model, few):
        scores = ClassTreeScorer(TREE)(classifier, X, y)
        p, classes = classifier.predict_proba(X), classifier.classes_
        found = classifier.predict(X)
        taxo = decide(p, "taxo", classes=classes, tree=TREE)
        parent = decide(p, "parent", classes=classes, tree=TREE)
        assert scores == {
            "accuracy": pytest.approx(np.mean(found == y)),
            "mean_reciprocal_rank": mean_reciprocal_rank(y, p, labels=classes),
            "neg_taxo_loss": -taxo_loss(y, taxo, tree=TREE),
            "neg_taxo_loss_0_1": -taxo_loss(y, found, tree=TREE),
            "parent_accuracy": parent_accuracy_score(y, parent, tree=TREE),
            "parent_accuracy_0_1": parent_accuracy_score(y, found, tree=TREE),
            "hierarchical_precision": hierarchical_precision_score(y, found, tree=TREE),
            "hierarchical_recall": hierarchical_recall_score(y, found, tree=TREE),
            "hierarchical_f1": hierarchical_f1_score(y, found, tree=TREE),
            "neg_reject_curve_area": -reject_curve_area(y, p, labels=classes),
            "neg_log_loss": pytest.approx(-true_log_loss(y, p, classes)),
        }
    scorer = pickle.loads(pickle.dumps(ClassTreeScorer(TREE, "neg_taxo_loss")))
    assert scorer(model, X, y) == ClassTreeScorer(TREE)(model, X, y)["neg_taxo_loss"]
    svm = LinearSVC().fit(X, y)  # which has no probabilities
    assert ClassTreeScorer(TREE, "parent_accuracy_0_1")(svm, X, y) > 0.5


def test_scorers_are_scikit_learns():
    X, y = blobs()
    scores = cross_validate(LogisticRegression(), X, y, scoring=ClassTreeScorer(TREE))
    assert len(scores["test_neg_taxo_loss"]) == 5
    search = GridSearchCV(
        LogisticRegression(), {"C": [0.1, 1]}, scoring=ClassTreeScorer(TREE, "accuracy")
    )
    assert search.fit(X, y).best_score_ > 0.5


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: taxo_loss(["cat"], ["cow"], tree=TREE), "'cow' is not in the tree"),
        (lambda: taxo_loss(["cat"], ["cat", "dog"], tree=TREE), "inconsistent numbers"),
        (lambda: taxo_loss([], [], tree=TREE), "no labels"),
        (
            lambda: taxo_loss(["cat", "dog"], np.array(["cat", None]), tree=TREE),
            r"rows without an answer \(None\), as predict\(reject",
        ),
        (
            # as empty cells of a table are read
            lambda: taxo_loss(
                ["cat", "dog"], np.array(["cat", np.nan], object), tree=TREE
            ),
            r"rows without an answer \(nan\), as predict\(reject",
        ),
        (
            lambda: taxo_loss(np.array(["cat", None]), ["cat", "dog"], tree=TREE),
            r"y_true has no label in row 1 \(None\): leave such rows out",
        ),
        (
            lambda: level_accuracy_score(["cat"], ["cat"], tree=TREE, level=3),
            "levels of this tree are 0",
        ),
        (
            lambda: mean_reciprocal_rank(["a"], [[0.1, 0.9]]),
            "2 columns for 1 classes.*labels",
        ),
        (
            lambda: reject_curve(["cat"], np.eye(1, 4), tree=TREE, decision=np.eye(3)),
            r"shape \(3, 3\)",
        ),
        (lambda: ClassTreeScorer(TREE, "f1"), "metric must be one of.*'f1'"),
    ],
)
def test_errors_name_the_culprit(make, text):
    with pytest.raises(ValueError, match=text):
        make()
