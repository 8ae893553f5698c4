"""Columns and rows of a table that are left out, which is always said.

Rows without any cell, such as spreadsheets write below a table, are left out. Rows with
an empty cell among the features are refused, unless the user asks to leave them out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

from okl.cli.errors import UserError, listing
from okl.cli.targets import choose_columns


def without_columns(
    table: pd.DataFrame, patterns: Sequence[str], used: Iterable[str | None]
) -> pd.DataFrame:
    """Return a table without the columns that match patterns of ``--ignore``.

    Raises
    ------
    UserError
        If a pattern matches no column, or one that another option names.
    """
    names = choose_columns(list(table), patterns, "--ignore")
    both = [name for name in names if name in set(used)]
    if both:
        raise UserError(
            f"--ignore leaves out {listing(both)}, which another option names; leave "
            "one of them out."
        )
    return table.drop(columns=names)


def without_empty_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table without rows that have no cell, and warn of them.

    The others keep the labels that they have.

    Raises
    ------
    UserError
        If there is no other row.
    """
    empty = table.isna().all(axis=1).to_numpy()
    if not empty.any():
        return table
    if empty.all():
        raise UserError("every row of the table is empty.")
    warnings.warn(
        f"{int(empty.sum())} of {len(table)} rows have no cell, the first of them row "
        f"{int(empty.argmax()) + 1}: left out",
        stacklevel=2,
    )
    return table.loc[~empty]


def incomplete_rows(
    table: pd.DataFrame, names: Sequence[str], note: Callable[[str], None]
) -> pd.Series:
    """Return whether each row has an empty cell in these columns; note how many do.

    Raises
    ------
    UserError
        If all do.
    """
    some = table[list(names)]
    absent = some.isna() | some.isin([np.inf, -np.inf])
    incomplete = absent.any(axis=1)
    counts = absent.sum()
    named = listing(f"{name} ({n})" for name, n in counts[counts > 0].items())
    if incomplete.all():
        raise UserError(
            f"every row of the table has an empty cell among the features: {named}. "
            "Leave columns out by --ignore, or fill cells in."
        )
    if incomplete.any():
        note(
            f"left out: {int(incomplete.sum())} of {len(table)} rows with an empty "
            f"cell among the features: {named}"
        )
    return incomplete
