"""Variances of tasks, drawn to what all tasks have."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import f

from okl.posterior.variances_of_tasks import (
    ENOUGH,
    _in_common,
    with_that_of_others,
)


def drawn(rng, n_tasks, nu, s=3.0):
    """Return variances, what they were measured as, and in how many rows."""
    counts = rng.integers(2, 12, n_tasks)
    variances = np.full(n_tasks, s)
    if np.isfinite(nu):
        variances *= nu / rng.chisquare(nu, n_tasks)
    measured = variances * rng.chisquare(counts - 1) / (counts - 1)
    return variances, measured, counts


@pytest.mark.parametrize("nu", [1.0, 5.0, np.inf])
def test_they_are_nearer_to_the_truth(nu):
    rng = np.random.default_rng(0)
    variances, measured, counts = drawn(rng, 300, nu)
    found = with_that_of_others(measured, counts)
    few = counts < 6
    for some, most in ((few, (0.7, 0.4, 0.05)), (~few, (0.95, 0.75, 0.05))):
        before, after = (
            np.mean(np.log(v[some] / variances[some]) ** 2) for v in (measured, found)
        )
        assert after < dict(zip((1.0, 5.0, np.inf), most, strict=True))[nu] * before


def test_those_of_many_rows_are_hardly_drawn_where_tasks_differ():
    rng = np.random.default_rng(3)
    variances, _, _ = drawn(rng, 30, 1.0)
    found = with_that_of_others(variances, np.full(30, 500))
    assert_allclose(found, variances, rtol=0.05)


def test_what_is_in_common_is_likeliest():
    rng = np.random.default_rng(1)
    _, measured, counts = drawn(rng, 400, 4.0)
    s, nu = _in_common(measured, counts - 1.0)

    def likelihood(s, nu):
        return np.sum(f.logpdf(measured / s, counts - 1, nu) - np.log(s))

    best = likelihood(s, nu)
    for other in ((1.01 * s, nu), (0.99 * s, nu), (s, 1.05 * nu), (s, 0.95 * nu)):
        assert likelihood(*other) < best
    assert_allclose([s, nu], [3.0, 4.0], rtol=0.3)


@pytest.mark.parametrize("unit", [1e-200, 1e-3, 1e200])
def test_the_unit_does_not_matter(unit):
    _, measured, counts = drawn(np.random.default_rng(2), 20, 5.0)
    one = with_that_of_others(measured, counts)
    assert_allclose(with_that_of_others(measured * unit, counts) / unit, one, rtol=1e-6)


def test_what_little_there_is_to_tell_of():
    alone = np.array([4.0, 9.0])
    # nothing was measured
    assert_array_equal(with_that_of_others(alone, np.array([1, 0])), alone)
    # one task tells of itself, and of those that tell nothing
    assert_allclose(with_that_of_others(alone, np.array([1, 3])), [9.0, 9.0])
    # two rows that are alike by chance are not exact
    found = with_that_of_others(np.array([0.0, 4.0, 4.0]), np.array([2, 9, 9]))
    assert 2.0 < found[0] < 4.0
    assert_allclose(found[1:], 4.0)
    # those of a task of many rows hardly vary at all
    counts = np.array([50, 50, 50, 50])
    found = with_that_of_others(np.array([4.0, 3.0, 4.0, 0.0]), counts)
    assert found[3] < 0.1
    assert_allclose(found[:3], [4.0, 3.0, 4.0], rtol=0.1)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_tasks", [21, 101])
@pytest.mark.parametrize("n_rows", [8, 20, 50])
@pytest.mark.parametrize("deviation", [0.01, 0.1, 20.0])
def test_a_task_that_is_unlike_all_others_keeps_its_own(n_tasks, n_rows, deviation):
    rng = np.random.default_rng(0)
    ratios = []
    for _ in range(9):
        measured = rng.chisquare(n_rows - 1, n_tasks) / (n_rows - 1)
        measured[0] *= deviation**2
        found = with_that_of_others(measured, np.full(n_tasks, n_rows))
        ratios.append(found[0] / measured[0])
    assert 0.7 < np.median(ratios) < 1.6
    if n_tasks > 100:  # and the others have each other
        assert np.std(np.log(found[1:])) < 0.3 * np.std(np.log(measured[1:]))


def test_in_units_of_their_own_only_those_of_few_rows_are_drawn():
    _, measured, counts = drawn(np.random.default_rng(4), 40, 5.0)
    found = with_that_of_others(measured, counts, one_unit=False)
    few = counts < ENOUGH
    assert_array_equal(found[~few], measured[~few])
    assert_allclose(found[few], with_that_of_others(measured, counts)[few])
    many = np.full(40, ENOUGH)
    assert_array_equal(with_that_of_others(measured, many, one_unit=False), measured)


def test_tasks_of_one_row_each_tell_together():
    """Without intercepts of their own each row tells."""
    rng = np.random.default_rng(0)
    measured, ones = 2.0 * rng.chisquare(1, 200), np.ones(200)
    assert_array_equal(with_that_of_others(measured, ones), measured)
    found = with_that_of_others(measured, ones, own_intercepts=False)
    assert_allclose(found, 2.0, rtol=0.5)
    assert np.mean(np.log(found / 2.0) ** 2) < 0.05
