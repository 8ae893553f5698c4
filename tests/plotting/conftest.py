"""Pictures without a screen, and fitted estimators without a fit."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import BaseEstimator

matplotlib.use("Agg")


class Fitted(BaseEstimator):
    """An estimator with any attributes, as fit would leave them."""

    def fit(self, X, y=None):
        raise NotImplementedError


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def fitted():
    """Make a fake fitted estimator with the given attributes."""

    def make(**attributes):
        estimator = Fitted()
        for name, value in attributes.items():
            setattr(estimator, name, value)
        return estimator

    return make


@pytest.fixture
def clustered():
    """Make the output kernel of outputs in random groups, of random scales."""

    def make(n_outputs, seed=0):
        rng = np.random.RandomState(seed)
        n_groups = max(2, n_outputs // 3)
        factor = 0.1 * rng.randn(n_outputs, n_groups)
        group = rng.randint(n_groups, size=n_outputs)
        factor[np.arange(n_outputs), group] += rng.choice([-1, 1], size=n_outputs)
        scale = rng.uniform(0.3, 3, n_outputs)
        return (factor @ factor.T + 0.3 * np.eye(n_outputs)) * np.outer(scale, scale)

    return make
