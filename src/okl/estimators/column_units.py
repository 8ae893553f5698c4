"""Transformations of the columns of a table, after which rows are about normal.

An entry of a standardised column is filled in with its mean, which has the least
squared error; a power transformation removes skew, and fills in the median. The entries
themselves show which suits: each is predicted from the others of its row, and the
errors are compared in the units of the table. Three tables are judged so: all columns
standardised, all transformed by a power, and a mixture of the two. What a power does
for a column it may do by way of the others, which were transformed too: columns that
are related as they are, or by their logarithms, are no longer if only some of them are
transformed. So the mixture is judged as a whole, beside the other two.

Where rows are few even normal columns look skewed by chance, and entries that powers
were fitted to are predicted better by them. So powers are only judged if columns are
likelier by them, for each column by more than half the logarithm of the number of its
entries, the price of one parameter (Schwarz 1978).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import yeojohnson_llf
from sklearn.preprocessing import FunctionTransformer, PowerTransformer, StandardScaler

from okl.posterior import RowDistribution

WAYS = ("auto", "yeo-johnson", "standardize", None)
# Squared error of a column where all have a power, relative to that where all are
# standardised, below which the mixture has it by power.
_CLEARLY = 0.8
# Mean squared error of a table, relative to that of simpler units, below which it is
# taken: about normal columns are much the same by power.
_BETTER = 0.99
# Rows that judge it.
_ROWS = 1000
# A standard deviation that is rounding, relative to the mean.
_CONSTANT = 1e-12
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
    likelier : array (n_columns,)
        By how much the logarithm of the likelihood of a column is larger by its power,
        less what that has to be; zero if powers are not judged.
    """

    plain: Any
    power: PowerTransformer
    sizes: np.ndarray
    by_power: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    smallest: np.ndarray
    largest: np.ndarray
    likelier: np.ndarray

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
        none = np.zeros(table.shape[1], dtype=bool)
        units = cls(
            plain.fit(table),
            power,
            sizes,
            none,
            lowest=np.nanmin(values, axis=0),
            highest=np.nanmax(values, axis=0),
            smallest=np.nanmin(table, axis=0),
            largest=np.nanmax(table, axis=0),
            likelier=np.zeros(len(none)),
        )
        if way == "yeo-johnson":
            return replace(units, by_power=~none)
        if way != "auto":
            return units
        pairs = zip((table / sizes).T, power.lambdas_, strict=True)
        likelier = np.array([_gain(column, exponent) for column, exponent in pairs])
        return replace(units, likelier=likelier)._judged(_some_of(table))

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

    def _judged(self, table: np.ndarray) -> ColumnUnits:
        """Return the best of plain columns, which these are, a mixture and powers."""
        everywhere = replace(self, by_power=~self.by_power)
        plain, power = self._errors(table), everywhere._errors(table)
        mixed = (power < _CLEARLY * plain) & (self.likelier > 0)
        others = [(everywhere, power)] if self.likelier.sum() > 0 else []
        if mixed.any() and not mixed.all():
            mixture = replace(self, by_power=mixed)
            others.insert(0, (mixture, mixture._errors(table)))
        best, least = self, plain.mean()
        for units, errors in others:
            if errors.mean() < _BETTER * least:
                best, least = units, errors.mean()
        return best

    def _errors(self, table: np.ndarray) -> np.ndarray:
        """Return the squared error of each column, predicted from those of its row.

        Relative to the variance of the column; zero if that is rounding.
        """
        values = self.transform(table)
        expected = RowDistribution.of(values).from_others(values)
        off = self.inverse_transform(expected) - table
        std = np.sqrt(self.plain.var_)
        varying = std > _CONSTANT * np.abs(self.plain.mean_)
        off = np.where(varying, off, 0.0) / np.where(varying, std, 1.0)
        return np.nanmean(off**2, axis=0)


def _gain(column: np.ndarray, exponent: float) -> float:
    """Return by how much a column is likelier by a power than Schwarz's price.

    Zero if its variance is rounding.
    """
    entries = column[~np.isnan(column)]
    if np.std(entries) <= _CONSTANT * np.abs(np.mean(entries)):
        return 0.0
    gain = yeojohnson_llf(exponent, entries) - yeojohnson_llf(1.0, entries)
    return float(gain) - float(np.log(len(entries))) / 2


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
