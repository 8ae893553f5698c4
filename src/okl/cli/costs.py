"""A table of costs: a row for each true class, a column for each answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from okl.cli.errors import UserError, listing, shown
from okl.cli.tables import read_table, with_names_as_text


def read_costs(path: Path, classes: np.ndarray) -> np.ndarray:
    """Return the costs of answers (n_classes, n_classes), in the order of classes.

    Parameters
    ----------
    path : Path
        A table with the true classes in its first column, and the answers as the names
        of the others.
    classes : array (n_classes,)

    Raises
    ------
    UserError
        If there is no such table, a class has no row, no column or several rows, or a
        cost is no number.
    """
    table = read_table(path)
    table = with_names_as_text(table, path, [table.columns[0]])
    rows = table.iloc[:, 0].astype(str).tolist()
    names = [str(label) for label in classes.tolist()]
    missing = [n for n in names if n not in rows or n not in table.columns[1:]]
    if missing:
        raise UserError(
            f"the cost matrix {path} needs a row and a column for each class, with the "
            "true classes in its first column and the answers as the names of the "
            f"others; it has none for {listing(missing)}."
        )
    twice = [name for name in names if rows.count(name) > 1]
    if twice:
        raise UserError(
            f"the cost matrix {path} has several rows for {listing(twice)}; each class "
            "must have one."
        )
    chosen = table.set_index(pd.Index(rows)).loc[names, names]
    costs = chosen.apply(pd.to_numeric, errors="coerce").astype(np.float64)
    matrix: np.ndarray = costs.to_numpy()
    wrong = np.argwhere(~np.isfinite(matrix))
    if len(wrong):
        row, column = wrong[0]
        cell = chosen.iloc[row, column]
        raise UserError(
            f"the cost matrix {path} has {'no cost' if pd.isna(cell) else shown(cell)} "
            f"in the row {shown(names[row])} and the column {shown(names[column])}; a "
            "cost is a finite number."
        )
    return matrix
