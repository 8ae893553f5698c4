"""Targets that are known in the rows to be predicted: ``given`` of `predict`."""

from __future__ import annotations

from typing import Any

import numpy as np

from okl.numerics.numbers import checked_numbers


def given_targets(
    given: Any, n_samples: int, n_outputs: int, names: np.ndarray | None
) -> np.ndarray:
    """Return the known targets as an array (n_samples, n_outputs), NaN elsewhere.

    Parameters
    ----------
    given : array or DataFrame
        A DataFrame may have some of the outputs, in any order, if they have names.
    n_samples, n_outputs : int
        What is expected.
    names : array (n_outputs,) or None
        Those of the outputs.

    Raises
    ------
    ValueError
        For another shape, columns that are no outputs or come twice, or infinity.
    """
    columns = getattr(given, "columns", None)
    values = checked_numbers(
        given, "given", ensure_min_features=0, ensure_min_samples=0
    )
    if columns is not None and names is not None and values.ndim == 2:
        values = _in_order([str(c) for c in columns], values, [str(n) for n in names])
    if n_outputs == 1 and values.ndim == 1:
        values = values[:, None]
    if values.shape != (n_samples, n_outputs):
        raise ValueError(
            f"given has the shape {values.shape}; expected {(n_samples, n_outputs)}: a "
            "row for each row of X and a column for each output, NaN where a target is "
            "not known."
        )
    return values


def _in_order(columns: list[str], values: np.ndarray, names: list[str]) -> np.ndarray:
    """Return columns in the order of the outputs, NaN for those that are not there."""
    unknown = [name for name in columns if name not in names]
    if unknown:
        raise ValueError(
            f"given has the column {unknown[0]!r}, which is none of the outputs of the "
            f"fit: {', '.join(map(repr, names[:20]))}{', ...' if names[20:] else ''}."
        )
    ordered = np.full((len(values), len(names)), np.nan)
    ordered[:, [names.index(name) for name in columns]] = values
    return ordered
