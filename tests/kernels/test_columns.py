"""Columns: every way to select, and what is not a selection."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from okl.kernels import Columns, Gaussian, Linear, Polynomial

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
        [4],
        -5,
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


def test_inner_kernel_is_checked():
    with pytest.raises(TypeError, match="kernel of Columns must be an object of okl"):
        Columns("rbf", [0]).resolve(X)
    with pytest.raises(ValueError, match="gamma of Gaussian must be finite and > 0"):
        Columns(Gaussian(-1), [0]).resolve(X)
