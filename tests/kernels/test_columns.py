"""Columns: every way to select, and what is not a selection."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from okl.kernels import (
    Average,
    Columns,
    Gaussian,
    Linear,
    PerOutput,
    Polynomial,
    number_columns,
)

rng = np.random.default_rng(9)
X = rng.normal(size=(8, 4))
Z = rng.normal(size=(5, 4))


@pytest.mark.parametrize(
    ("columns", "numbers"),
    [
        ([0, 2], [0, 2]),
        ((2, 0), [2, 0]),
        (np.array([1]), [1]),
        (3, [3]),
        (-1, [3]),
        (slice(1, 3), [1, 2]),
        (slice(None, None, 2), [0, 2]),
        ([True, False, False, True], [0, 3]),
        (np.array([False, True, True, False]), [1, 2]),
    ],
)
def test_selection(columns, numbers):
    gamma = np.arange(1.0, 1.0 + len(numbers))
    kernel = Columns(Gaussian(gamma), columns)
    expected = Gaussian(gamma)(X[:, numbers], Z[:, numbers])
    assert_allclose(kernel.resolve(X)(X, Z), expected, rtol=1e-12)
    S, T = sparse.csr_array(X), sparse.csr_array(Z)
    assert_allclose(kernel.resolve(S)(S, T), expected, rtol=1e-12)


def test_scale_is_computed_on_the_columns():
    kernel = Columns(Gaussian(), [1, 2]).resolve(X)
    assert kernel.kernel.gamma == pytest.approx(1 / (2 * X[:, [1, 2]].var()))


def test_features():
    assert_allclose(Columns(Linear(), [1, 2]).features(X), X[:, [1, 2]])
    assert Columns(Polynomial(), [1, 2]).features(X) is None


@pytest.mark.parametrize(
    "columns",
    [
        [],
        slice(4, None),
        [0.5],
        1.0,
        ["a"],
        "a",
        None,
        [[0, 1]],
        [0, [1]],
        True,
        [True, False],
        [False] * 4,
    ],
)
def test_what_is_not_a_selection(columns):
    kernel = Columns(Linear(), columns)
    with pytest.raises(ValueError, match="columns of Columns must select at least one"):
        kernel.resolve(X)


@pytest.mark.parametrize(("columns", "number"), [([0, 4], 4), (-5, -5)])
def test_a_number_of_no_column_is_named(columns, number):
    with pytest.raises(ValueError, match=f"has the number {number}, and the 4 columns"):
        Columns(Linear(), columns).resolve(X)


def test_inner_kernel_is_checked():
    with pytest.raises(TypeError, match="kernel of Columns must be an object of okl"):
        Columns("rbf", [0]).resolve(X)
    with pytest.raises(ValueError, match="gamma of Gaussian must be finite and > 0"):
        Columns(Gaussian(-1), [0]).resolve(X)


def test_names_become_numbers_wherever_they_are():
    names = ["a", "b", "c", "d"]
    given = 2 * Columns(Linear(), ["c", "a"]) + Average(
        [Columns(Gaussian(0.5), "d"), Columns(Linear(), slice(0, 2)), Gaussian(0.1)]
    )
    expected = 2 * Columns(Linear(), [2, 0]) + Average(
        [Columns(Gaussian(0.5), [3]), Columns(Linear(), slice(0, 2)), Gaussian(0.1)]
    )
    found = number_columns(given, names)
    assert repr(found) == repr(expected)
    assert_allclose(found.resolve(X)(X, Z), expected(X, Z))
    assert given.left.right.columns == ["c", "a"]
    per_output = PerOutput([Columns(Linear(), np.array(["b"])), Linear()])
    assert number_columns(per_output, names).kernels[0].columns == [1]


def test_inside_of_columns_names_are_those_of_what_was_selected():
    nested = Columns(Columns(Linear(), ["d"]), ["b", "d"])
    found = number_columns(nested, np.array(["a", "b", "c", "d"], dtype=object))
    assert_allclose(found(X, Z), Linear()(X[:, [3]], Z[:, [3]]))
    with pytest.raises(ValueError, match="columns of Columns has 'a', which"):
        number_columns(Columns(Columns(Linear(), ["a"]), ["b"]), ["a", "b"])


def test_names_that_are_not_there():
    with pytest.raises(ValueError, match=r"has 'age', .* of X: 'a', 'b'."):
        number_columns(Columns(Linear(), ["a", "age"]), ["a", "b"])
    with pytest.raises(ValueError, match="but X has no names: fit an"):
        Columns(Linear(), "age").resolve(X)
