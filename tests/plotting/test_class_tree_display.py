"""The picture of a tree: every node once, no names over each other."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from tests.trees.random_trees import random_tree

from okl import ClassTree, OutputKernelClassifier
from okl.plotting import ClassTreeDisplay
from okl.structures import Identity, Tree

TREE = ClassTree.from_paths(
    ["animal/dog/poodle", "animal/dog/boxer", "animal/cat", "b"]
)


@pytest.mark.parametrize("n_nodes", [2, 12, 130])
def test_names_do_not_overlap(n_nodes):
    tree = random_tree(np.random.default_rng(n_nodes), n_nodes)
    display = ClassTreeDisplay(tree, values=np.arange(n_nodes)).plot()
    display.figure_.canvas.draw()
    assert set(display.texts_) == set(tree.names.tolist())
    boxes = [text.get_window_extent() for text in display.texts_.values()]
    sides = np.array([(box.x0, box.y0, box.x1, box.y1) for box in boxes])
    low, high = sides[:, None, :2], sides[None, :, 2:]
    overlap = np.all((low < high) & (low.swapaxes(0, 1) < high.swapaxes(0, 1)), axis=2)
    assert overlap.sum() == n_nodes  # each with itself
    inside = display.ax_.get_window_extent()
    assert sides[:, 1].min() >= inside.y0
    assert sides[:, 3].max() <= inside.y1


def test_children_are_right_of_their_parents_which_are_in_their_middle():
    display = ClassTreeDisplay(TREE).plot()
    at = display.positions_
    assert display.graph_.number_of_edges() == TREE.n_nodes - 1
    for parent, child in display.graph_.edges:
        assert at[parent][0] < at[child][0]
    ends = at["animal/dog/boxer"][1], at["animal/dog/poodle"][1]
    assert at["animal/dog"][1] == pytest.approx(np.mean(ends))
    assert display.points_ is None


def test_a_level_shows_how_many_classes_are_below():
    display = ClassTreeDisplay(TREE).plot(level=1)
    texts = {name: text.get_text() for name, text in display.texts_.items()}
    assert texts == {"/": "/", "animal": "animal (3)", "b": "b"}


def test_values_are_colours_of_the_nodes_that_have_one():
    values = np.arange(TREE.n_nodes, dtype=float)
    values[0] = np.nan
    ax = plt.figure().gca()
    display = ClassTreeDisplay(TREE, values=values, value_name="accuracy").plot(ax)
    assert display.ax_ is ax
    assert sorted(display.points_.get_array()) == list(range(1, TREE.n_nodes))
    assert "accuracy" in [axes.get_ylabel() for axes in display.figure_.axes]


def test_the_tree_of_an_estimator_has_the_variances_of_its_nodes():
    structure = Tree(TREE, [0.5, 2.0, 3.0], tied="level")
    model = OutputKernelClassifier("linear", structure, loss="softmax")
    model.fit(np.arange(12.0).reshape(-1, 1), TREE.classes_.tolist() * 3)
    display = ClassTreeDisplay.from_estimator(model, level=2)
    shown = TREE.depths[TREE.depths <= 2]
    expected = np.array([0.0, 0.5, 2.0, 3.0])[shown]
    np.testing.assert_array_equal(display.points_.get_array(), expected)


def test_errors_say_what_is_wrong(fitted):
    with pytest.raises(ValueError, match=r"shape \(2,\); the tree has 7 nodes"):
        ClassTreeDisplay(TREE, values=[1, 2])
    with pytest.raises(ValueError, match=r"0 \(the root\) to 3; got 4"):
        ClassTreeDisplay(TREE).plot(level=4)
    with pytest.raises(ValueError, match=r"Identity\(\) has no tree of classes"):
        ClassTreeDisplay.from_estimator(fitted(structure_=Identity()))
