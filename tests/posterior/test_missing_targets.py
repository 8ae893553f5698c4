"""Missing targets given those observed, in their row and in others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl import OutputKernelImputer, OutputKernelRegressor
from okl.kernels import Gaussian
from okl.operators import Dense
from okl.posterior import expected_targets
from okl.problems import Inputs
from tests.samples import psd

N, M = 20, 4


def drawn(correlation, n=N, m=M, part=0.4, alpha=0.3, seed=0):
    """Draw a table: inputs, K, L and N, complete targets, and which are missing."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 1))
    K = np.exp(-0.5 * (X - X.T) ** 2)
    B = np.full((m, m), correlation) + (1 - correlation) * np.eye(m)
    rows = np.linalg.cholesky(K + alpha * np.eye(n)) @ rng.normal(size=(n, m))
    missing = rng.random((n, m)) < part
    missing[0] = False
    return X, K, B, alpha * B, rows @ np.linalg.cholesky(B).T, missing


def conditional_mean(K, L, noise, Y, missing, intercept):
    """Return it by one matrix of all targets, and least squares for the intercept."""
    n, m = Y.shape
    covariance = np.kron(K, L) + np.kron(np.eye(n), noise)
    seen, ones = ~missing.ravel(), np.kron(np.ones((n, 1)), np.eye(m))
    inside, y = covariance[np.ix_(seen, seen)], Y.ravel()[seen]
    mean = np.zeros(n * m)
    if intercept:
        W = np.linalg.solve(inside, ones[seen])
        mean = ones @ np.linalg.solve(ones[seen].T @ W, W.T @ y)
    found = mean + covariance[:, seen] @ np.linalg.solve(inside, y - mean[seen])
    return np.where(missing, found.reshape(n, m), Y)


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize("related", [False, True], ids=["one", "two"])
def test_the_mean_is_that_of_one_matrix_of_all_targets(intercept, related):
    _, K, L, noise, Y, missing = drawn(0.99)
    if related:  # signal and noise go together in other ways
        L, noise = psd(M, 1), psd(M, 2)
    operator = Inputs.of(Dense(K.copy()), fit_intercept=intercept).operator
    found = expected_targets(
        operator.spectrum,
        L,
        noise,
        np.where(missing, np.nan, Y),
        centered=intercept,
    )
    exact = conditional_mean(K, L, noise, Y, missing, intercept)
    assert_allclose(found, exact, atol=1e-4)


def test_an_output_without_noise_keeps_the_mean_of_its_targets():
    _, K, L, noise, Y, missing = drawn(0.5)
    noise[1], noise[:, 1] = 0.0, 0.0
    Y = np.where(missing, np.nan, Y)
    operator = Inputs.of(Dense(K.copy()), fit_intercept=True).operator
    found = expected_targets(operator.spectrum, L, noise, Y, centered=True)
    assert_allclose(found[missing[:, 1], 1], np.nanmean(Y[:, 1]))


def test_an_imputer_does_as_well_as_the_exact_mean_where_outputs_go_together():
    X, K, L, noise, Y, missing = drawn(0.99, n=300, m=3)
    model = OutputKernelRegressor(Gaussian(gamma=0.5), "identity", alpha=0.3)
    imputer = OutputKernelImputer(model, transform_y=None)
    filled = imputer.fit_transform(np.where(missing, np.nan, Y), X=X)
    exact = conditional_mean(K, L, noise, Y, missing, True)
    found, least = (np.mean((F - Y)[missing] ** 2) for F in (filled, exact))
    # the imputer has to estimate how outputs go together, from 100 pairs or so
    assert found < 1.05 * least
    assert np.mean(Y[missing] ** 2) > 10 * least
