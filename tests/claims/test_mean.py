"""`Mean` splits the outputs into their average and the spread around it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.kernel_ridge import KernelRidge

from okl import OutputKernelRegressor
from okl.structures import Graph, Mean
from tests.samples import draw


@pytest.mark.parametrize("m", [1, 2, 5, 15])
@pytest.mark.parametrize("gamma", [1e-3, 1.0, 50.0, 1e6])
def test_the_average_is_penalised_by_alpha_and_the_spread_by_more(m, gamma):
    _, Y, K = draw(12, m)
    alpha, average = 0.3, Y.mean(axis=1, keepdims=True)
    common = KernelRidge(alpha=alpha, kernel="precomputed").fit(K, average)
    own = KernelRidge(alpha=alpha * (1 + gamma), kernel="precomputed")
    expected = common.predict(K) + own.fit(K, Y - average).predict(K)
    model = OutputKernelRegressor(
        "precomputed", Mean(gamma), alpha=alpha, normalize_y=False
    )
    model.set_params(fit_intercept=False).fit(K, Y)
    assert_allclose(model.predict(K), expected, atol=1e-12 * np.abs(Y).max())
    assert model.certificate_.status == "optimal"


@pytest.mark.parametrize("m", [1, 2, 7])
def test_the_norm_counts_each_output_and_its_distance_from_the_average(m):
    f, gamma = np.random.default_rng(m).normal(size=m), 0.7
    expected = np.sum(f**2) + gamma * np.sum((f - f.mean()) ** 2)
    L = Mean(gamma).matrix(m)
    assert_allclose(f @ np.linalg.solve(L, f), expected, rtol=1e-12)
    # the matrix printed in the 2015 paper gives something else
    printed = np.eye(m) + gamma * np.full((m, m), 1 / m)
    assert not np.isclose(f @ printed @ f, expected)


@pytest.mark.parametrize("m", [1, 2, 7])
def test_it_is_the_complete_graph(m):
    gamma = 0.7
    complete = Graph(np.full((m, m), gamma / m), gamma=1.0)
    assert_allclose(Mean(gamma).matrix(m), complete.matrix(m), rtol=1e-13)


def test_limits_are_independent_outputs_and_one_predictor():
    X, Y, _ = draw(15, 4)
    alone = OutputKernelRegressor(structure="identity", normalize_y=False).fit(X, Y)
    small = OutputKernelRegressor(structure=Mean(1e-12), normalize_y=False).fit(X, Y)
    assert_allclose(small.predict(X), alone.predict(X), atol=1e-10)
    large = OutputKernelRegressor(structure=Mean(1e12), normalize_y=False).fit(X, Y)
    shapes = large.predict(X) - large.intercept_
    assert_allclose(shapes, np.tile(shapes[:, :1], 4), atol=1e-10)
    pooled = OutputKernelRegressor(structure="identity", normalize_y=False).fit(
        X, Y.mean(axis=1)
    )
    assert_allclose(large.predict(X).mean(axis=1), pooled.predict(X), atol=1e-10)
