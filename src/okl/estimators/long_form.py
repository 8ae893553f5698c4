"""Data in long form: one task a row, named beside it.

``fit(X, y, task=ids)`` takes one target a row and the task that it is for;
``output_names_`` are the ids, sorted, and an output of the model is a task.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from okl.coding.tasks import Tasks
from okl.numerics.missing import is_missing

# Unknown ids that a message lists.
_LISTED = 5


def enter_long_form(
    estimator: Any, y: np.ndarray, task: Any
) -> tuple[np.ndarray, Tasks | None]:
    """Return y as one target a row, and the tasks; name the outputs by the ids.

    Parameters
    ----------
    estimator : object
        Whose ``output_names_`` to set.
    y : array (n_samples,) or (n_samples, 1)
    task : array (n_samples,) or None
        The ids; None for data that is not in long form.

    Raises
    ------
    ValueError
        If y has several columns, or the ids cannot be used.
    """
    if task is None:
        return y, None
    if y.ndim > 1 and y.shape[1] != 1:
        raise ValueError(
            "With task there is one target a row, that of its task; got y with "
            f"{y.shape[1]} columns. Leave task out, or stack the columns of y."
        )
    ids = checked_ids(task, y)
    names, codes = np.unique(ids, return_inverse=True)
    estimator.output_names_ = names
    return y.reshape(-1), Tasks(codes, len(names))


def checked_ids(task: Any, rows: Any) -> np.ndarray:
    """Return ids (n_samples,), as many as there are rows.

    Raises
    ------
    ValueError
        For ids of another shape, missing ones, or some that cannot be sorted.
    """
    ids = np.asarray(task)
    if ids.shape[1:] not in ((), (1,)) or ids.ndim == 0 or ids.dtype.kind == "c":
        raise ValueError(
            "task must have one id for each row, a number or a text; got an array of "
            f"{ids.dtype} of shape {ids.shape}. Join ids of several parts, for "
            "instance as f'{school}/{year}'."
        )
    ids = column_or_1d(ids, input_name="task")
    check_consistent_length(rows, ids)
    # NumPy makes text of all that is listed beside text
    listed = isinstance(task, list | tuple)
    given = np.fromiter(task, dtype=object, count=len(task)) if listed else ids
    lacks = given.dtype.kind in "OfmM" and any(map(is_missing, given))
    if lacks or np.ma.is_masked(task):
        raise ValueError("task is missing in some rows; every row needs its task.")
    if given.dtype.kind == "O" and len({isinstance(one, str) for one in given}) > 1:
        raise ValueError(
            "task mixes strings with other ids, which cannot be sorted; convert all of "
            "them to strings."
        )
    if ids.dtype.kind == "O":
        try:
            np.unique(ids)
        except TypeError as error:
            raise ValueError(
                "task has ids that cannot be sorted, such as "
                f"{ids[0]!r}; make strings or numbers of them."
            ) from error
    return ids


def codes_of(names: np.ndarray, task: Any, rows: Any) -> np.ndarray:
    """Return the numbers of tasks known from the fit, (n_samples,).

    Raises
    ------
    ValueError
        If an id was not there in the fit, or ids cannot be used.
    """
    ids = checked_ids(task, rows)
    if names.dtype.kind in "mM" and ids.dtype.kind in "mM":  # days, or nanoseconds
        unit = np.result_type(names, ids)
        names, ids = names.astype(unit), ids.astype(unit)
    numbers = {name: code for code, name in enumerate(names.tolist())}
    codes = np.array([numbers.get(name, -1) for name in ids.tolist()], dtype=np.intp)
    if np.any(codes < 0):
        unknown = list(dict.fromkeys(ids[codes < 0].tolist()))
        listed = ", ".join(map(repr, unknown[:_LISTED]))
        more = f" and {len(unknown) - _LISTED} more" if len(unknown) > _LISTED else ""
        raise ValueError(
            f"The fit had no rows of the task {listed}{more}; output_names_ lists the "
            "known tasks. Fit with rows of every task, or leave these out."
        )
    return codes
