"""`Graph` from an adjacency matrix, and from the Laplacian."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.csgraph import laplacian
from sklearn.base import clone

from okl import OutputKernelRegressor
from okl.structures import Graph
from tests.instances import ring
from tests.samples import draw


def test_a_graph_without_edges_is_diagonal_and_stays_as_it_was_given():
    given = np.diag([2.0, 3.0])
    known = Graph(given, 0.5).known(np.zeros((1, 2)))
    assert not known.couples
    assert_array_equal(known.matrix(), 2 * np.eye(2))
    assert_array_equal(given, np.diag([2.0, 3.0]))


def test_graph_from_a_sparse_matrix_and_its_diagonal():
    dense = Graph(ring(5), 0.5).matrix(5)
    assert_allclose(Graph(sp.csr_matrix(ring(5)), 0.5).matrix(5), dense)
    assert_allclose(Graph(sp.coo_array(ring(5)), 0.5).matrix(5), dense)
    assert_allclose(Graph(ring(5) + 3 * np.eye(5), 0.5).matrix(5), dense, rtol=1e-12)
    assert_allclose(Graph(ring(5).astype(int).tolist(), 1).matrix(5).sum(axis=1), 1)


def test_graph_norm_counts_each_edge_once():
    A, gamma = ring(4), 0.7
    f = np.random.default_rng(0).normal(size=4)
    expected = gamma * np.sum(f**2) + sum(
        A[s, t] * (f[s] - f[t]) ** 2 for t in range(4) for s in range(t)
    )
    found = f @ np.linalg.solve(Graph(A, gamma).matrix(4), f)
    assert_allclose(found, expected, rtol=1e-12)


weights = npst.arrays(
    float,
    st.integers(1, 6).map(lambda m: (m, m)),
    elements=st.floats(0, 1e3).map(lambda w: w if w > 1e-6 else 0.0),
)


@given(weights, st.floats(1e-3, 1e3))
def test_the_adjacency_matrix_comes_back(A, gamma):
    A = np.triu(A, 1) + np.triu(A, 1).T
    structure = Graph.from_laplacian(laplacian(A), gamma)
    assert_array_equal(structure.adjacency, A)
    assert structure.gamma == gamma
    structure.validate(len(A))
    expected = Graph(A, gamma).matrix(len(A))
    assert_array_equal(structure.matrix(len(A)), expected)


def test_it_is_a_graph_like_any_other():
    delta = laplacian(ring(4))
    structure = Graph.from_laplacian(delta, gamma=0.5)
    assert set(structure.get_params()) == {"adjacency", "gamma"}
    copy = clone(structure).set_params(gamma=2.0)
    assert_array_equal(copy.matrix(4), Graph(ring(4), 2.0).matrix(4))
    for given_as in (sp.csr_matrix(delta), sp.coo_array(delta), delta.tolist()):
        assert_array_equal(Graph.from_laplacian(given_as).adjacency, ring(4))
    X, Y, _ = draw(10, 4)
    model = OutputKernelRegressor(structure=structure, normalize_y=False).fit(X, Y)
    expected = np.linalg.inv(delta + 0.5 * np.eye(4))
    assert_allclose(model.output_kernel_, expected, atol=1e-13)


def test_rounding_in_a_laplacian_is_no_error():
    # as a Laplacian comes out of a product: incidence' weights incidence
    rng = np.random.default_rng(0)
    incidence = np.zeros((6, 4))
    for edge, (i, j) in enumerate([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]):
        incidence[edge, [i, j]] = [1, -1]
    rotated = np.linalg.qr(rng.normal(size=(6, 6)))[0] @ incidence
    delta = rotated.T @ rotated
    delta[0, 1] *= 1 + 1e-14  # not exactly symmetric
    structure = Graph.from_laplacian(delta)
    structure.validate(4)
    assert_allclose(structure.adjacency, 1 - np.eye(4), atol=1e-13)
    nearly = laplacian(ring(4))
    assert nearly[0, 2] == 0
    nearly[0, 2] = nearly[2, 0] = 1e-17  # a missing edge, rounded to the wrong side
    assert_array_equal(Graph.from_laplacian(nearly).adjacency, ring(4))
    empty = Graph.from_laplacian(np.zeros((3, 3)))
    assert_array_equal(empty.matrix(3), np.eye(3))


D = laplacian(ring(3))


def plus(matrix, index, value):
    matrix = matrix.copy()
    matrix[index] += value
    return matrix


SIGNED = laplacian(np.array([[0, -0.5, 2], [-0.5, 0, 2], [2, 2, 0.0]]))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((3, 2)), r"one column per output; got an array of shape \(3, 2\)"),
        (np.ones(3), r"got an array of shape \(3,\)"),
        (np.empty((0, 0)), r"got an array of shape \(0, 0\)"),
        (plus(D, (0, 1), np.nan), "NaN or infinite entries; set missing edges to 0"),
        (plus(D, (0, 1), np.inf), "NaN or infinite"),
        (plus(D, (0, 1), 0.1), r"not symmetric; pass \(Laplacian \+ Laplacian.T\) / 2"),
        (plus(D, (1, 1), 0.25), r"row 1 sums to 0\.25\. Pass Graph\(A\) for an adj"),
        (ring(3), r"sum to zero; row 2 sums to .*Pass Graph\(A\)"),
        (laplacian(ring(3), normed=True), r"normalised .* Fixed\(inv\(N \+ gamma"),
        (-D, "the largest such entry is 1.2, an edge of negative weight"),
        (SIGNED, "the largest such entry is 0.5.*Drop such edges"),
    ],
)
def test_what_is_no_laplacian(matrix, message):
    with pytest.raises(ValueError, match=message):
        Graph.from_laplacian(matrix)
