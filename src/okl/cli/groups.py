"""Rows that belong together: those of one patient, one site, one film.

Such rows are more alike than new rows will be. If they were held out separately, each
would be predicted from the others of its group, and scores would be too good. They are
therefore held out together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from okl.cli.columns import check_there
from okl.cli.errors import UserError, listing

_FEWEST = 2


@dataclass(frozen=True)
class Groups:
    """The groups of the rows.

    Attributes
    ----------
    name : str
        The name of the column.
    values : array of int (n_samples,)
        The number of the group of each row.
    """

    name: str
    values: np.ndarray

    @classmethod
    def of(cls, table: pd.DataFrame, name: str) -> Groups:
        """Return the groups in a column.

        Raises
        ------
        UserError
            If there is no such column, it has empty cells, or all its values are equal.
        """
        check_there(table, "--group-column", name)
        empty = int(table[name].isna().sum())
        if empty:
            raise UserError(
                f"--group-column {name} is empty in {empty} of the {len(table)} rows, "
                "which then belong to no group. Fill in these cells; a row that "
                "belongs with no other gets a name of its own."
            )
        try:
            values, names = pd.factorize(table[name])
        except TypeError as error:
            raise UserError(
                f"the cells of --group-column {name} cannot name groups: {error}. "
                "Expected text, numbers, dates, or True and False."
            ) from error
        if len(names) < _FEWEST:
            raise UserError(
                f"--group-column {name} is {listing(names)} in each row; holding one "
                "group out takes at least two. Leave it out, or name another column."
            )
        return cls(name, values)

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return int(self.values.max()) + 1

    def sums(self, rows: np.ndarray) -> np.ndarray:
        """Return the sums (n_groups, ...) of rows (n_samples, ...) of each group."""
        sums = np.zeros((self.n_groups, *rows.shape[1:]))
        np.add.at(sums, self.values, rows)
        return sums

    def check_classes(self, classes: np.ndarray) -> None:
        """Refuse classes if each of them is in one group only.

        Raises
        ------
        UserError
            In that case no class could be recognised in a group that is held out.
        """
        pairs = pd.DataFrame({"group": self.values, "class": classes}).drop_duplicates()
        if len(pairs) == pairs["class"].nunique():
            raise UserError(
                f"each class has rows in one {self.name} only, so that it cannot be "
                f"recognised when that {self.name} is held out. Name another "
                "--group-column, or leave it out."
            )
