"""Noise with a covariance, against the process written out."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.kernels import Gaussian, Linear
from okl.output_kernels import SpectralKernel
from okl.posterior import (
    Calibration,
    PredictiveVariance,
    RowsLeftOut,
    RowTermPosterior,
    correlation_of_errors,
)
from tests.samples import draw, psd

NEW = np.random.default_rng(9).normal(size=(5, 3))
each_kernel = pytest.mark.parametrize("kernel", [Gaussian(0.3), Linear()], ids=repr)
each_intercept = pytest.mark.parametrize("b", [False, True], ids=["no-b", "b"])


def posterior_of(kernel, X, b, rank=3):
    L, row = psd(3, 5, rank=rank), psd(3, 6)
    kernels = (SpectralKernel.from_matrix(matrix) for matrix in (L, row))
    found = RowTermPosterior.of(kernel, X, *kernels, 0.3, free_intercept=b)
    return found, L, row + 0.3 * np.eye(3)


def written_out(kernel, X, Y, new, L, N, b):
    """Return mean (m,) and covariance (m, m) of f + b at one row."""
    n, m = len(X), len(L)
    system = np.kron(kernel(X), L) + np.kron(np.eye(n), N)
    told = np.kron(kernel(new[None], X), L)
    drift = np.kron(np.ones((n, 1)), np.eye(m)) * b
    solved = np.linalg.solve(system, np.column_stack([Y.ravel(), told.T, drift]))
    y, k, d = np.split(solved, [1, 1 + m], axis=1)
    mean, covariance = told @ y[:, 0], kernel(new[None]) * L - told @ k
    if b:
        precision = np.linalg.inv(drift.T @ d)
        beta, left = precision @ (drift.T @ y[:, 0]), np.eye(m) - told @ d
        mean, covariance = mean + left @ beta, covariance + left @ precision @ left.T
    return mean, covariance


@each_kernel
@each_intercept
@pytest.mark.parametrize("rank", [3, 1])
def test_covariances_are_those_of_the_process(kernel, b, rank):
    X, Y, _ = draw(12, 3)
    posterior, L, N = posterior_of(kernel, X, b, rank)
    found = posterior.covariance(NEW)
    for x, own in zip(NEW, found, strict=True):
        assert_allclose(own, written_out(kernel, X, Y, x, L, N, b)[1], atol=1e-10)
    assert_allclose(posterior(NEW), np.einsum("ijj->ij", found), atol=1e-12)


@each_kernel
@each_intercept
def test_rows_are_left_out_with_the_noise_of_their_outputs(kernel, b):
    X, Y, _ = draw(12, 3)
    posterior, L, N = posterior_of(kernel, X, b)
    means = np.array([written_out(kernel, X, Y, x, L, N, b)[0] for x in X])
    left = RowsLeftOut.of(posterior, X, Y - means, None, np.full(3, 0.3))
    for i in (0, 5):
        rest = np.delete(np.arange(12), i)
        mean, S = written_out(kernel, X[rest], Y[rest], X[i], L, N, b)
        assert_allclose(left.residuals[i], Y[i] - mean, atol=1e-8)
        assert_allclose(left.variances[i], np.diag(S + N), atol=1e-8)
    calibration = Calibration.of(left)
    given = replace(posterior, row_is_given=True)
    R = correlation_of_errors(given, X, Y - means, left, calibration)
    roots = np.sqrt(np.diag(N))
    assert_allclose(R, N / np.outer(roots, roots))


def test_without_a_covariance_it_is_the_other_posterior():
    X, _, _ = draw(12, 3)
    L = SpectralKernel.from_matrix(psd(3, 5))
    nothing = SpectralKernel(np.zeros(0), np.zeros((3, 0)))
    found = RowTermPosterior.of(Gaussian(0.3), X, L, nothing, 0.3, free_intercept=True)
    expected = PredictiveVariance(Gaussian(0.3), X, L, 0.3, None, True)
    assert_allclose(found.covariance(NEW), expected.covariance(NEW), atol=1e-12)
    assert_allclose(found(NEW), expected(NEW), atol=1e-12)
