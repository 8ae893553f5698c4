"""Parameters with labels: the rows of a data frame, or a series, are outputs by name.

A covariance of outputs may come as ``Y.corr()``, and a table of weights in any order of
its own. Where outputs have names these say which row is which; in long form outputs are
in the sorted order of the ids, which a user need not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from okl.trees.names import listed


def in_order_of(
    value: Any, names: Sequence[Any] | np.ndarray, what: str, *, axes: int = 1
) -> Any:
    """Return a parameter with its rows in the order of the outputs.

    Parameters
    ----------
    value : DataFrame, Series or anything else
        Without labels, or with the numbers from zero, as pandas gives them, it is
        returned as it is, and so is one of another length, or of one output.
    names : sequence (n_outputs,)
        What the outputs are called. If these are the numbers from zero, and the labels
        are not, the outputs have no names.
    what : str
        What the parameter is, for the message.
    axes : {1, 2}
        Whether columns are outputs as well. One axis with labels is enough then.

    Returns
    -------
    value, or an array

    Raises
    ------
    ValueError
        If labels are not the names of the outputs.
    """
    labels = [getattr(value, "index", None) if hasattr(value, "iloc") else None]
    if axes == 2:
        # the ``columns`` of a table of pyarrow are its entries
        columns = getattr(value, "columns", None)
        labels.append(getattr(value, "column_names", columns))
    known = [one for one in labels if one is not None and not _are_numbers(one)]
    if not known or len(value) != len(names) or len(names) == 1:
        return value
    if _are_numbers(names) and {*map(str, known[0])} != {*map(str, names)}:
        return value
    for axis, one in enumerate(labels):
        own = known[0] if one is None or _are_numbers(one) else one
        value = np.take(np.asarray(value), _numbers_of(own, names, what), axis=axis)
    return value


def _are_numbers(labels: Any) -> bool:
    """Tell whether labels are the numbers from zero, in order."""
    return [str(label) for label in labels] == [str(i) for i in range(len(labels))]


def _numbers_of(labels: Any, names: Any, what: str) -> list[int]:
    """Return which of the labels each name is."""
    numbers = {str(label): number for number, label in enumerate(labels)}
    if set(numbers) != {str(name) for name in names}:
        raise ValueError(
            f"{what} has the labels {listed(labels)}, and the outputs are called "
            f"{listed(names)}. Give both the same names, or pass an array "
            "(.to_numpy()) if the order is right."
        )
    return [numbers[str(name)] for name in names]
