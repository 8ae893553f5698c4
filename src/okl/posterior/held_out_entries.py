"""Which covariance of rows predicts entries that were held out.

Correlations that are shrunk alike suit columns that go together in any way, and few
factors suit those that do so by them. Where rows are not many times as many as columns
the two are far apart, and which is right the rows themselves say: entries are held out,
and predicted with either. Few factors are taken if their squared error is less by more
than one standard error.

*A table that is filled in* has a small part of its entries held out, as what tables of
few rows can tell breaks off at some share of missing entries. *Errors of rows* are to
say what those of new rows are: half of the entries of a row are predicted, by other
rows.
"""

from __future__ import annotations

import numpy as np

from okl.posterior.few_factors import of_few_factors
from okl.posterior.incomplete_rows import RowDistribution, shrunk

# Rows for each column from which correlations need little shrinkage of either kind.
_MANY_ROWS = 8
# The share of entries that are held out, and how many have to be.
_SHARE, _FEWEST = 0.05, 30
# That of the entries of a new row, and the parts of rows that are new in turn.
_HALF, _FOLDS = 0.5, 5
# Largest change of an entry of the covariance at the end: enough to compare by.
_TOLERANCE = 3e-3


def best_distribution(rows: np.ndarray) -> RowDistribution:
    """Return the distribution of rows (n, m) that predicts entries held out best.

    NaN where an entry is missing; every column has an entry.
    """
    told = _varying(rows)
    if _are_few(told) and _by_few_factors(told):
        return RowDistribution.of(rows, shrinkage=of_few_factors)
    return RowDistribution.of(rows)


def best_of_errors(rows: np.ndarray) -> RowDistribution:
    """Return the distribution of errors (n, m), of mean zero, best for new rows.

    NaN where an entry is missing; every column has an entry.
    """
    told = _varying(rows)
    few = _are_few(told) and _new_rows_by_few_factors(told)
    shrinkage = of_few_factors if few else shrunk
    return RowDistribution.of(rows, centre=False, shrinkage=shrinkage)


def _varying(rows: np.ndarray) -> np.ndarray:
    """Return rows with an entry, of columns that are not constant."""
    varying = np.nanmin(rows, axis=0) < np.nanmax(rows, axis=0)
    return rows[~np.isnan(rows).all(axis=1)][:, varying]


def _are_few(rows: np.ndarray) -> bool:
    return len(rows) < _MANY_ROWS * rows.shape[1]


def _by_few_factors(rows: np.ndarray) -> bool:
    """Return whether few factors predict entries held out better."""
    out = _held_out_of_table(rows)
    if out.sum() < _FEWEST:
        return False
    known = np.where(out, np.nan, rows)
    scale = np.nanstd(known, axis=0)
    scale = np.where(scale > 0, scale, np.inf)  # such a column does not count

    def errors(distribution: RowDistribution) -> np.ndarray:
        return (((distribution.filled(known)[0] - rows) / scale)[out]) ** 2

    alike = RowDistribution.of(known, tolerance=_TOLERANCE)
    factors = RowDistribution.of(known, shrinkage=of_few_factors, tolerance=_TOLERANCE)
    return _is_gain(errors(alike) - errors(factors))


def _new_rows_by_few_factors(rows: np.ndarray) -> bool:
    """Return whether few factors predict entries of rows that were left out better."""
    out = _held_out(rows, _HALF)
    if out.sum() < _FEWEST:
        return False
    folds = np.empty(len(rows), dtype=int)
    folds[_by_size(rows)] = np.arange(len(rows)) % _FOLDS
    gains = np.zeros(len(rows))
    for fold in range(_FOLDS):
        new = folds == fold
        if np.isnan(rows[~new]).all(axis=0).any():
            return False
        known = np.where(out[new], np.nan, rows[new])
        for sign, shrinkage in ((1, shrunk), (-1, of_few_factors)):
            distribution = RowDistribution.of(
                rows[~new], centre=False, shrinkage=shrinkage, tolerance=_TOLERANCE
            )
            expected, variance = distribution.filled(known)
            variance = np.where(variance > 0, variance, 1.0)
            scores = (expected - rows[new]) ** 2 / variance + np.log(variance)
            gains[new] += sign * np.nansum(scores, axis=1)  # zero where it was known
    return _is_gain(gains)


def _is_gain(gains: np.ndarray) -> bool:
    return bool(gains.mean() > gains.std() / np.sqrt(len(gains)))


def _by_size(rows: np.ndarray) -> np.ndarray:
    """Return rows in the order of the sum of their squares."""
    squares = ((rows - np.nanmean(rows, axis=0)) / np.nanstd(rows, axis=0)) ** 2
    return np.argsort(np.nansum(squares, axis=1), kind="stable")


def _held_out_of_table(rows: np.ndarray) -> np.ndarray:
    """Draw entries, of which each column keeps two at least."""
    out = _held_out(rows, _SHARE)
    out[:, (~np.isnan(rows) & ~out).sum(axis=0) < 2] = False
    return out


def _held_out(rows: np.ndarray, share: float) -> np.ndarray:
    """Draw a share of the entries seen (n, m).

    Which these are depends on the entries, and not on the order of rows or columns.
    """
    seen = ~np.isnan(rows)
    squares = ((rows - np.nanmean(rows, axis=0)) / np.nanstd(rows, axis=0)) ** 2
    by_column = np.argsort(np.nansum(squares**2, axis=0), kind="stable")
    drawn = np.empty(seen.shape, dtype=bool)
    drawn[np.ix_(_by_size(rows), by_column)] = (
        np.random.default_rng(0).random(seen.shape) < share
    )
    return seen & drawn
