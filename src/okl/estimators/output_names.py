"""Names of outputs: the columns of a data frame of targets."""

from __future__ import annotations

from typing import Any

import numpy as np

from okl.trees.names import listed


def set_output_names(estimator: Any, y: Any) -> None:
    """Keep the column names of a DataFrame; forget those of an earlier fit."""
    columns = _columns(y)
    if columns is not None and np.ndim(y) == 2:
        estimator.output_names_ = np.asarray([str(c) for c in columns], dtype=object)
    else:
        vars(estimator).pop("output_names_", None)


def in_order_of_fit(estimator: Any, y: Any) -> Any:
    """Return a DataFrame of targets with its columns in the order of the fit.

    Anything else is returned as it is, and so is a frame without names, whose columns
    are numbered from zero where those of the fit were not.

    Raises
    ------
    ValueError
        If the columns have other names than those of the fit.
    """
    known = list(getattr(estimator, "output_names_", []))
    ordered = _in_order(y, known)
    if ordered is not None or y is None:
        return ordered
    asked = _names(y)
    if asked == [str(j) for j in range(len(asked))]:
        return y
    other = [name for name in asked if name not in known]
    said = f"the columns {listed(other)}" if other else f"{len(asked)} columns"
    raise ValueError(
        f"y has {said}; the outputs of the fit are {listed(known)}. Give these "
        "columns, in any order, or an array."
    )


def matched(estimator: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """Return targets, and weights, with their columns in the order of the fit."""
    weights = weights_in_order(estimator, sample_weight, y)
    return in_order_of_fit(estimator, y), weights


def weights_in_order(estimator: Any, sample_weight: Any, y: Any = None) -> Any:
    """Return a DataFrame of weights with its columns in the order of the outputs.

    It is returned as it is where none of its columns has the name of an output, and so
    is anything else. If the outputs of the fit have no names, those of y are theirs.

    Raises
    ------
    ValueError
        If some columns have names of outputs, and others do not.
    """
    names = list(getattr(estimator, "output_names_", []))
    if not names and _columns(y) is not None:
        names = _names(y)
    ordered = _in_order(sample_weight, names)
    if ordered is not None or sample_weight is None:
        return ordered
    asked = _names(sample_weight)
    other = [name for name in asked if name not in names]
    if len(other) < len(asked) == len(names):
        raise ValueError(
            f"sample_weight has the columns {listed(other or asked)}; the outputs are "
            f"{listed(names)}. Give these columns, in any order, or an array."
        )
    return sample_weight


def _in_order(table: Any, names: list[str]) -> Any:
    """Return a table with its columns in the order of names, None if it has others.

    What has no names, or one column, is returned as it is.
    """
    columns = _columns(table)
    if columns is None or not names or len(columns) == 1:
        return table
    asked = _names(table)
    if sorted(asked) != sorted(names):
        return None
    ordered = [columns[asked.index(name)] for name in names]
    return table.select(ordered) if _is_arrow(table) else table[ordered]


def _names(table: Any) -> list[str]:
    return [str(name) for name in _columns(table)]


def _columns(y: Any) -> Any:
    """Return the names of the columns of a data frame, None of anything else."""
    return getattr(y, "column_names" if _is_arrow(y) else "columns", None)


def _is_arrow(y: Any) -> bool:
    """Tell whether this is a table of pyarrow, whose ``columns`` are their entries."""
    return hasattr(type(y), "column_names")
