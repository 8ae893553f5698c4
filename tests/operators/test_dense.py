"""Products with a stored matrix that is too large for the cache."""

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.operators import Dense


@pytest.mark.parametrize("n", [1023, 1024, 1500])
@pytest.mark.parametrize("p", [1, 3, 23, 40])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_product_by_halves(n, p, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    K = X @ X.T
    right = rng.normal(size=(n, p))
    operator = Dense(K)
    if weighted:
        roots = rng.uniform(size=n)
        operator = operator.scaled(roots)
        K = roots[:, None] * K * roots
    assert_allclose(operator @ right, K @ right, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("p", [3, 23])
def test_half_of_the_matrix_is_enough(p):
    rng = np.random.default_rng(0)
    X, right = rng.normal(size=(1500, 5)), rng.normal(size=(1500, p))
    K = X @ X.T
    half = K.copy()
    half[512:, :512] = np.nan  # below the diagonal
    assert_allclose(Dense(half) @ right, K @ right, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("n", [1024, 1300])
def test_any_array_namespace(n):
    rng = np.random.default_rng(0)
    X, right = rng.normal(size=(n, 5)), rng.normal(size=(n, 2))
    K = X @ X.T
    found = Dense(strict.asarray(K)) @ strict.asarray(right)
    assert found.__array_namespace__() is strict
    assert_allclose(np.asarray(found), K @ right, rtol=1e-10, atol=1e-9)


def test_all_rows_in_order_or_in_another():
    # all of them in order are taken together
    K = np.cov(np.random.default_rng(3).normal(size=(6, 20)))
    operator, order, other = Dense(K), np.arange(6), np.array([3, 1, 0, 5, 4, 2])
    for rows, columns in [(order, order), (other, order), (order, other)]:
        assert_allclose(operator.cross(rows, columns), K[np.ix_(rows, columns)])
    assert_allclose(operator.block(other), K[np.ix_(other, other)])
    copy = operator.block(order)
    copy += 1
    assert_allclose(operator.block(order), K)
