"""Pairs of rows, checked as scikit-learn checks them, and what it computes of them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import (
    check_pairwise_arrays,
    euclidean_distances,
    linear_kernel,
)

from okl.kernels import _pairs
from okl.kernels._pairs import (
    city_block_distances,
    distances,
    inner_products,
    pairs,
    squared_distances,
)

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
ROWS = {
    "one set": (X, X),
    "two sets": (X, Z),
    "sparse": (sparse.csr_array(X), sparse.csr_array(Z)),
    "single precision": (X.astype(np.float32), Z),
    "large": (np.full((2, 3), 1e308), Z),
}


@pytest.mark.parametrize("rows", ROWS)
def test_products_are_those_of_scikit_learn(rows):
    with np.errstate(over="ignore"):
        given = check_pairwise_arrays(*ROWS[rows], dtype=np.float64)
        np.testing.assert_array_equal(
            inner_products(*ROWS[rows]), linear_kernel(*given)
        )


@pytest.mark.parametrize("rows", [*ROWS][:-1])
def test_distances_are_those_of_scikit_learn(rows):
    given = check_pairwise_arrays(*ROWS[rows], dtype=np.float64)
    np.testing.assert_array_equal(
        squared_distances(*ROWS[rows]), euclidean_distances(*given, squared=True)
    )


def test_distances_beyond_the_range_of_numbers_are_infinite():
    # where scikit-learn's are no numbers
    assert np.all(squared_distances(*ROWS["large"]) == np.inf)
    assert np.all(squared_distances(ROWS["large"][0], ROWS["large"][0]) == 0)


@pytest.mark.parametrize("rows", [*ROWS][:-1])
def test_other_distances_are_those_of_single_pairs(rows):
    given = check_pairwise_arrays(*ROWS[rows], dtype=np.float64)
    one, other = (A.toarray() if sparse.issparse(A) else A for A in given)
    differences = one[:, None] - other
    expected = np.sqrt(np.sum(differences**2, axis=-1))
    np.testing.assert_allclose(distances(*ROWS[rows]), expected, rtol=1e-14)
    expected = np.sum(np.abs(differences), axis=-1)
    np.testing.assert_allclose(city_block_distances(*ROWS[rows]), expected, rtol=1e-14)


@pytest.mark.parametrize(
    "bad",
    [
        (np.array([[np.nan, 1.0]]), None),
        (np.ones((2, 2)), np.array([[np.inf, -np.inf]])),
        (np.ones((2, 2)), np.ones((2, 3))),
        (np.ones(2), None),
        (np.ones((0, 2)), None),
        (np.ones((2, 2)), np.ones((2, 0))),
    ],
)
def test_what_is_wrong_is_said_by_scikit_learn(bad):
    with pytest.raises(ValueError) as expected:  # noqa: PT011
        check_pairwise_arrays(*bad, dtype=np.float64)
    with pytest.raises(ValueError) as found:  # noqa: PT011
        pairs(*bad)
    assert str(found.value) == str(expected.value)


def test_rows_that_are_one_set_stay_one():
    for given in (X, X.astype(np.float32)):
        for Z in (None, given):
            first, second = pairs(given, Z)
            assert first is second


@pytest.mark.parametrize("function", [distances, city_block_distances])
def test_distances_are_taken_of_rows_that_lie_side_by_side(function, monkeypatch):
    given, real = [], _pairs.cdist

    def cdist(first, second, *metric):
        given.extend([first, second])
        return real(first, second, *metric)

    monkeypatch.setattr(_pairs, "cdist", cdist)
    by_columns = np.asfortranarray(X), np.asfortranarray(Z)
    found = function(*by_columns)
    np.testing.assert_array_equal(found, function(X, Z))
    np.testing.assert_array_equal(function(by_columns[0], by_columns[0])[0, 0], 0)
    assert all(rows.flags.c_contiguous for rows in given)


@pytest.mark.parametrize("same", [False, True], ids=["two sets", "one set"])
@pytest.mark.parametrize("apart", [1.0, 1e-3, 1e3], ids=["", "near", "far"])
def test_distances_of_many_columns_have_full_accuracy(apart, same, monkeypatch):
    draws = np.random.default_rng(0)
    rows = draws.normal(size=(5, 150))[draws.integers(0, 5, 40)]
    rows += apart * draws.normal(size=rows.shape)
    rows[:2] = rows[2]
    rows[3] *= 1 / apart
    others = rows if same else rows[::2] + 0.0
    expected = np.sqrt(np.sum((rows[:, None] - others) ** 2, axis=-1))
    taken, real = [], _pairs.cdist

    def cdist(first, second, metric):
        taken.append(len(first) * len(second))
        return real(first, second, metric)

    monkeypatch.setattr(_pairs, "cdist", cdist)
    found = distances(rows, others)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    if same:
        np.testing.assert_array_equal(found, found.T)
    # of rows that are far from each other inner products have all digits
    assert sum(taken) < 0.6 * found.size
