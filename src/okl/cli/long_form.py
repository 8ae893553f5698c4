"""Tables in long form: a column names the task that each row's one target is of."""

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
        That of the column.
    kind : str
        What it holds; a later table is read in the same way.
    values : array (n_samples,)
        Whole numbers where it holds only these.
    """

    name: str
    kind: Kind
    values: np.ndarray

    @classmethod
    def of(cls, table: pd.DataFrame, name: str) -> Ids:
        """Find the column.

        Raises
        ------
        UserError
            If it is not there, not complete, or another task in each row.
        """
        check_there(table, "--task-column", name)
        (kind,) = kinds_of(table[[name]]).values()
        values = ids_in(table, name, kind)
        if len(np.unique(values)) == len(values):
            raise UserError(
                f"--task-column {name} names another task in each of the {len(values)} "
                "rows, of which none says anything of the others; a task has several "
                "rows. Name the column that says which rows belong together."
            )
        return cls(name, kind, values)


def ids_in(table: pd.DataFrame, name: str, kind: Kind) -> np.ndarray:
    """Return the tasks of the rows of a table (n_samples,).

    Raises
    ------
    UserError
        If the column is not there, not complete, or of another kind.
    """
    values = plain(table, {name: kind})[name].to_numpy()
    if kind == "number" and np.all(values == np.round(values)):
        return values.astype(np.int64)
    return values.astype(str) if kind == "text" else values
