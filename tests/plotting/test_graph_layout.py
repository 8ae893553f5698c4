import networkx as nx
import numpy as np
import pytest

from okl.plotting._component_layout import component_layout, majorize
from okl.plotting._layout import layout_components, pack, push_apart


def overlaps(low, high):
    """Whether each pair of distinct rectangles overlaps, by more than rounding."""
    meet = (low[:, np.newaxis] < high - 1e-6) & (low + 1e-6 < high[:, np.newaxis])
    return meet.all(axis=2) & ~np.eye(len(low), dtype=bool)


def stress(positions, distances):
    pairs = np.triu_indices(len(positions), k=1)
    lengths = np.linalg.norm(positions[:, np.newaxis] - positions, axis=2)
    return ((lengths[pairs] / distances[pairs] - 1) ** 2).sum()


@pytest.mark.parametrize("spread", [0.0, 1.0, 50.0])
def test_pushed_boxes_do_not_overlap(spread):
    rng = np.random.RandomState(0)
    boxes = rng.uniform(1, 20, size=(40, 2))
    centers = push_apart(spread * rng.randn(40, 2), boxes)
    assert not overlaps(centers - boxes / 2, centers + boxes / 2).any()


def test_boxes_already_apart_stay():
    centers = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 2.0]])
    np.testing.assert_array_equal(push_apart(centers, np.full((3, 2), 2.0)), centers)


@pytest.mark.parametrize("n_rectangles", [100, 1000])
def test_packed_rectangles_do_not_overlap_and_waste_little(n_rectangles):
    rectangles = np.random.RandomState(0).uniform(1, 5, size=(n_rectangles, 2))
    corners = pack(rectangles, aspect=4 / 3)
    assert not overlaps(corners, corners + rectangles).any()
    assert (corners >= 0).all()
    width, height = (corners + rectangles).max(axis=0)
    assert 1 < width / height < 5 / 3
    assert width * height < 1.5 * rectangles.prod(axis=1).sum()


def test_components_lie_in_rectangles_of_their_own():
    graph = nx.disjoint_union_all(
        [nx.path_graph(7), nx.complete_graph(6), nx.star_graph(5), nx.empty_graph(4)]
    )
    sizes = {node: np.array([10.0 + node, 5.0]) for node in graph}
    positions, extent = layout_components(graph, sizes, gap=2, aspect=1, seed=0)
    low, high = [], []
    for nodes in nx.connected_components(graph):
        centers = np.array([positions[node] for node in nodes])
        half = np.array([sizes[node] for node in nodes]) / 2
        low.append((centers - half).min(axis=0))
        high.append((centers + half).max(axis=0))
    assert not overlaps(np.array(low), np.array(high)).any()
    assert np.min(low) >= 0
    assert (np.max(high, axis=0) <= extent).all()


def test_chain_unfolds():
    positions = component_layout(nx.path_graph(30), list(range(30)), seed=0)
    distances = np.abs(np.subtract.outer(np.arange(30), np.arange(30)))
    assert stress(positions, distances) < 1e-3


def test_majorization_decreases_the_stress():
    graph = nx.random_labeled_tree(20, seed=0)
    distances = np.asarray(nx.floyd_warshall_numpy(graph))
    start = np.random.RandomState(0).randn(20, 2)
    assert stress(majorize(start, distances), distances) < 0.1 * stress(
        start, distances
    )


@pytest.mark.parametrize("n_nodes", [5, 7])
def test_no_edge_of_a_clique_runs_behind_a_third_node(n_nodes):
    positions = component_layout(
        nx.complete_graph(n_nodes), list(range(n_nodes)), seed=0
    )
    for i, j, k in np.ndindex(n_nodes, n_nodes, n_nodes):
        if len({i, j, k}) == 3:
            sides = positions[j] - positions[i], positions[k] - positions[i]
            assert abs(np.linalg.det(sides)) > 0.1  # not on a line
