"""Tables in long form: one target in each row, and a column with its task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from okl.cli.columns import Kind, check_there, kinds_of, plain
from okl.cli.errors import UserError


@dataclass(frozen=True)
class Ids:
    """The tasks of the rows.

    Attributes
    ----------
    name : str
        The name of the column.
    kind : str
        The kind of the column; a later table is read in the same way.
    values : array (n_samples,)
        The tasks; integers if the column has only whole numbers.
    """

    name: str
    kind: Kind
    values: np.ndarray

    @classmethod
    def of(cls, table: pd.DataFrame, name: str) -> Ids:
        """Return the tasks in a column.

        Raises
        ------
        UserError
            If there is no such column, it has empty cells, or no two rows have the same
            task.
        """
        check_there(table, "--task-column", name)
        (kind,) = kinds_of(table[[name]]).values()
        values = ids_in(table, name, kind)
        if len(np.unique(values)) == len(values):
            raise UserError(
                f"--task-column {name} names a different task in each of the "
                f"{len(values)} rows, so that no row tells anything about another; a "
                "task needs several rows. Name the column that says which rows belong "
                "together."
            )
        return cls(name, kind, values)


def ids_in(table: pd.DataFrame, name: str, kind: Kind) -> np.ndarray:
    """Return the tasks of the rows of a table (n_samples,).

    Raises
    ------
    UserError
        If there is no such column, it has empty cells, or it is of another kind.
    """
    values = plain(table, {name: kind})[name].to_numpy()
    if kind == "number" and np.all(values == np.round(values)):
        return values.astype(np.int64)
    return values.astype(str) if kind == "text" else values
