"""Trees of classes: names, levels, sums, and errors that name the node."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from okl import ClassTree
from tests.covering import examples
from tests.trees.random_trees import random_parents

PATHS = ["animal/dog/poodle", "animal/dog/boxer", "animal/cat", "plant/oak", "rock"]


def phi(tree):
    """Return Phi_L, entry by entry."""
    indicators = np.zeros((tree.n_classes, tree.n_nodes))
    for row, leaf in enumerate(tree.leaves):
        node = leaf
        while node >= 0:
            indicators[row, node] = 1
            node = tree.parents[node]
    return indicators


def test_paths_are_names_and_own_names_where_unique():
    tree = ClassTree.from_paths([*PATHS, *PATHS, "animal"])
    assert tree.classes_.tolist() == sorted(PATHS)
    assert tree.n_nodes == 9
    assert tree.nodes(0).tolist() == ["/"]
    assert tree.nodes(1).tolist() == ["animal", "plant", "rock"]
    assert tree.nodes(2).tolist() == ["animal/cat", "animal/dog", "plant/oak", "rock"]
    assert tree.nodes(3).tolist() == tree.classes_.tolist()
    assert tree.class_numbers(["boxer", "rock", "animal/dog/poodle"]).tolist() == [
        1,
        4,
        2,
    ]
    assert repr(tree) == "ClassTree(5 classes, 9 nodes, depth 3)"


def test_tables_are_paths():
    rows = [[*path.split("/"), None, None][:3] for path in PATHS]
    tree = ClassTree.from_paths(rows)
    assert tree.classes_.tolist() == sorted(PATHS)
    pandas = pytest.importorskip("pandas")
    frame = ClassTree.from_paths(pandas.DataFrame(rows))
    assert np.array_equal(frame.names, tree.names)
    array = np.array([["a", "b"], ["a", "c"]])
    assert ClassTree.from_paths(array, "-").classes_.tolist() == ["a-b", "a-c"]


def test_what_is_missing_in_a_table_of_pandas():
    pandas = pytest.importorskip("pandas")
    rows = {"a": ["x", "x", "y"], "b": ["u", "v", None]}
    for dtype in (object, "string"):
        tree = ClassTree.from_paths(pandas.DataFrame(rows, dtype=dtype))
        assert tree.classes_.tolist() == ["x/u", "x/v", "y"]
    # beside a missing one an integer is a float, or not
    rows = {"a": [1, 1, 2], "b": [1, 2, None]}
    for dtype in (None, "Int64"):
        tree = ClassTree.from_paths(pandas.DataFrame(rows, dtype=dtype))
        assert tree.classes_.tolist() == ["1/1", "1/2", "2"]
    edges = pandas.Series([None, 0, 0, 1], index=[0, 1, 2, 3])
    assert ClassTree.from_dict(edges.to_dict()).classes_.tolist() == [2, 3]
    with pytest.raises(ValueError, match="child of 'a' has no name"):
        ClassTree.from_dict({"b": "a", np.nan: "a"})


def test_one_tree_made_in_four_ways():
    networkx = pytest.importorskip("networkx")
    parents = [2, 2, -1, 0, 0]
    names = ["dogs", "cat", "all", "poodle", "boxer"]
    edges = {"dogs": "all", "cat": "all", "poodle": "dogs", "boxer": "dogs"}
    trees = [
        ClassTree.from_parents(parents, names, classes=["cat", "boxer", "poodle"]),
        ClassTree.from_dict(edges),
        ClassTree.from_dict({"all": None, **edges}),
        ClassTree.from_networkx(networkx.DiGraph([(p, c) for c, p in edges.items()])),
    ]
    for tree in trees:
        assert tree.names.tolist() == ["all", "cat", "dogs", "boxer", "poodle"]
        assert tree.parents.tolist() == [-1, 0, 0, 2, 2]
        assert tree.classes_.tolist() == ["boxer", "cat", "poodle"]
        assert tree.class_numbers(["dogs/boxer"]).tolist() == [0]
    again = ClassTree.from_networkx(trees[0].to_networkx())
    assert np.array_equal(again.names, trees[0].names)
    assert np.array_equal(again.parents, trees[0].parents)


def test_nodes_without_names_are_called_by_their_numbers():
    tree = ClassTree.from_parents([-1, 0, 0, 1, 1, 1])
    assert tree.classes_.tolist() == [2, 3, 4, 5]
    assert tree.class_numbers(np.array([5, 2])).tolist() == [3, 0]


def test_a_tree_can_be_called_as_labels_are():
    tree = ClassTree.from_paths(["a/z", "b/y", "b/x"])
    short = tree.called_as(["x", "z", "z"])
    assert short.classes_.tolist() == ["x", "y", "z"]
    assert short.class_numbers(["a/z", "y"]).tolist() == [2, 1]
    assert tree.called_as(["b/x", "a/z"]) is tree
    assert tree.called_as(["b/x", "z"]) is tree
    assert short.called_as(["b/x"]).classes_.tolist() == tree.classes_.tolist()
    twice = ClassTree.from_paths(["a/z", "b/z", "b/x"])
    assert twice.called_as(["x"]) is twice


@examples(25)
@given(seed=st.integers(0, 2**31), n_nodes=st.integers(2, 40))
def test_sums_are_products_with_phi(seed, n_nodes):
    rng = np.random.default_rng(seed)
    tree = ClassTree.from_parents(random_parents(rng, n_nodes))
    assert np.all(np.diff(tree.parents) >= 0)
    assert tree.classes_.tolist() == sorted(tree.classes_)
    expected = phi(tree)
    rows = rng.normal(size=(3, tree.n_classes))
    values = rng.normal(size=(3, tree.n_nodes))
    np.testing.assert_allclose(tree.below(rows), rows @ expected, atol=1e-12)
    np.testing.assert_allclose(tree.along(values), values @ expected.T, atol=1e-12)
    assert np.array_equal(tree.depths, [parent_count(tree, i) for i in range(n_nodes)])


def parent_count(tree, node):
    count = 0
    while tree.parents[node] >= 0:
        node, count = tree.parents[node], count + 1
    return count


@pytest.mark.parametrize("seed", range(3))
def test_sums_in_another_namespace(seed):
    xp = pytest.importorskip("array_api_strict")
    rng = np.random.default_rng(seed)
    tree = ClassTree.from_parents(random_parents(rng, 60))
    rows = rng.normal(size=(4, tree.n_classes))
    values = rng.normal(size=(4, tree.n_nodes))
    for found, expected in (
        (tree.below(xp.asarray(rows)), tree.below(rows)),
        (tree.along(xp.asarray(values)), tree.along(values)),
    ):
        np.testing.assert_allclose(np.asarray(found), expected, atol=1e-12)


def test_every_level_covers_all_leaves_once():
    tree = ClassTree.from_paths(PATHS)
    probabilities = np.array([[0.1, 0.2, 0.3, 0.15, 0.25]])
    for level in range(tree.depth + 1):
        at = tree.below(probabilities)[:, tree.level_numbers(level)]
        np.testing.assert_allclose(at.sum(axis=1), 1, rtol=1e-14)


def test_it_is_drawn_as_text():
    tree = ClassTree.from_paths(PATHS)
    drawing = tree.to_text(notes=[f"({i})" for i in range(tree.n_nodes)])
    lines = drawing.splitlines()
    assert lines[0] == "/ (0)"
    assert lines[1] == "|-- animal (1)"
    assert lines[-1] == "`-- rock (3)"
    assert "|   `-- dog (5)" in lines
    assert "|       `-- poodle (8)" in lines
    assert len(lines) == tree.n_nodes


def test_it_can_be_copied_and_pickled():
    tree = ClassTree.from_paths(PATHS)
    for again in (copy.deepcopy(tree), pickle.loads(pickle.dumps(tree))):
        assert np.array_equal(again.classes_, tree.classes_)
        assert again.below(np.eye(5)).shape == (5, 9)


def test_deep_trees_are_no_recursion():
    chain = ClassTree.from_parents(np.arange(-1, 2999))
    assert chain.depth == 2999
    assert chain.below(np.ones((1, 1))).sum() == 3000
    assert len(chain.to_text().splitlines()) == 3000


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: ClassTree.from_parents([-1, 0, -1, 2]),
            "2 nodes have no parent: 0, 2",
        ),
        (lambda: ClassTree.from_parents([1, 0]), "no root.* below "),
        (
            lambda: ClassTree.from_parents([-1, 0, 3, 4, 2]),
            r"cycle, \d is below \d is below",
        ),
        (lambda: ClassTree.from_dict({"a": "b", "c": "d"}), "parent: 'b', 'd'"),
        (
            lambda: ClassTree.from_dict({"a": "b", "x": "y", "y": "x"}),
            "'x' is below 'y' is below 'x'|'y' is below 'x' is below 'y'",
        ),
        (lambda: ClassTree.from_parents([-1, 0, 7]), "2 is an orphan: its parent is 7"),
        (
            lambda: ClassTree.from_dict({"a": "r", "b": "r"}, classes=["a"]),
            "inner node 'b' has no leaf",
        ),
        (
            lambda: ClassTree.from_dict({"a": "r", "b": "a"}, classes=["a", "b"]),
            "class 'a' has children",
        ),
        (
            lambda: ClassTree.from_dict({"a": "r"}, classes=["a", "c"]),
            "class 'c' is not a node",
        ),
        (lambda: ClassTree.from_parents([-1, 0], ["a", "a"]), "'a' is there twice"),
        (lambda: ClassTree.from_parents([-1, 0], ["a"]), "name for each of the 2"),
        (lambda: ClassTree.from_parents([-1]), "root 0 alone"),
        (lambda: ClassTree.from_dict({}), "no nodes"),
        (lambda: ClassTree.from_paths([]), "'/' alone"),
        (lambda: ClassTree.from_paths(["a//b"]), "'a//b' has an empty name"),
        (lambda: ClassTree.from_paths([["a", None, "b"]]), "Row 0.*no name at level 2"),
        (lambda: ClassTree.from_paths([["a/b", "c"]]), "'a/b' in row 0.*separator"),
        (lambda: ClassTree.from_paths(PATHS).nodes(4), r"0 \(the root\) to 3; got 4"),
        (
            lambda: ClassTree.from_paths(PATHS).class_numbers(["dog", "rock"]),
            "'animal/dog' is an inner node",
        ),
        (
            lambda: ClassTree.from_paths(["a", "b"]).to_text(notes=["one"]),
            "a note for each of the 3 nodes, in the order of names; got 1",
        ),
        (
            lambda: ClassTree.from_paths(PATHS).class_numbers("dog"),
            "'animal/dog' is an inner node",
        ),
        (
            lambda: ClassTree.from_paths(PATHS).class_numbers(["rock", "bird"]),
            "'bird' is not in the tree",
        ),
        (
            lambda: ClassTree.from_paths(["a/x", "b/x"]).class_numbers(["x"]),
            "'x' stands for 2 nodes of the tree: 'a/x', 'b/x'",
        ),
    ],
)
def test_bad_trees_and_labels_are_named(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_bad_types_are_named():
    with pytest.raises(TypeError, match="got one text, 'a/b'"):
        ClassTree.from_paths("a/b")
    with pytest.raises(TypeError, match="path 1 is 3, of type int"):
        ClassTree.from_paths(["a", 3])
    with pytest.raises(TypeError, match="all text or all integers"):
        ClassTree.from_dict({"a": 1})
    with pytest.raises(TypeError, match="one integer for each node"):
        ClassTree.from_parents([[0.5]])


def test_graphs_are_checked():
    networkx = pytest.importorskip("networkx")
    with pytest.raises(ValueError, match="'c' has two parents, 'a' and 'b'"):
        ClassTree.from_networkx(networkx.DiGraph([("a", "c"), ("b", "c"), ("a", "b")]))
    with pytest.raises(ValueError, match=r"no directions.*DiGraph"):
        ClassTree.from_networkx(networkx.Graph([("a", "b")]))


@pytest.mark.parametrize(
    ("edges", "text"),
    [
        (
            {"animal": ["dog", "cat"]},
            r"\['dog', 'cat'\], of type list, for 'animal'.*turn the mapping around",
        ),
        (["dog", "animal"], r"\['dog', 'animal'\], of type list"),
    ],
)
def test_edges_that_are_no_mapping_from_child_to_parent_are_named(edges, text):
    with pytest.raises(TypeError, match=f"mapping from child to parent.*{text}"):
        ClassTree.from_dict(edges)
