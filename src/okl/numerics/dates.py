"""Dates, times and durations, which NumPy takes for numbers of some unit."""

from __future__ import annotations

from typing import Any

import numpy as np

from okl.numerics.missing import is_missing

# The most columns that a message names.
_MOST = 5


def refuse_dates(X: Any, name: str, error: Exception | None = None) -> None:
    """Refuse dates, times and durations, which NumPy takes for numbers of some unit.

    Raises
    ------
    ValueError
        The message names the columns of a data frame, or has their numbers in an array
        of objects, and says what to pass instead.
    """
    dates = [
        repr(column)
        for column, kind, cells in (*columns_of(X), *_columns_of_objects(X))
        if _is_temporal(kind) or _holds_dates(kind, cells)
    ]
    if not dates and not _is_temporal(getattr(X, "dtype", None)):
        return
    what, where = ("Columns", f" in {listed_columns(dates)}") if dates else (name, "")
    raise ValueError(
        f"{what} must be numbers, and there are dates, times or durations{where}. "
        "Convert them to numbers that matter, such as the days since a date, the month "
        "or the day of the week, or leave them out."
    ) from error


def columns_of(X: Any) -> list[tuple[str, Any, Any]]:
    """Return the names, types and cells of the columns of a data frame, else none."""
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return []
    cells = X.iloc if hasattr(X, "iloc") else X  # pandas, or polars
    types = zip(X.columns, X.dtypes, strict=True)
    return [(str(name), kind, cells[:, i]) for i, (name, kind) in enumerate(types)]


def _columns_of_objects(X: Any) -> list[tuple[int, Any, Any]]:
    """Return the same for an array of objects, with numbers in the place of names."""
    if not isinstance(X, np.ndarray) or X.dtype.kind != "O" or X.ndim != 2:
        return []
    return [(number, X.dtype, X[:, number]) for number in range(X.shape[1])]


def listed_columns(columns: list[str]) -> str:
    """Return the first few columns as text."""
    more = f" and {len(columns) - _MOST} more" if len(columns) > _MOST else ""
    noun = "the column" if len(columns) == 1 else "the columns"
    return f"{noun} {', '.join(columns[:_MOST])}{more}"


def _holds_dates(kind: Any, cells: Any) -> bool:
    """Tell whether the first cell of a column of objects is a date, time or period."""
    if getattr(kind, "kind", "") != "O":
        return False
    first = next((cell for cell in cells if not is_missing(cell)), None)
    if isinstance(first, np.datetime64 | np.timedelta64):
        return True
    return any(hasattr(first, name) for name in ("year", "hour", "total_seconds"))


def _is_temporal(kind: Any) -> bool:
    """Tell whether a type is that of dates, times or durations."""
    if hasattr(kind, "is_temporal"):  # polars
        return bool(kind.is_temporal())
    return getattr(kind, "kind", "") in ("M", "m")
