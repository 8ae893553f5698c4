"""Products with a stored matrix that is too large for the cache."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.operators import Dense


@pytest.mark.parametrize("n", [1023, 1024, 1500])
@pytest.mark.parametrize("p", [1, 3, 40])
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
