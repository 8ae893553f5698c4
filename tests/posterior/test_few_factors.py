"""Covariances of few factors, against what samples of known factors have."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import hadamard

from okl.posterior.few_factors import of_few_factors
from okl.posterior.incomplete_rows import shrunk


def all_rows(m, n):
    return np.full((m, m), n)


def sample_of_factors(n, m, k, seed):
    """Return the covariance of n rows, and that of the distribution."""
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(k, m))
    rows = rng.normal(size=(n, k)) @ loadings + rng.normal(size=(n, m))
    return np.cov(rows.T, bias=True), loadings.T @ loadings + np.eye(m)


@pytest.mark.parametrize("unit", [1.0, 1e-6])
def test_a_factor_has_the_size_that_explains_its_eigenvalue(unit):
    """(1 + d)(1 + g / d) is solved for d, and shrunk by the squared cosine."""
    m, n, d = 32, 20, np.array([9.0, 5.0])
    g = (m - 2) / (n - 2)
    V = hadamard(m) / np.sqrt(m)  # all columns have the same variance
    values = np.r_[(1 + d) * (1 + g / d), np.ones(m - 2)]
    scale = np.outer(*[unit * np.arange(1, m + 1)] * 2)
    covariance = (V * values) @ V.T * scale
    expected = (V[:, :2] * d * (1 - g / d**2) / (1 + g / d)) @ V[:, :2].T * scale
    np.fill_diagonal(expected, np.diagonal(covariance))
    found = of_few_factors(covariance, all_rows(m, n))
    assert_allclose(found / scale, expected / scale, atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_factors_of_few_rows_are_nearer_than_correlations_shrunk_alike(seed):
    m, n = 100, 40
    sample, whole = sample_of_factors(n, m, 2, seed)
    values = []
    for shrinkage in (of_few_factors, shrunk):
        found = shrinkage(sample, all_rows(m, n))
        assert_allclose(np.diagonal(found), np.diagonal(sample))
        # relative to the truth every direction has the variance one
        root = np.linalg.inv(np.linalg.cholesky(whole))
        values.append(np.linalg.eigvalsh(root @ found @ root.T))
    few, alike = (np.abs(np.log(v)).mean() for v in values)
    assert few < alike / 2


@pytest.mark.parametrize(("n", "m"), [(30, 60), (60, 60), (200, 20)])
def test_noise_has_no_factor(n, m):
    for seed in range(10):
        rows = np.random.default_rng(seed).normal(size=(n, m))
        found = of_few_factors(np.cov(rows.T, bias=True), all_rows(m, n))
        assert np.count_nonzero(found) == m


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 5), (5, 1), (2, 2), (3, 0)])
def test_hardly_any_rows_or_columns(n, m):
    rows = np.random.default_rng(0).normal(size=(n, m))
    covariance = rows.T @ rows / n
    found = of_few_factors(covariance, all_rows(m, n))
    assert_allclose(found, np.diag(np.diagonal(covariance)))


def test_constant_columns_and_columns_that_repeat():
    rows = np.random.default_rng(0).normal(size=(12, 1)) * np.r_[np.ones(10), 0.0]
    found = of_few_factors(np.cov(rows.T, bias=True), all_rows(11, 12))
    assert np.all(np.isfinite(found))
    assert np.all(found[10] == 0)
    assert np.linalg.eigvalsh(found[:10, :10]).min() > 1e-10
