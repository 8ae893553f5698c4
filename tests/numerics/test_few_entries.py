"""Products with matrices that are mostly zeros are those with all entries."""

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.numerics.few_entries import crossed, has_few_entries
from okl.operators import Dense


def one_a_row(n, m, seed):
    rng = np.random.default_rng(seed)
    matrix = np.zeros((n, m))
    matrix[np.arange(n), rng.integers(m, size=n)] = rng.normal(size=n)
    return matrix


@pytest.mark.parametrize("n", [100, 600])
@pytest.mark.parametrize("m", [10, 40])
def test_products_are_those_of_all_entries(n, m):
    few, full = one_a_row(n, m, 0), np.random.default_rng(1).normal(size=(n, 7))
    assert has_few_entries(few) == (n == 600 and m == 40)
    assert not has_few_entries(full)
    pairs = [(few, full), (full, few), (few, one_a_row(n, m, 2)), (full, full)]
    for left, right in pairs:
        found = crossed(left, right)
        assert type(found) is np.ndarray
        assert found.flags.c_contiguous
        assert_allclose(found, left.T @ right, rtol=1e-12, atol=1e-12)


def test_products_with_a_kernel_matrix():
    few = one_a_row(600, 40, 0)
    X = np.random.default_rng(1).normal(size=(600, 3))
    K = X @ X.T
    assert_allclose(Dense(K) @ few, K @ few, rtol=1e-12, atol=1e-12)


def test_other_namespaces_multiply_all_entries():
    few = strict.asarray(one_a_row(600, 40, 0))
    assert not has_few_entries(few)
    found = crossed(few, few)
    assert found.__array_namespace__() is strict
