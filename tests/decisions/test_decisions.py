"""Decisions: the least expected cost, against all decisions of a brute force."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from okl import ClassTree
from okl.decisions import as_cost, decide, deepest_nodes, node_probabilities
from okl.metrics import reject_curve
from tests.covering import examples
from tests.trees.random_trees import (
    ancestors,
    parent_matrix,
    random_tree,
    taxo_matrix,
)

TREE = ClassTree.from_paths(["animal/cat", "animal/dog", "plant"])
CLASSES = TREE.classes_


def cost_matrices(tree, nodes):
    return {
        "accuracy": 1 - np.eye(len(nodes)),
        "taxo": taxo_matrix(tree, nodes),
        "parent": parent_matrix(tree, nodes),
    }


@examples(25)
@given(seed=st.integers(0, 2**31), n_nodes=st.integers(3, 40), some=st.booleans())
def test_expected_costs_are_products_with_the_matrix_of_all_pairs(seed, n_nodes, some):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_nodes)
    classes = tree.classes_
    if some:  # in any order, as those of a classifier that has not seen all
        classes = rng.permutation(classes)[: rng.integers(1, len(classes) + 1)]
    nodes = tree.node_numbers(classes)
    p = rng.dirichlet(np.full(len(classes), 0.3), size=5)
    for decision, matrix in cost_matrices(tree, nodes).items():
        cost = as_cost(decision, classes, tree)
        np.testing.assert_allclose(cost.expected(p), p @ matrix, atol=1e-12)
        pairs = np.meshgrid(classes, classes, indexing="ij")
        paid = cost.of(pairs[0].ravel(), pairs[1].ravel())
        np.testing.assert_array_equal(paid.reshape(matrix.shape), matrix)
        found = decide(p, decision, classes=classes, tree=tree)
        columns = [classes.tolist().index(label) for label in found.tolist()]
        least = (p @ matrix).min(axis=1)
        np.testing.assert_allclose((p @ matrix)[range(5), columns], least, atol=1e-12)


@pytest.mark.parametrize("decision", ["accuracy", "taxo", "parent"])
def test_no_table_of_answers_costs_less(decision):
    # a feature of three values: all 4^3 functions of it, their cost summed over a
    # joint distribution
    rng = np.random.default_rng(0)
    tree = ClassTree.from_paths(["a/b/x", "a/b/y", "a/z", "w"])
    matrix = cost_matrices(tree, tree.leaves)[decision]
    joint = rng.dirichlet(np.ones(12)).reshape(3, 4)
    costs = {
        answers: sum(joint[x] @ matrix[:, answers[x]] for x in range(3))
        for answers in product(range(4), repeat=3)
    }
    conditional = joint / joint.sum(axis=1, keepdims=True)
    found = decide(conditional, decision, classes=tree.classes_, tree=tree)
    answers = tuple(tree.class_numbers(found).tolist())
    assert costs[answers] == pytest.approx(min(costs.values()), abs=1e-12)


def test_decisions_differ_where_costs_do():
    p = [[0.33, 0.31, 0.36]]
    assert decide(p, classes=CLASSES).tolist() == ["plant"]
    for decision in ("taxo", "parent"):
        found = decide(p, decision, classes=CLASSES, tree=TREE)
        assert found.tolist() == ["animal/cat"]


def test_a_parent_with_a_class_and_a_group_below_it():
    # footnote 12: only the children that are leaves count for their parent
    tree = ClassTree.from_paths(["a/leaf", "a/b/x", "a/b/y"])
    p = [[0.2, 0.35, 0.45]]
    assert tree.classes_.tolist() == ["a/b/x", "a/b/y", "a/leaf"]
    assert decide(p, "parent", classes=tree.classes_, tree=tree).tolist() == ["a/b/y"]


def test_a_cost_matrix_needs_no_tree():
    costs = np.array([[0, 1.0], [5, 0]])
    p = np.array([[0.9, 0.1], [0.8, 0.2]])
    assert decide(p, costs, classes=["no", "yes"]).tolist() == ["no", "yes"]
    assert decide(p, costs, classes=["no", "yes"], reject=0.6).tolist() == ["no", None]


def test_rows_and_columns_of_a_frame_go_by_their_names():
    # BUG: they went by their position, whatever they were called
    costs = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 2.0], [9.0, 3.0, 0.0]])
    named = pd.DataFrame(costs, CLASSES, CLASSES).iloc[[2, 0, 1], [1, 2, 0]]
    p = np.random.default_rng(0).dirichlet(np.ones(3), size=50)
    expected = CLASSES[np.argmin(p @ costs, axis=1)]
    for table in (named, pd.DataFrame(costs), pd.DataFrame(costs, CLASSES)):
        assert_array_equal(decide(p, table, classes=CLASSES), expected)
    wrong = named.rename(columns={"plant": "stone"})
    with pytest.raises(ValueError, match=r"columns of the cost matrix.*'stone'"):
        decide(p, wrong, classes=CLASSES)


def test_rejected_are_the_rows_above_the_threshold():
    p = np.random.default_rng(0).dirichlet(np.ones(3), size=50)
    found = decide(p, classes=CLASSES, reject=0.4)
    assert [label is None for label in found] == (p.max(axis=1) < 0.6).tolist()
    assert found[0] is None or found[0] in CLASSES
    assert decide(p, classes=CLASSES, reject=1).tolist() == (
        decide(p, classes=CLASSES).tolist()
    )


@examples(25)
@given(
    seed=st.integers(0, 2**31),
    n_nodes=st.integers(3, 40),
    least=st.sampled_from([0.3, 0.55, 0.9, 1.0]),
)
def test_the_deepest_node_that_is_probable_enough(seed, n_nodes, least):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_nodes)
    p = rng.dirichlet(np.full(tree.n_classes, 0.2), size=5)
    found = deepest_nodes(p, least, classes=tree.classes_, tree=tree)
    for row, name in zip(p, found.tolist(), strict=True):
        masses = {
            node: sum(
                mass
                for leaf, mass in zip(tree.leaves, row, strict=True)
                if node in ancestors(tree, leaf)
            )
            for node in range(1, n_nodes)
        }
        node = int(tree.node_numbers([name])[0])
        enough = [i for i in masses if masses[i] >= least + 1e-9]
        assert node == 0 or masses[node] >= least - 1e-9
        assert tree.depths[node] >= max((tree.depths[i] for i in enough), default=0)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda p: decide(p, "taxo", classes=CLASSES), "'taxo' needs a tree"),
        (lambda p: decide(p, "safest", classes=CLASSES), "one of 'accuracy'.*'safest'"),
        (
            lambda p: decide(p, np.eye(2), classes=CLASSES),
            r"shape \(2, 2\), and 3 classes need \(3, 3\)",
        ),
        (lambda p: decide(p, np.full((3, 3), np.nan), classes=CLASSES), "NaN"),
        (lambda p: decide(p[:, :2], classes=CLASSES), r"each of the 3.*\(1, 2\)"),
        (lambda p: decide(np.log(p), classes=CLASSES), "row 0 are from -1.1 .*to -3.3"),
        (
            lambda p: decide(np.vstack([p, 2 * p]), "taxo", classes=CLASSES, tree=TREE),
            "row 1 are from 0.667 .*up to 2. Scores",
        ),
        (
            lambda p: node_probabilities([[2, -1.5, 0.5]], classes=CLASSES, tree=TREE),
            "numbers >= 0 that add up to 1.*from -1.5 to 2",
        ),
        (
            lambda p: reject_curve(["cat"], 5 * p, tree=TREE, decision="taxo"),
            "y_proba must be .*add up to 5",
        ),
        *[
            (
                lambda p, nodes=nodes: node_probabilities(
                    p, classes=CLASSES, tree=TREE, nodes=nodes
                ),
                message,
            )
            for nodes, message in {
                frozenset(["cat"]): r"frozenset\({'cat'}\) is not in the tree",
                (("cat", "dog"), ("plant", "cat")): r"nodes must be .*shape \(2, 2\)",
                (frozenset(), "cat"): r"frozenset\(\) is not in the tree",
            }.items()
        ],
        (lambda p: decide(p, classes=CLASSES, reject=-1), "reject.*got -1"),
        (lambda p: decide(p, classes=CLASSES, reject=True), "reject.*got True"),
        (
            lambda p: decide(p, "taxo", classes=["cat", "dog", "stone"], tree=TREE),
            "'stone' is not in the tree",
        ),
        (
            lambda p: deepest_nodes(
                p, 0.5, classes=["cat", "animal/cat", "plant"], tree=TREE
            ),
            r"\['cat', 'animal/cat'\] are one leaf",
        ),
        (
            lambda p: deepest_nodes(p, 1.5, classes=CLASSES, tree=TREE),
            "min_probability.*1.5",
        ),
        (
            lambda p: as_cost(1 - np.eye(3), CLASSES).of(["rock"], ["plant"]),
            "'rock' has no row",
        ),
    ],
)
def test_errors_name_the_culprit(make, text):
    with pytest.raises(ValueError, match=text):
        make(np.full((1, 3), 1 / 3))
