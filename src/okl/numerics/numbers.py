"""Checks that arrays hold numbers, with errors that name the argument."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from okl.numerics.dates import refuse_dates
from okl.numerics.missing import nan_for_na, refuse_masked


def checked_numbers(values: Any, name: str, **how: Any) -> Any:
    """Return the array of `sklearn.utils.validation.check_array`, float64 by default.

    One or two dimensions are allowed, and NaN, for what is missing.

    Raises
    ------
    ValueError
        As `check_array`, with ``name`` in the message; and for dates, masked entries
        and columns with the same name.
    TypeError
        If ``values`` are no array of numbers.
    """
    refuse_masked(values, name)
    refuse_dates(values, name)
    refuse_no_columns(values, name)
    _refuse_repeated_names(values, name)
    usual = {"ensure_2d": False, "ensure_all_finite": "allow-nan", "dtype": np.float64}
    try:
        return check_array(nan_for_na(values), input_name=name, **usual | how)
    except (TypeError, ValueError) as error:
        if f"Input {name} " in str(error):  # scikit-learn's message about NaN
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        said = str(error).splitlines()[0]  # the next lines show all of a complex array
        raise kind(f"{name} must be an array of numbers: {said}") from error


def refuse_no_columns(values: Any, name: str) -> None:
    """Raise ValueError for a data frame without columns."""
    shape: tuple[int, ...] = getattr(values, "shape", ())
    if len(shape) == 2 and shape[1] == 0 and hasattr(values, "columns"):
        raise ValueError(
            f"{name} has no columns (shape {tuple(shape)}). Select one at least."
        )


def _refuse_repeated_names(values: Any, name: str) -> None:
    """Raise ValueError if two columns of a DataFrame have the same name."""
    columns = getattr(values, "columns", None)
    if columns is None:
        return
    for column, count in Counter(str(column) for column in columns).items():
        if count > 1:
            raise ValueError(
                f"{name} has {count} columns of the name {column!r}; give each column "
                "a name of its own."
            )
