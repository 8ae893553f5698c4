"""Parameters with labels: the rows of a data frame, or a series, are outputs by name.

A covariance of outputs may come as ``Y.corr()``, and a table of weights in any order of
its own. Where outputs have names these say which row is which; in long form outputs are
in the sorted order of the ids, which a user need not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def in_order_of(value: Any, names: Sequence[Any] | np.ndarray, what: str) -> Any:
    """Return a parameter with its rows in the order of the outputs.

    Parameters
    ----------
    value : DataFrame, Series or anything else
        Without labels, or with the numbers from zero, as pandas gives them, it is
        returned as it is, and so is one of another length. Columns that have the
        labels of the rows are outputs too.
    names : sequence (n_outputs,)
        What the outputs are called. Names that are the numbers from zero are none.
    what : str
        What the parameter is, for the message.

    Raises
    ------
    ValueError
        If labels are not the names of the outputs.
    """
    if not hasattr(value, "iloc") or len(value) != len(names) or _are_numbers(names):
        return value
    rows, columns = value.index, getattr(value, "columns", ())
    square = len(columns) == len(rows)
    if _are_numbers(rows) and square and not _are_numbers(columns):
        rows = columns
    if _are_numbers(rows):
        return value
    order = _numbers_of(rows, names, what)
    if not square or not (_are_numbers(columns) or set(columns) == set(rows)):
        return value.iloc[order]
    across = order if _are_numbers(columns) else _numbers_of(columns, names, what)
    return value.iloc[order, across]


def _are_numbers(labels: Any) -> bool:
    """Tell whether labels are the numbers from zero, in order."""
    return [str(label) for label in labels] == [str(i) for i in range(len(labels))]


def _numbers_of(labels: Any, names: Any, what: str) -> list[int]:
    """Return which of the labels each name is."""
    numbers = {str(label): number for number, label in enumerate(labels)}
    if set(numbers) != {str(name) for name in names}:
        raise ValueError(
            f"The rows of {what} are called {_listed(labels)}, and the outputs "
            f"{_listed(names)}. Give both the same names, or pass an array "
            f"({what.partition(' ')[0]}.to_numpy()) if the order is right."
        )
    return [numbers[str(name)] for name in names]


def _listed(names: Any) -> str:
    shown = [str(name) for name in names]
    return ", ".join(shown[:6]) + (", ..." if len(shown) > 6 else "")
