import time

import matplotlib.colors
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covering import examples

from okl import OutputKernelRegressor
from okl.plotting import OutputGraphDisplay

# Correlations, strongest first: (1, 3) -0.8, (0, 2) 0.5, (0, 1) 0.3, (2, 3) -0.1.
L4 = np.array(
    [
        [1.0, 0.3, 0.5, 0.0, 0.0],
        [0.3, 1.0, 0.0, -0.8, 0.0],
        [0.5, 0.0, 1.0, -0.1, 0.0],
        [0.0, -0.8, -0.1, 1.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 1.0],
    ]
)
RANKED = [(1, 3), (0, 2), (0, 1), (2, 3)]


def edges(display):
    return [tuple(pair) for pair in display.edges_.tolist()]


def drawn_edges(display):
    """The pairs of nodes whose positions the segments join."""
    node_at = {tuple(xy): node for node, xy in display.positions_.items()}
    return [
        tuple(sorted(node_at[tuple(end)] for end in segment))
        for segment in display.lines_.get_segments()
    ]


@pytest.mark.parametrize("top_k", [1, 2, 3, 4])
def test_edges_are_the_strongest_entries(top_k):
    display = OutputGraphDisplay(L4).plot(top_k=top_k)
    assert edges(display) == RANKED[:top_k]
    assert drawn_edges(display) == RANKED[:top_k]
    np.testing.assert_allclose(display.weights_, [-0.8, 0.5, 0.3, -0.1][:top_k])


def test_edges_of_a_random_matrix_are_its_largest_entries(clustered):
    L = clustered(30)
    scale = np.sqrt(np.diag(L))
    strengths = np.abs(np.triu(L / np.outer(scale, scale), k=1))
    expected = np.unravel_index(np.argsort(-strengths, axis=None)[:17], L.shape)
    display = OutputGraphDisplay(L).plot(top_k=17)
    np.testing.assert_array_equal(display.edges_, np.column_stack(expected))
    assert sorted(drawn_edges(display)) == sorted(edges(display))


def test_zeros_are_never_edges():
    display = OutputGraphDisplay(L4).plot(top_k=100)
    assert edges(display) == RANKED
    assert edges(OutputGraphDisplay(L4).plot(threshold=0)) == RANKED


@st.composite
def sparse_kernels(draw):
    """A positive definite matrix with exact zeros, and the pairs that are not zero."""
    m = draw(st.integers(2, 8))
    pairs = [(i, j) for i in range(m) for j in range(i + 1, m)]
    entries = st.sampled_from([0.0, 0.0, 0.125, -0.5, 1.0, 2.0**-20])
    L = 10.0 * np.eye(m)
    for i, j in pairs:
        L[i, j] = L[j, i] = draw(entries)
    scale = np.array([2.0 ** draw(st.integers(-5, 5)) for _ in range(m)])
    return L * np.outer(scale, scale), {p for p in pairs if L[p] != 0}


@examples(25)
@given(
    sparse_kernels(),
    st.sampled_from(["correlation", "covariance"]),
    st.sampled_from([{"top_k": 100}, {"threshold": 0}, {"threshold": 0, "top_k": 100}]),
)
def test_the_edges_are_the_entries_that_are_not_zero(kernel, kind, options):
    L, related = kernel
    display = OutputGraphDisplay(L).plot(kind=kind, hide_singletons=False, **options)
    assert set(edges(display)) == set(drawn_edges(display)) == related
    assert set(display.texts_) == set(range(len(L)))
    assert (display.weights_ != 0).all()
    fewer = OutputGraphDisplay(L).plot(kind=kind, top_k=2)
    assert edges(fewer) == edges(display)[:2]
    plt.close("all")


@pytest.mark.parametrize("kind", ["correlation", "covariance"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_zeros_that_went_through_an_eigendecomposition(clustered, kind, dtype):
    L = np.zeros((9, 9))
    L[:4, :4], L[4:7, 4:7], L[7:, 7:] = clustered(4), 5 * clustered(3), np.eye(2)
    order = np.random.default_rng(0).permutation(9)
    L = L[np.ix_(order, order)].astype(dtype)
    values, vectors = np.linalg.eigh(L)
    factor = vectors * np.sqrt(values)
    again = factor @ factor.T
    assert np.count_nonzero(again) > np.count_nonzero(L)
    exact = OutputGraphDisplay(L).plot(kind=kind, top_k=100)
    rounded = OutputGraphDisplay(again).plot(kind=kind, top_k=100)
    assert len(exact.edges_) == 6 + 3
    assert set(edges(rounded)) == set(edges(exact))


@pytest.mark.parametrize(
    ("threshold", "n_edges"), [(0.8, 0), (0.79, 1), (0.3, 2), (0.2, 3), (0, 4)]
)
def test_threshold_is_strict_and_on_absolute_values(threshold, n_edges):
    display = OutputGraphDisplay(L4).plot(threshold=threshold)
    assert edges(display) == RANKED[:n_edges]


def test_of_equal_relations_none_is_left_out():
    """The order of the outputs would choose: a star of the first of them."""
    m = 6
    equal = np.full((m, m), 0.5) + 0.5 * np.eye(m)
    assert len(edges(OutputGraphDisplay(equal).plot())) == m * (m - 1) // 2
    equal[0, 1] = equal[1, 0] = 0.6
    assert len(edges(OutputGraphDisplay(equal).plot())) == m * (m - 1) // 2
    assert len(edges(OutputGraphDisplay(equal).plot(top_k=m))) == m
    rounded = equal + 1e-14 * np.triu(np.arange(m * m).reshape(m, m), 1)
    rounded = np.triu(rounded) + np.triu(rounded, 1).T
    assert len(edges(OutputGraphDisplay(rounded).plot())) == m * (m - 1) // 2


def test_threshold_and_top_k_together():
    display = OutputGraphDisplay(L4)
    assert edges(display.plot(threshold=0.2, top_k=2)) == RANKED[:2]
    assert edges(display.plot(threshold=0.4, top_k=3)) == RANKED[:2]


def test_default_is_an_edge_per_output(clustered):
    assert len(OutputGraphDisplay(clustered(10)).plot().edges_) == 10


def test_covariance_ranks_by_the_entries_themselves():
    scale = np.array([1.0, 1.0, 100.0, 1.0, 1.0])
    display = OutputGraphDisplay(L4 * np.outer(scale, scale))
    assert edges(display.plot(top_k=1)) == [(1, 3)]
    assert edges(display.plot(top_k=1, kind="covariance")) == [(0, 2)]
    np.testing.assert_allclose(display.weights_, [50])


def test_singletons_are_hidden_on_demand():
    display = OutputGraphDisplay(L4, output_names=list("abcde"))
    hidden = display.plot(top_k=1)
    assert sorted(text.get_text() for text in hidden.texts_.values()) == ["b", "d"]
    shown = display.plot(top_k=1, hide_singletons=False)
    assert sorted(text.get_text() for text in shown.texts_.values()) == list("abcde")
    assert sorted(shown.graph_) == [0, 1, 2, 3, 4]


def test_round_off_variance_is_not_a_relation():
    L = np.diag([1.0, 1e-17, 1.0])
    L[0, 1] = L[1, 0] = 1e-9
    L[0, 2] = L[2, 0] = 0.1
    assert edges(OutputGraphDisplay(L).plot()) == [(0, 2)]


@pytest.mark.parametrize("n_outputs", [1, 4])
def test_without_edges_all_outputs_are_shown(n_outputs):
    display = OutputGraphDisplay(np.eye(n_outputs)).plot()
    assert sorted(display.texts_) == list(range(n_outputs))
    assert len(display.lines_.get_segments()) == 0
    assert display.ax_.get_legend() is None


def test_colour_is_sign_and_width_is_strength():
    display = OutputGraphDisplay(L4).plot()
    reddish = [r > b for r, _, b, _ in display.lines_.get_colors()]
    assert reddish == [False, True, True, False]
    assert (np.diff(display.lines_.get_linewidths()) < 0).all()
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["positive, up to 0.5", "negative, down to -0.8"]


def test_legend_names_only_the_signs_present():
    display = OutputGraphDisplay(L4).plot(top_k=1)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["negative, down to -0.8"]
    handle = display.ax_.get_legend().legend_handles[0]
    np.testing.assert_allclose(
        matplotlib.colors.to_rgb(handle.get_color()),
        display.lines_.get_colors()[0][:3],
    )


def test_drawing_is_deterministic_and_depends_on_the_seed(clustered):
    L = clustered(60)
    first, again, other = (
        OutputGraphDisplay(L).plot(layout_seed=seed).positions_ for seed in (3, 3, 4)
    )
    assert list(first) == list(again)
    for node in first:
        np.testing.assert_array_equal(first[node], again[node])
    assert any((first[node] != other[node]).any() for node in first)


def test_equal_strengths_are_taken_in_order():
    L = np.full((6, 6), 0.5) + 0.5 * np.eye(6)
    display = OutputGraphDisplay(L).plot(top_k=3)
    assert edges(display) == [(0, 1), (0, 2), (0, 3)]


@pytest.mark.parametrize("n_outputs", [2, 5, 10, 101, 250])
def test_labels_do_not_collide(clustered, n_outputs):
    names = [f"output {i}" for i in range(n_outputs)]
    start = time.perf_counter()
    display = OutputGraphDisplay(clustered(n_outputs), output_names=names).plot()
    display.figure_.draw_without_rendering()
    assert time.perf_counter() - start < 10
    boxes = np.array(
        [text.get_window_extent().extents for text in display.texts_.values()]
    )
    low, high = boxes[:, :2], boxes[:, 2:]
    overlap = (low[:, np.newaxis] < high).all(axis=2) & (low < high[:, np.newaxis]).all(
        axis=2
    )
    np.testing.assert_array_equal(overlap, np.eye(len(boxes), dtype=bool))
    assert (low >= 0).all()
    assert (high <= display.figure_.bbox.size).all()


def test_labels_shrink_to_fit_small_axes(clustered):
    L = clustered(101)
    figure, ax = plt.subplots(figsize=(4, 3))
    small = OutputGraphDisplay(L).plot(ax)
    large = OutputGraphDisplay(L).plot()
    assert small.ax_ is ax
    assert small.figure_ is figure
    size = {d: next(iter(d.texts_.values())).get_fontsize() for d in (small, large)}
    assert size[small] < size[large]


def test_graph_attribute_has_weights(fitted):
    estimator = fitted(output_kernel_=L4, output_names_=list("abcde"))
    display = OutputGraphDisplay.from_estimator(estimator, top_k=2)
    assert display.output_names == list("abcde")
    assert nx.utils.graphs_equal(
        display.graph_, nx.Graph([(1, 3, {"weight": -0.8}), (0, 2, {"weight": 0.5})])
    )


@pytest.mark.parametrize("top_k", [0, -1, 2.5, "3"])
def test_bad_top_k(top_k):
    with pytest.raises(ValueError, match="top_k must be an integer >= 1"):
        OutputGraphDisplay(L4).plot(top_k=top_k)


@pytest.mark.parametrize("threshold", [-0.1, float("nan"), "0.3"])
def test_bad_threshold(threshold):
    with pytest.raises(ValueError, match=r"threshold is .*; expected a number"):
        OutputGraphDisplay(L4).plot(threshold=threshold)


def test_outputs_in_unlike_units_are_related_all_the_same():
    # beside a variance of 1e24 a covariance of one looks like rounding
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    Y = X @ rng.normal(size=(2, 3)) + 0.1 * rng.normal(size=(20, 3))
    model = OutputKernelRegressor("linear", alpha=0.1)
    alike = edges(OutputGraphDisplay.from_estimator(model.fit(X, Y)))
    unlike = model.fit(X, Y * [1e12, 1.0, 1e-12])
    assert edges(OutputGraphDisplay.from_estimator(unlike)) == alike
    assert len(alike) == 3


def test_relations_that_are_not_stable_are_no_edges(clustered):
    L = clustered(6)
    whole = OutputGraphDisplay(L).plot(top_k=5)
    stable = np.ones((6, 6), dtype=bool)
    for i, j in whole.edges_[::2]:
        stable[i, j] = stable[j, i] = False
    display = OutputGraphDisplay(L).plot(top_k=15, stable=stable)
    assert stable[tuple(display.edges_.T)].all()
    kept = {tuple(edge) for edge in whole.edges_[1::2].tolist()}
    assert kept <= {tuple(edge) for edge in display.edges_.tolist()}
    with pytest.raises(ValueError, match="stable must be an array of bool"):
        OutputGraphDisplay(L).plot(stable=stable[:2])
