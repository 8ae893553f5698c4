"""Values of a text column that are written differently and may mean the same.

``Berlin``, ``berlin`` and ``Berlin `` are three values, each with a column of zeros and
ones, a class or a task of its own. A reader of the table hardly sees that.
"""

from __future__ import annotations

import warnings

import pandas as pd

from okl.cli.columns import kind_of
from okl.cli.errors import shown

_MOST = 3  # examples of a column


def warn_of_alike_values(table: pd.DataFrame) -> None:
    """Warn of text columns with values that differ in spaces or letter case alone."""
    for name in table:
        if kind_of(table[name]) != "text":
            continue
        values = pd.Series(table[name].dropna().astype(str).unique())
        spelt = values.str.casefold().str.split().str.join(" ")
        alike = [own for _, own in values.groupby(spelt, sort=False) if len(own) > 1]
        if not alike:
            continue
        examples = [
            " and ".join(f"'{shown(value)}'" for value in own.head(2))
            for own in alike[:_MOST]
        ]
        more = f" and {len(alike) - _MOST} more" if len(alike) > _MOST else ""
        warnings.warn(
            f"the column {shown(name)} has values that differ in spaces or letter case "
            f"alone, and count as different: {', '.join(examples)}{more}. Write them "
            "in one way if they mean the same",
            stacklevel=2,
        )
