"""Columns that an option adds to the table of answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import norm

from okl.cli.errors import UserError


def with_columns(
    table: pd.DataFrame, option: str, names: Sequence[str], values: np.ndarray
) -> pd.DataFrame:
    """Return a table with columns of these names and values at the end.

    Raises
    ------
    UserError
        If the table already has such a column; the message names the option.
    """
    clash = [name for name in names if name in table]
    if clash:
        raise UserError(
            f"{option} would write a second column {clash[0]}; rename the existing "
            "one; if it is a target of the model, before the fit."
        )
    added = pd.DataFrame(values, columns=list(names), index=table.index)
    return pd.concat([table, added], axis=1)


def with_deviations(
    table: pd.DataFrame, names: Sequence[str], deviations: np.ndarray | None = None
) -> pd.DataFrame:
    """Return a table with a column ``NAME_std`` for each name.

    Without deviations these columns are zero.
    """
    if deviations is None:
        deviations = np.zeros((len(table), len(names)))
    return with_columns(table, "--std", [f"{name}_std" for name in names], deviations)


def with_intervals(
    table: pd.DataFrame, names: Sequence[str], deviations: np.ndarray, coverage: float
) -> pd.DataFrame:
    """Return a table with columns ``NAME_low`` and ``NAME_high`` for each name.

    A new target lies between them with the probability ``coverage``, if its deviation
    from the prediction is normal.
    """
    away = norm.ppf((1 + coverage) / 2) * deviations
    middle = table[list(names)].to_numpy(dtype=np.float64)
    ends = np.stack([middle - away, middle + away], axis=-1).reshape(len(table), -1)
    columns = [f"{name}_{end}" for name in names for end in ("low", "high")]
    return with_columns(table, "--interval", columns, ends)


def with_probabilities(
    table: pd.DataFrame, option: str, names: Sequence[object], values: np.ndarray
) -> pd.DataFrame:
    """Return a table with a column ``P(NAME)`` for each name."""
    return with_columns(table, option, [f"P({name})" for name in names], values)
