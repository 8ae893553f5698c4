"""Sparse rows with means that are kept apart: they are the rows less the means."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from okl.operators.centred_rows import CentredRows

N, K = 30, 7
formats = pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
densities = pytest.mark.parametrize("density", [0.1, 1.0], ids=["sparse", "full"])


def drawn(density, kind="csr", *, means=True, roots=False, n=N):
    """Return rows, and what they are as one array."""
    rng = np.random.default_rng(0)
    X = sp.random(n, K, density=density, random_state=rng, format=kind)
    mu = rng.normal(size=K) if means else None
    r = rng.uniform(0.5, 2.0, size=n) if roots else None
    dense = X.toarray()
    if mu is not None:
        dense -= (np.ones(n) if r is None else r)[:, None] * mu
    return CentredRows(X, mu, r), dense


@densities
@pytest.mark.parametrize("means", [False, True])
@pytest.mark.parametrize("roots", [False, True])
def test_products_are_those_of_the_array(density, means, roots):
    rows, dense = drawn(density, means=means, roots=roots)
    rng = np.random.default_rng(1)
    weights, right = rng.normal(size=(K, 3)), rng.normal(size=(N, 3))
    assert_allclose(rows.forward(weights), dense @ weights, atol=1e-12)
    assert_allclose(rows.forward(weights[:, 0]), dense @ weights[:, 0], atol=1e-12)
    assert_allclose(rows.adjoint(right), dense.T @ right, atol=1e-12)
    right = np.abs(right)
    expected = (dense * dense).T @ right
    assert_allclose(rows.adjoint_of_squares(right), expected, atol=1e-12)
    assert_allclose(rows.squared_norms(), np.sum(dense * dense, axis=1), atol=1e-12)


def test_sums_of_squares_are_not_negative():
    # a column that is constant: what is left of it is rounding
    column = np.full((N, 1), 1 / 3 * 1e8)
    rows = CentredRows(sp.csr_matrix(column), column[0])
    for seed in range(20):
        right = np.random.default_rng(seed).uniform(size=(N, 4))
        assert np.all(rows.adjoint_of_squares(right) >= 0)


@formats
@densities
@pytest.mark.parametrize("means", [False, True])
def test_the_gram_matrix_is_that_of_the_array(kind, density, means, monkeypatch):
    # full rows are multiplied as dense ones, a block of rows at a time
    monkeypatch.setattr("okl.operators.centred_rows._AT_ONCE", 4 * K)
    rows, dense = drawn(density, kind, means=means)
    assert_allclose(rows.gram(), dense.T @ dense, atol=1e-12)


def test_full_rows_are_not_multiplied_as_sparse_ones(monkeypatch):
    def refuse(*args, **kwargs):
        pytest.fail("a sparse product")

    monkeypatch.setattr("okl.operators.centred_rows.safe_sparse_dot", refuse)
    rows, dense = drawn(1.0, means=False)
    assert_allclose(rows.gram(), dense.T @ dense, atol=1e-12)
    none = CentredRows(sp.csr_matrix((N, 0)))
    assert none.gram().shape == (0, 0)
