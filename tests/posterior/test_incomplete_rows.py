"""Normal rows of which entries are missing, against formulas written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from okl.posterior import RowDistribution, incomplete_rows
from tests.covering import examples


def rows_with_holes(n=60, m=4, share=0.3, seed=0):
    rng = np.random.default_rng(seed)
    whole = rng.normal(size=(n, m)) @ rng.normal(size=(m, m)) + 5 * np.arange(m)
    holes = rng.random(whole.shape) < share
    holes[:m] = False
    holes[m] = True
    return whole, np.where(holes, np.nan, whole)


def log_likelihood(rows, mean, covariance):
    total = 0.0
    for row in rows:
        o = np.flatnonzero(~np.isnan(row))
        if len(o):
            part = multivariate_normal(mean[o], covariance[np.ix_(o, o)])
            total += part.logpdf(row[o])
    return total


def test_complete_rows_have_their_own_moments(monkeypatch):
    whole, _ = rows_with_holes()
    found = RowDistribution.of(whole)
    expected = np.cov(whole.T, bias=True)
    assert_allclose(found.mean, whole.mean(axis=0))
    assert_allclose(np.diag(found.covariance), np.diag(expected))
    ratio = (found.covariance / expected)[np.triu_indices(4, 1)]
    assert_allclose(ratio, ratio[0])  # all correlations are shrunk alike
    assert 0.5 < ratio[0] < 1
    monkeypatch.setattr(incomplete_rows, "shrunk", lambda matrix, pairs: matrix)
    assert_allclose(RowDistribution.of(whole).covariance, expected)


def test_it_is_the_most_likely_distribution(monkeypatch):
    monkeypatch.setattr(incomplete_rows, "shrunk", lambda matrix, pairs: matrix)
    monkeypatch.setattr(incomplete_rows, "_TOLERANCE", 1e-8)
    monkeypatch.setattr(incomplete_rows, "_ROUNDS", 5000)
    _, rows = rows_with_holes()
    found = RowDistribution.of(rows)
    best = log_likelihood(rows, found.mean, found.covariance)
    rng = np.random.default_rng(1)
    scale = np.sqrt(np.diag(found.covariance))
    for _ in range(6):
        moved = rng.normal(size=4) * scale
        other = rng.normal(size=(4, 4))
        other = (other + other.T) * np.outer(scale, scale)
        slope = [
            log_likelihood(
                rows, found.mean + h * moved, found.covariance + h * other / 10
            )
            for h in (-1e-4, 1e-4)
        ]
        # at a maximum the objective falls to both sides, by the square of the distance
        assert max(slope) < best
        assert abs(slope[1] - slope[0]) < 1e-3


@given(seed=st.integers(0, 2**16), share=st.floats(0.1, 0.9))
@examples(20)
def test_what_is_filled_in_is_the_conditional_mean(seed, share):
    _, rows = rows_with_holes(20, 4, share, seed)
    distribution = RowDistribution.of(rows)
    mean, S = distribution.mean, distribution.covariance
    filled, variance = distribution.filled(rows)
    for row, full, spread in zip(rows, filled, variance, strict=True):
        o, u = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
        gain = S[np.ix_(u, o)] @ np.linalg.inv(S[np.ix_(o, o)])
        assert_allclose(full[o], row[o])
        assert_allclose(full[u], mean[u] + gain @ (row - mean)[o], atol=1e-6)
        rest = S[np.ix_(u, u)] - gain @ S[np.ix_(o, u)]
        assert_allclose(spread[u], np.diag(rest), atol=1e-6)
        assert np.all(spread[o] == 0)


def test_the_covariance_of_many_rows_is_found():
    whole, rows = rows_with_holes(4000, 5, 0.4)
    found = RowDistribution.of(rows)
    expected = np.cov(whole.T)
    roots = np.sqrt(np.diag(expected))
    assert np.max(np.abs(found.covariance - expected) / np.outer(roots, roots)) < 0.05
    # where means of what was observed in each column alone are off, those are not
    shifted = np.where((whole[:, :1] > 0) & (np.arange(5) == 1), np.nan, whole)
    direct = abs(np.nanmean(shifted[:, 1]) - whole[:, 1].mean())
    assert abs(RowDistribution.of(shifted).mean[1] - whole[:, 1].mean()) < direct / 3


@pytest.mark.parametrize("holes", [False, True])
def test_columns_that_are_constant_or_repeat(holes):
    whole, rows = rows_with_holes()
    rows = rows if holes else whole
    rows = np.column_stack(
        [rows, rows[:, 0], np.where(np.isnan(rows[:, 1]), np.nan, 7)]
    )
    found = RowDistribution.of(rows)
    assert np.all(found.covariance[5] == 0)
    filled, variance = found.filled(rows)
    assert np.all(np.isfinite(filled))
    assert_allclose(filled[:, 5], 7.0)
    assert np.all(variance[:, 5] == 0)
    assert np.linalg.eigvalsh(found.covariance).min() > -1e-9


def test_rows_fewer_than_columns():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6, 20))
    rows[rng.random(rows.shape) < 0.2] = np.nan
    filled, variance = RowDistribution.of(rows).filled(rows)
    assert np.all(np.isfinite(filled))
    assert np.all(variance >= 0)


def test_two_rows_tell_of_no_correlation():
    rows = np.array([[0.0, 1.0, 5.0], [1.0, 3.0, 4.0]])
    found = RowDistribution.of(rows)
    assert_allclose(found.covariance, np.diag(rows.var(axis=0)), atol=1e-12)
    filled, variance = found.filled(np.array([[7.0, np.nan, np.nan]]))
    assert_allclose(filled[0, 1:], rows.mean(axis=0)[1:])
    assert_allclose(variance[0, 1:], rows.var(axis=0)[1:])


def test_an_entry_is_expected_given_the_others_of_its_row(monkeypatch):
    whole, rows = rows_with_holes(20)
    whole[:, 2], rows[:, 2] = 7.0, np.where(np.isnan(rows[:, 2]), np.nan, 7.0)
    found = RowDistribution.of(rows)
    monkeypatch.setattr(incomplete_rows, "_ENTRIES", 50)  # a few rows at a time
    expected = found.from_others(rows)
    assert np.array_equal(np.isnan(expected), np.isnan(rows))
    for row, entries in zip(rows, expected, strict=True):
        for j in np.flatnonzero(~np.isnan(row)):
            alone = row.copy()
            alone[j] = np.nan
            assert_allclose(entries[j], found.filled(alone[None])[0][0, j], rtol=1e-8)


def test_correlations_are_not_shrunk_anew_by_what_was_filled_in():
    """Where few rows have a pair, they once came to nothing, round by round."""
    rng = np.random.default_rng(0)
    m, r = 5, 0.6
    covariance = np.full((m, m), r) + (1 - r) * np.eye(m)
    rows = rng.multivariate_normal(np.zeros(m), covariance, size=400)
    rows[rng.random(rows.shape) < 0.7] = np.nan
    found = RowDistribution.of(rows).covariance
    roots = np.sqrt(np.diagonal(found))
    correlations = (found / np.outer(roots, roots))[np.triu_indices(m, 1)]
    assert 0.4 < correlations.mean() < 0.75
