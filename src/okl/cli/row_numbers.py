"""Columns that only number the rows, and should not be learned from.

pandas' ``to_csv`` writes the labels of the rows first, in a column without a name. When
the file is read it is a column of numbers like any other, and predictions would depend
on the order of the rows. The same holds for numbers in a column named as an id.
"""

from __future__ import annotations

import re
import warnings

import pandas as pd
from pandas.api.types import is_integer_dtype

UNNAMED = "Unnamed: "  # the name that pandas gives to a column without one
_ID = re.compile(r"(.*[_ .-])?(?i:id|index)|.*[a-z](Id|ID|Index)")


def warn_of_row_numbers(table: pd.DataFrame) -> None:
    """Warn of columns of different whole numbers without a name, or named as an id."""
    for name, cells in table.items():
        if not (is_integer_dtype(cells) and cells.is_unique):
            continue
        if str(name).startswith(UNNAMED):
            warnings.warn(
                f"the column without a name ({name}) numbers the rows, as pandas "
                "writes them, and is used as a feature; leave it out by --ignore, or "
                "give it a name",
                stacklevel=2,
            )
        elif _ID.fullmatch(str(name)):
            warnings.warn(
                f"the column {name} has a different whole number in each row, and is "
                "used as a feature. If it only identifies rows, leave it out by "
                "--ignore",
                stacklevel=2,
            )
