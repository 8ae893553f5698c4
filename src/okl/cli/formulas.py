"""Text that a spreadsheet would run.

A table that is written may be opened in a spreadsheet, which runs text such as ``=A1``
as a formula, although it may be a name or class from an unknown source. In CSV and TSV
such text is written with an apostrophe before it, by which spreadsheets recognise text.
"""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

# A sign alone, or a number, is not run. The wide signs are those of East Asian
# keyboards.
_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠].", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)(e[+-]?\d+)?", re.IGNORECASE)


def as_text(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula."""
    if not isinstance(cell, str) or not _FORMULA.match(cell) or _NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"


def inert(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose names and cells no spreadsheet takes for formulas."""
    texts = table.select_dtypes(exclude=["number", "bool", "datetime", "datetimetz"])
    # as objects: `map` would make floats of whole numbers in a column with an empty
    # cell
    cells = {
        name: pd.Series([as_text(one) for one in texts[name]], table.index, object)
        for name in texts
    }
    return table.assign(**cells).set_axis(
        [as_text(name) for name in table], axis="columns"
    )
