"""What is special to softmax: the likelihood as a function of the intercept."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.losses import Softmax
from okl.losses.softmax import _Shifted


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [1.0, 250.0, 1e4], ids=["small", "near", "beyond"])
def test_the_likelihood_shifted(weighted, size):
    # in two passes where no exponential overflows, else as the loss does
    rng = np.random.default_rng(0)
    targets = np.eye(4)[rng.integers(0, 4, 9)]
    scores = size * rng.uniform(-1, 1, size=(9, 4))
    w = rng.uniform(0, 2, size=(9, 1)) if weighted else None
    shifted = _Shifted.of(targets, scores, w)
    for b in (np.zeros(4), rng.normal(size=4), 100 * rng.normal(size=4)):
        value, p = shifted.at(b)
        assert value == pytest.approx(
            Softmax().value(targets, scores + b, w), rel=1e-12
        )
        gradient = targets - p if w is None else w * (targets - p)
        expected = Softmax().negative_gradient(targets, scores + b, w)
        assert_allclose(gradient, expected, rtol=1e-12, atol=1e-14)
