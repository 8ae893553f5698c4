"""A column that pandas wrote of its row labels, and nobody meant to learn from.

``to_csv`` writes the labels of the rows first, in a column without a name. Read again
it is a column of numbers like any other, and the order of the rows becomes something
that predicts.
"""

from __future__ import annotations

import warnings

import pandas as pd
from pandas.api.types import is_integer_dtype

_UNNAMED = "Unnamed: "  # what pandas calls a column without a name


def warn_of_row_numbers(table: pd.DataFrame) -> None:
    """Warn of columns without a name whose whole numbers are all different."""
    for name, cells in table.items():
        unnamed = str(name).startswith(_UNNAMED)
        if unnamed and is_integer_dtype(cells) and cells.is_unique:
            warnings.warn(
                f"the column without a name ({name}) numbers the rows, as pandas "
                "writes them, and is learned from like any other; leave it out of the "
                "table (to_csv(index=False)), or give it a name",
                stacklevel=2,
            )
