"""Tables with fewer rows than columns, which few factors explain."""

import pickle

import numpy as np
from numpy.testing import assert_allclose

from okl import OutputKernelImputer
from okl.posterior import RowDistribution, best_distribution


def wide(n=40, m=80, seed=0):
    """Return a table of two factors, one with holes, and the noise of entries."""
    rng = np.random.default_rng(seed)
    noise = 0.7
    whole = rng.normal(size=(n, 2)) @ rng.normal(size=(2, m))
    whole = 10 + 3 * (whole + noise * rng.normal(size=(n, m)))
    missing = rng.random(whole.shape) < 0.2
    return whole, missing, np.where(missing, np.nan, whole)


def test_errors_are_not_far_above_noise():
    whole, missing, table = wide()
    imputer = OutputKernelImputer(transform_y="standardize")
    filled, std = imputer.fit_transform(table, return_std=True)
    assert np.array_equal(filled[~missing], whole[~missing])
    off = (filled - whole)[missing]
    assert np.sqrt(np.mean(off**2)) < 1.25 * 3 * 0.7  # of the noise
    # standard deviations are those of the errors
    assert 0.8 < np.mean((off / std[missing]) ** 2) < 1.4
    # without factors errors are larger, and far larger than they were said to be
    values = imputer.transformer_.transform(table)
    alike, variance = RowDistribution.of(values).filled(values)
    worse = (imputer.transformer_.inverse_transform(alike) - whole)[missing]
    assert np.mean(worse**2) > 1.3 * np.mean(off**2)
    true = imputer.transformer_.transform(whole)
    assert np.mean((alike - true)[missing] ** 2 / variance[missing]) > 1.6


def test_neither_order_nor_what_tells_nothing_matters():
    _, _, table = wide(30, 40)
    rng = np.random.default_rng(0)
    first = best_distribution(table).covariance
    for _ in range(3):
        order, columns = rng.permutation(30), rng.permutation(40)
        again = best_distribution(table[np.ix_(order, columns)] * 10.0).covariance
        expected = 100.0 * first[np.ix_(columns, columns)]
        assert_allclose(again, expected, rtol=1e-6, atol=1e-6)
    more = np.column_stack([np.ones(30), table])
    more = np.vstack([np.full(41, np.nan), more])
    found = best_distribution(more).covariance
    assert_allclose(found[1:, 1:], first, rtol=1e-6, atol=1e-6)


def test_new_rows_are_filled_in_as_those_of_the_fit():
    _, _, table = wide()
    imputer = OutputKernelImputer(transform_y="standardize")
    filled, std = imputer.fit_transform(table, return_std=True)
    again = pickle.loads(pickle.dumps(imputer))
    for fitted in (imputer, again):
        found = fitted.transform(table[5:9], return_std=True)
        assert_allclose(found[0], filled[5:9])
        assert_allclose(found[1], std[5:9], atol=1e-12)
