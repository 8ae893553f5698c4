"""Columns of standard deviations beside those they are of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from okl.cli.errors import UserError

ENDING = "_std"


def with_deviations(
    table: pd.DataFrame, names: Sequence[str], deviations: np.ndarray | None = None
) -> pd.DataFrame:
    """Return a table with a column ``NAME_std`` for each name, at the end.

    Without deviations, of zeros.

    Raises
    ------
    UserError
        If it has such a column already.
    """
    added = [f"{name}{ENDING}" for name in names]
    clash = [name for name in added if name in table]
    if clash:
        raise UserError(
            f"--std would write a second column {clash[0]}; rename the one there is."
        )
    if deviations is None:
        deviations = np.zeros((len(table), len(names)))
    columns = pd.DataFrame(deviations, columns=added, index=table.index)
    return pd.concat([table, columns], axis=1)
