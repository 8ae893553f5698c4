"""Missing names, missing values and masked entries."""

from __future__ import annotations

from typing import Any

import numpy as np

# pandas is no requirement: its missing values are recognised by the names of types.
_OF_PANDAS = ("NAType", "NaTType")


def is_missing(name: Any) -> bool:
    """Tell whether a name is None, NaN, or a missing value of NumPy or pandas."""
    if name is None or type(name).__name__ in _OF_PANDAS:
        return True
    if isinstance(name, np.datetime64 | np.timedelta64):
        return bool(np.isnat(name))
    return isinstance(name, float | np.floating) and bool(np.isnan(name))


def nan_for_na(values: Any) -> Any:
    """Return values with NaN instead of pandas' NA.

    NumPy converts None to a number, but not NA. pandas has NA in arrays of objects,
    where a column was given no type: ``pandas.Series([1, pandas.NA])``.
    """
    try:
        cells = np.asarray(values)
    except ValueError:  # lists of different lengths
        return values
    if cells.dtype != object or not cells.ndim:  # a sparse matrix has no dimension
        return values
    found = cells.copy()
    for at, one in np.ndenumerate(cells):
        if type(one).__name__ == "NAType":
            found[at] = np.nan
    return found


def refuse_masked(values: Any, name: str) -> None:
    """Raise ValueError if entries of an array are masked.

    scikit-learn's checks drop the mask, and take masked entries for observed.
    """
    if np.ma.is_masked(values):
        raise ValueError(
            f"{name} is a masked array, with {np.ma.count_masked(values)} of its "
            f"{np.size(values)} entries masked; masks are not supported. Use NaN for "
            f"missing values: {name}.astype(float).filled(numpy.nan)."
        )
