"""Transformations of the columns of a table, after which rows are about normal.

An entry of a standardised column is filled in with its mean, which has the least
squared error; a power transformation removes skew, and fills in the median. The entries
of a column themselves show which suits it: each is predicted from the others of its
row, after both transformations, and the errors are compared in the units of the table.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.preprocessing import FunctionTransformer, PowerTransformer, StandardScaler

from okl.posterior import RowDistribution

WAYS = ("auto", "yeo-johnson", "standardize", None)
# Squared error of entries, relative to that of standardised columns, below which the
# power transformation is taken.
_CLEARLY = 0.8
# Rows that judge it.
_ROWS = 1000
# Standard deviations, in these units and in those of the table, that an entry may be
# beyond the observed ones of its column: the inverse of a power has a pole.
_BEYOND = 1.0


@dataclass(frozen=True)
class ColumnUnits:
    """The transformation of each column.

    Attributes
    ----------
    plain : transformer
        Standardises columns, or leaves them as they are.
    power : PowerTransformer
        Takes columns divided by ``sizes``; not fitted where it is not asked for.
    sizes : array (n_columns,)
        The median sizes of entries that are not zero. Columns are divided by them, as
        powers of x + 1 depend on the unit of x.
    by_power : array of bool (n_columns,)
        Which columns it transforms.
    lowest, highest : array (n_columns,)
        The extremes of columns transformed by it, if it is fitted.
    smallest, largest : array (n_columns,)
        The extremes of the columns themselves.
    """

    plain: Any
    power: PowerTransformer
    sizes: np.ndarray
    by_power: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    smallest: np.ndarray
    largest: np.ndarray

    @classmethod
    def of(cls, table: np.ndarray, way: str | None) -> ColumnUnits:
        """Fit them to a table, NaN where an entry is missing, in one of `WAYS`."""
        plain = FunctionTransformer() if way is None else StandardScaler()
        power = PowerTransformer()
        for transformer in (plain, power):  # arrays, whatever scikit-learn is set to
            transformer.set_output(transform="default")
        sizes = np.array([_size(column) for column in table.T])
        values = table
        if way in ("auto", "yeo-johnson"):  # else it is not used, and takes longest
            values = power.fit(table / sizes).transform(table / sizes)
        extremes = [
            end(of, axis=0) for of in (values, table) for end in (np.nanmin, np.nanmax)
        ]
        none = np.zeros(table.shape[1], dtype=bool)
        units = cls(plain.fit(table), power, sizes, none, *extremes)
        if way == "yeo-johnson":
            return replace(units, by_power=~none)
        if way == "auto":
            some = _some_of(table)
            errors = units._errors(some)
            by_power = replace(units, by_power=~none)._errors(some) < _CLEARLY * errors
            return replace(units, by_power=by_power)
        return units

    def transform(self, table: np.ndarray) -> np.ndarray:
        """Return a table (n, n_columns) in these units."""
        values = self.plain.transform(table)
        if not self.by_power.any():
            return values
        return np.where(self.by_power, self.power.transform(table / self.sizes), values)

    def inverse_transform(self, values: np.ndarray) -> np.ndarray:
        """Return values in the units of the table."""
        table = self.plain.inverse_transform(values)
        if not self.by_power.any():
            return table
        low, high = self.lowest - _BEYOND, self.highest + _BEYOND
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of NaN beyond the pole
            inside = self.power.inverse_transform(np.clip(values, low, high))
        inside = inside * self.sizes
        # where the pole is nearer still, take the extreme that was observed
        extremes = np.where(values > 0, self.largest, self.smallest)
        inside = np.where(np.isfinite(inside), inside, extremes)
        # near the pole a step in these units is many times the range of the column
        away = _BEYOND * self.plain.scale_
        inside = np.clip(inside, self.smallest - away, self.largest + away)
        return np.where(self.by_power, inside, table)

    def _errors(self, table: np.ndarray) -> np.ndarray:
        """Return the squared error of each column, predicted from those of its row."""
        values = self.transform(table)
        expected = RowDistribution.of(values).from_others(values)
        return np.nanmean((self.inverse_transform(expected) - table) ** 2, axis=0)


def _size(column: np.ndarray) -> float:
    """Return the median size of entries that are not zero; one if there are none."""
    sizes = np.abs(column[~np.isnan(column) & (column != 0)])
    return float(np.median(sizes)) if len(sizes) else 1.0


def _some_of(table: np.ndarray) -> np.ndarray:
    """Return every few rows of a long table that have two entries at least.

    All rows if a column has no entry there.
    """
    telling = table[np.sum(~np.isnan(table), axis=1) > 1]
    some = telling[:: max(1, -(-len(telling) // _ROWS))]
    return table if np.isnan(some).all(axis=0).any() else some
