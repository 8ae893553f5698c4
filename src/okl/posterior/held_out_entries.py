"""Which covariance of rows predicts entries that were held out.

Correlations that are shrunk alike suit columns that go together in any way, and few
factors suit those that do so by them. Where rows are not several times as many as
columns the two are far apart, and which is right the table itself says: a part of its
entries is held out, and predicted with either. It is a small part, as what tables of
few rows can tell breaks off at some share of missing entries. Few factors are taken if
their squared error is less by more than one standard error.
"""

from __future__ import annotations

import numpy as np

from okl.posterior.few_factors import of_few_factors
from okl.posterior.incomplete_rows import RowDistribution

# Rows for each column from which correlations need little shrinkage of either kind.
_MANY_ROWS = 2
# The share of entries that are held out, and how many have to be.
_SHARE, _FEWEST = 0.05, 30
# Largest change of an entry of the covariance at the end: enough to compare by.
_TOLERANCE = 3e-3


def best_distribution(rows: np.ndarray) -> RowDistribution:
    """Return the distribution of rows (n, m) that predicts entries held out best.

    NaN where an entry is missing; every column has an entry.
    """
    varying = np.nanmin(rows, axis=0) < np.nanmax(rows, axis=0)
    told = rows[~np.isnan(rows).all(axis=1)][:, varying]
    if len(told) < _MANY_ROWS * told.shape[1] and _by_few_factors(told):
        return RowDistribution.of(rows, shrinkage=of_few_factors)
    return RowDistribution.of(rows)


def _by_few_factors(rows: np.ndarray) -> bool:
    """Return whether few factors predict entries held out better."""
    out = _held_out(rows)
    if out.sum() < _FEWEST:
        return False
    known = np.where(out, np.nan, rows)
    scale = np.nanstd(known, axis=0)
    scale = np.where(scale > 0, scale, np.inf)  # such a column does not count

    def errors(distribution: RowDistribution) -> np.ndarray:
        return (((distribution.filled(known)[0] - rows) / scale)[out]) ** 2

    alike = RowDistribution.of(known, tolerance=_TOLERANCE)
    factors = RowDistribution.of(known, shrinkage=of_few_factors, tolerance=_TOLERANCE)
    gain = errors(alike) - errors(factors)
    return bool(gain.mean() > gain.std() / np.sqrt(len(gain)))


def _held_out(rows: np.ndarray) -> np.ndarray:
    """Draw entries of those seen (n, m); each column keeps two at least.

    Which these are depends on the entries, and not on the order of rows or columns.
    """
    seen = ~np.isnan(rows)
    squares = ((rows - np.nanmean(rows, axis=0)) / np.nanstd(rows, axis=0)) ** 2
    by_row = np.argsort(np.nansum(squares, axis=1), kind="stable")
    by_column = np.argsort(np.nansum(squares**2, axis=0), kind="stable")
    drawn = np.empty(seen.shape, dtype=bool)
    drawn[np.ix_(by_row, by_column)] = (
        np.random.default_rng(0).random(seen.shape) < _SHARE
    )
    out = seen & drawn
    out[:, (seen & ~out).sum(axis=0) < 2] = False
    return out
