"""What a column holds: numbers, truth values or text.

A model stores the kind of each of its columns, so that a later table is read in the
same way: the code "12" of a text column does not become a number if all codes of the
new table look like numbers. Columns of other kinds (dates, lists, ...) and empty cells
are refused, with the name of the column: how to make numbers of them should not be
decided silently. Empty cells of a target are allowed: such a target was not observed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal

import numpy as np
import pandas as pd
from pandas.api import types

from okl.cli.errors import UserError, listing
from okl.cli.text_columns import has_decimal_commas, strays
from okl.numerics.validation import LARGEST_WITH_SQUARE

Kind = Literal["number", "boolean", "text"]
_CALLED = {"number": "numbers", "boolean": "True and False", "text": "text"}


def kinds_of(table: pd.DataFrame) -> dict[str, Kind]:
    """Return the kind of every column.

    Raises
    ------
    UserError
        If there are columns of any other kind; the message names them.
    """
    kinds = {name: kind_of(table[name]) for name in table}
    refused = [f"{name} ({table[name].dtype})" for name in table if kinds[name] is None]
    if refused:
        raise UserError(
            f"cannot use the columns {listing(refused)}; expected numbers, True and "
            "False, or text. Convert them (a date to days since another, say), or "
            "leave them out (--ignore of okl fit and impute)."
        )
    return {name: kind for name, kind in kinds.items() if kind is not None}


def kind_of(column: pd.Series) -> Kind | None:
    """Return the kind of a column, None if it is none of the three kinds."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return "text"
    if types.is_bool_dtype(column):
        return "boolean"
    if types.is_numeric_dtype(column):
        return None if types.is_complex_dtype(column) else "number"
    # A column of objects may hold text, decimals, or truth values with missing ones.
    content = types.infer_dtype(column, skipna=True)
    if content == "decimal":  # as databases write them to Parquet
        return "number"
    if content in ("string", "boolean", "empty"):
        return "boolean" if content == "boolean" else "text"
    return None


def check_there(table: pd.DataFrame, option: str, name: str) -> None:
    """Refuse the column that an option names, if there is no such column.

    Raises
    ------
    UserError
        The message lists the columns of the table.
    """
    if name not in table:
        raise UserError(
            f"no column is called {option} {name}. The table has: {listing(table, 40)}."
        )


def check_complete(
    table: pd.DataFrame, names: Iterable[str], may_be_empty: Collection[str] = ()
) -> None:
    """Refuse empty cells, and infinite or too large numbers; messages name columns."""
    incomplete, large = [], []
    for name in names:
        absent = table[name].isna() & (name not in may_be_empty)
        if kind_of(table[name]) == "number":
            numbers = table[name].to_numpy(np.float64, na_value=np.nan)
            absent |= np.isinf(numbers)
            if (np.abs(numbers) > LARGEST_WITH_SQUARE).any():
                large.append(name)
        if absent.any():
            count, first = int(absent.sum()), int(np.argmax(absent)) + 1
            rows = f"{count} of {len(table)} rows, from row {first}"
            incomplete.append(f"{name} ({rows})")
    if incomplete:
        raise UserError(
            f"missing or infinite values in {listing(incomplete)}; rows count from 1 "
            "below the names. Fill them, or leave out such rows (--skip-incomplete of "
            "okl fit, predict and evaluate) or columns (--ignore of okl fit and "
            "impute). Text such as NA, None or null counts as missing in CSV files."
        )
    if large:
        raise UserError(
            f"the columns {listing(large)} have numbers beyond "
            f"{LARGEST_WITH_SQUARE:g}, whose squares overflow; choose another unit."
        )


def plain(
    table: pd.DataFrame, kinds: Mapping[str, Kind], may_be_empty: Collection[str] = ()
) -> pd.DataFrame:
    """Return these columns, in this order, as float64, bool or str.

    Truth values with empty cells, where these are allowed, become float64: 0, 1 or NaN.

    Raises
    ------
    UserError
        If a column is absent, incomplete, or of another kind.
    """
    absent = [name for name in kinds if name not in table]
    if absent:
        raise UserError(
            f"the table has no column {listing(absent)}; the model was fitted with "
            f"it. The table has: {listing(table)}."
        )
    check_complete(table, kinds, may_be_empty)
    columns = {}
    for name, kind in kinds.items():
        column, found = table[name], kind_of(table[name])
        if kind == "text":
            columns[name] = column.astype(str).astype(object)
        elif kind == found:
            truth_values = kind == "boolean" and not column.isna().any()
            columns[name] = column.astype(bool if truth_values else float)
        else:
            text_in_numbers = kind == "number" and found == "text"
            strange = ""
            if text_in_numbers:
                comma = ". If commas are before decimals, give --decimal ,"
                strange = f": {strays(column)}{comma * has_decimal_commas(column)}"
            held = column.dtype if found is None else _CALLED[found]
            raise UserError(
                f"the column {name} holds {held}; expected {_CALLED[kind]}, as in the "
                f"table the model was fitted to{strange}."
            )
    return pd.DataFrame(columns, index=table.index)
