"""Standard deviations of outputs added to a fit: all covariances written out."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl import OutputKernelExtension, OutputKernelRegressor
from okl.kernels import Gaussian, Linear
from tests.samples import draw

N_OLD = 3
X, Y, _ = draw(20, N_OLD + 1, seed=3)
OLD = Y[:, :N_OLD]
ROWS = np.vstack([X[:4], np.random.default_rng(7).normal(size=(4, X.shape[1]))])
TARGETS = np.concatenate([Y[:4, N_OLD], np.random.default_rng(8).normal(size=4)])
OTHER = np.random.default_rng(9).normal(size=(5, X.shape[1]))
each_kernel = pytest.mark.parametrize("kernel", [Gaussian(0.3), Linear()], ids=repr)
each_structure = pytest.mark.parametrize("structure", ["frobenius", "low_rank"])
each_intercept = pytest.mark.parametrize("b", [False, True], ids=["no-b", "b"])


def posterior_of_kept(kernel, L, alpha, seen, both, b):
    """Return the posterior covariance of f + b of the kept outputs, rows by rows."""
    m, n = len(L), len(X)
    o = seen.ravel()
    A = (np.kron(kernel(X), L) + alpha * np.eye(n * m))[np.ix_(o, o)]
    told = np.kron(kernel(both, X), L)[:, o]
    covariance = np.kron(kernel(both), L) - told @ np.linalg.solve(A, told.T)
    if b:
        drift = np.kron(np.ones((n, 1)), np.eye(m))[o]
        new = np.kron(np.ones((len(both), 1)), np.eye(m))
        solved = np.linalg.solve(A, drift)
        left = new - told @ solved
        covariance += left @ np.linalg.inv(drift.T @ solved) @ left.T
    return covariance


@each_kernel
@each_structure
@each_intercept
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
def test_it_is_the_error_of_the_prediction_written_out(kernel, structure, b, missing):
    seen = np.random.default_rng(5).random(OLD.shape) < (0.7 if missing else 2)
    seen[:2] = True
    alpha, weights = 0.2, np.random.default_rng(4).uniform(0.5, 2.0, len(ROWS))
    model = OutputKernelRegressor(
        kernel, structure, alpha, fit_intercept=b, normalize_y=False, tol=1e-10
    ).fit(X, np.where(seen, OLD, np.nan))
    extension = OutputKernelExtension(model, alpha=0.1)
    extension.fit(ROWS, TARGETS, sample_weight=weights)
    L, direction, s = model.output_kernel_, extension.coef_[0], extension.own_variance_

    # targets are Fb + h + noise, F the functions kept, and the errors of these
    mu, nu = model.structure_.region(OLD.shape[1]).trace_and_square
    t = mu / 2 + nu * (direction @ L @ direction + s[0])
    values, V = np.linalg.eigh(L)
    kept = values > 1e-9 * values[-1]
    M = (V[:, kept] / (2 * values[kept] * (t + nu * values[kept]))) @ V[:, kept].T
    n = len(ROWS)
    for x, mean, std in zip(OTHER, *extension.predict(OTHER, True), strict=True):
        both = np.vstack([ROWS, x])
        F = model.predict(both) - model.intercept_
        signal = s * kernel(both) + F @ M @ F.T
        noise = 0.1 / weights
        # the best linear prediction without bias, its weights by Lagrange's method
        system = np.zeros((n + b, n + b))
        system[:n, :n] = signal[:n, :n] + np.diag(noise)
        system[:n, n:], system[n:, :n] = 1.0, 1.0
        w = np.linalg.solve(system, np.append(signal[:n, n], np.ones(int(b))))[:n]
        assert_allclose(w @ TARGETS, mean, atol=1e-6)
        S = posterior_of_kept(kernel, L, alpha, seen, both, b)
        D = np.kron(np.eye(n + 1), direction)
        off = np.append(-w, 1.0)
        expected = off @ (signal + D @ S @ D.T) @ off + noise @ w**2
        factor = extension.noise_variance_[0] / 0.1
        assert_allclose(std**2, factor * expected, rtol=1e-6, atol=1e-9)


@each_intercept
def test_its_size_is_that_of_errors_in_rows_left_out(b):
    # b, s and t held: with a large weight for what the others say of a row
    model = OutputKernelRegressor(Gaussian(0.3), "frobenius", 0.2, fit_intercept=b)
    model.fit(X, OLD)
    small = OutputKernelExtension(model).fit(ROWS, TARGETS)
    large = OutputKernelExtension(model).fit(ROWS, 1e3 * TARGETS)
    expected = 1e3 * small.predict(OTHER, return_std=True)[1]
    assert_allclose(large.predict(OTHER, return_std=True)[1], expected, rtol=1e-6)
    _, noisy = small.predict(OTHER, return_std=True, include_noise=True)
    _, std = small.predict(OTHER, return_std=True)
    assert_allclose(noisy**2 - std**2, small.noise_variance_[0], rtol=1e-8)
    with pytest.raises(ValueError, match="Pass return_std=True too"):
        small.predict(OTHER, include_noise=True)
    again = pickle.loads(pickle.dumps(small))
    assert_allclose(again.predict(OTHER, return_std=True)[1], std)


def test_several_outputs_and_a_single_row():
    model = OutputKernelRegressor(Gaussian(0.3), "frobenius", 0.2).fit(X, OLD)
    table = np.column_stack([TARGETS, TARGETS])
    table[1:, 1] = np.nan
    extension = OutputKernelExtension(model).fit(ROWS, table)
    mean, std = extension.predict(OTHER, return_std=True)
    assert mean.shape == std.shape == (5, 2)
    assert np.all(np.isfinite(std))
    silent = OutputKernelRegressor(Gaussian(0.3), "low_rank", 1e3).fit(X, OLD)  # L = 0
    _, nothing_kept = (
        OutputKernelExtension(silent, alpha=0.1)
        .fit(ROWS, TARGETS)
        .predict(OTHER, return_std=True)
    )
    assert np.all(nothing_kept > 0)
    alone = OutputKernelExtension(model).fit(ROWS, TARGETS)
    assert_allclose(std[:, 0], alone.predict(OTHER, return_std=True)[1], rtol=1e-6)


def test_errors_are_about_as_large_as_they_are_said_to_be():
    rng = np.random.default_rng(0)
    rows = rng.uniform(-2, 2, size=(300, 2))
    hidden = np.column_stack([np.sin(2 * rows[:, 0]), rows[:, 1] ** 2])
    table = hidden @ rng.normal(size=(2, 4)) + 0.2 * rng.normal(size=(300, 4))
    table[:, 3] += 0.3 * np.cos(3 * rows[:, 1])
    model = OutputKernelRegressor(Gaussian(0.5), "frobenius", 0.3)
    model.fit(rows[:60], table[:60, :3])
    extension = OutputKernelExtension(model).fit(rows[60:100], table[60:100, 3])
    mean, std = extension.predict(rows[100:], return_std=True, include_noise=True)
    assert 0.7 < np.std((table[100:, 3] - mean) / std) < 1.4
