"""Columns that number the rows, and that nobody meant to learn from.

pandas' ``to_csv`` writes the labels of the rows first, in a column without a name. Read
again it is a column of numbers like any other, and the order of the rows becomes
something that predicts. So it is with numbers that a table calls an id.
"""

from __future__ import annotations

import re
import warnings

import pandas as pd
from pandas.api.types import is_integer_dtype

_UNNAMED = "Unnamed: "  # what pandas calls a column without a name
_ID = re.compile(r"(.*[_ .-])?(?i:id|index)|.*[a-z](Id|ID|Index)")


def warn_of_row_numbers(table: pd.DataFrame) -> None:
    """Warn of whole numbers, all different, without a name or with that of an id."""
    for name, cells in table.items():
        if not (is_integer_dtype(cells) and cells.is_unique):
            continue
        if str(name).startswith(_UNNAMED):
            warnings.warn(
                f"the column without a name ({name}) numbers the rows, as pandas "
                "writes them, and is learned from like any other; leave it out of the "
                "table (to_csv(index=False)), or give it a name",
                stacklevel=2,
            )
        elif _ID.fullmatch(str(name)):
            warnings.warn(
                f"the column {name} has another whole number in each row, and is "
                "learned from like any other. If it only tells rows apart, leave it "
                "out of the table",
                stacklevel=2,
            )
