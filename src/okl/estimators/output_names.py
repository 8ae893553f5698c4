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
    are numbered from zero.

    Raises
    ------
    ValueError
        If the columns have other names than those of the fit.
    """
    columns, names = _columns(y), estimator._names_of_outputs
    if columns is None or names is None or len(columns) == 1:
        return y
    asked, known = [str(c) for c in columns], [str(name) for name in names]
    if asked == known or asked == [str(j) for j in range(len(asked))]:
        return y
    if sorted(asked) != sorted(known):
        other = [name for name in asked if name not in known]
        said = f"the columns {listed(other)}" if other else f"{len(asked)} columns"
        raise ValueError(
            f"y has {said}; the outputs of the fit are {listed(known)}. Give these "
            "columns, in any order, or an array."
        )
    ordered = [columns[asked.index(name)] for name in known]
    return y.select(ordered) if _is_arrow(y) else y[ordered]


def _columns(y: Any) -> Any:
    """Return the names of the columns of a data frame, None of anything else."""
    return getattr(y, "column_names" if _is_arrow(y) else "columns", None)


def _is_arrow(y: Any) -> bool:
    """Tell whether this is a table of pyarrow, whose ``columns`` are their entries."""
    return hasattr(type(y), "column_names")
