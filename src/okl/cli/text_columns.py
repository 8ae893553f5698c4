"""Checks for columns of text that were perhaps not meant as text.

A model takes text as one column of zeros and ones for each value. A single stray cell
therefore turns a column of numbers into as many columns as it has values; a column of
dates becomes one for each day. There would be no error, but nothing would be learned.
If almost all cells of a column are numbers, or dates, the table is refused. If that is
less sure, or if the values of a text hardly repeat, there is a warning.

Codes such as 7, 12 and 12b are text, although most look like numbers. Usually more than
one in ten of them has a letter, and the letters differ. Stray cells are fewer, or are
all the same word for an unknown value.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pandas as pd
from pandas.tseries.api import guess_datetime_format

from okl.cli.errors import UserError, listing, shown

_ALMOST_ALL, _MOST = 0.9, 0.5  # shares of cells
_LOOKED_AT = 100  # the number of different cells that are tested for dates
_LONGEST = 30  # characters of a cell that is quoted

_WITH_COMMA = r"\d+(\.\d{3})*,\d+|\d{1,3}(,\d{3})+(\.\d+)?"
# 12 %, $5, -1,234.50 €
_WITH_SIGN = rf"[+-]?[$€£¥]?\s?[+-]?({_WITH_COMMA}|\d+\.?\d*|\.\d+)\s?[%$€£¥]?"

# A text has many values if each row has another one, if it has more than _MANY with few
# rows for each on average, or more than _VERY_MANY.
_MANY, _ROWS_EACH, _VERY_MANY = 20, 5, 200


def check_text_is_meant(table: pd.DataFrame) -> None:
    """Refuse columns of text that are numbers or dates in almost all cells.

    Columns of categories (from Parquet) were declared to be such, and text whose cells
    all look like numbers was declared to be text.

    Raises
    ------
    UserError
        The message names the columns, the first cell that is no number, and its row.
    """
    numbers, signs, dates = [], [], []
    for name, cells in _texts(table):
        if isinstance(cells.dtype, pd.CategoricalDtype):
            continue
        are_numbers = _are_numbers(cells)
        share = are_numbers.mean()
        if share == 1:
            continue
        same = cells[~are_numbers].nunique() == 1
        same &= cells[are_numbers].nunique() > _MANY
        if share >= (_MOST if same else _ALMOST_ALL):
            numbers.append(f"{shown(name)} ({strays(table[name])})")
        elif share >= _MOST:
            warnings.warn(
                f"the column {name} is taken as text: {share:.0%} of its cells are "
                f"numbers, but {strays(table[name])}",
                stacklevel=2,
            )
        elif _have_signs(cells):
            signs.append(f"{shown(name)} ({_quoted(cells, 0)})")
        elif _are_dates(cells):
            dates.append(f"{shown(name)} ({_quoted(cells, 0)})")
    _refuse(numbers, signs, dates)


def warn_of_many_values(table: pd.DataFrame) -> None:
    """Warn of columns of text with many values, or with few rows for each value."""
    for name, cells in _texts(table):
        n_values, n_rows = cells.nunique(), len(table)
        few_rows_each = n_values > _MANY and n_rows < _ROWS_EACH * n_values
        few_rows_each |= n_values == len(cells)
        if few_rows_each or n_values > _VERY_MANY:
            warnings.warn(
                f"the text column {name} has {n_values} values in {n_rows} rows, and "
                "becomes as many columns of zeros and ones. If it names or numbers the "
                "rows (an identifier, a time), leave it out by --ignore",
                stacklevel=2,
            )


def _refuse(numbers: list[str], signs: list[str], dates: list[str]) -> None:
    """Refuse the columns described, if there are any."""
    if numbers:
        raise UserError(
            f"there is text among the numbers of {listing(numbers)}; rows count from 1 "
            "below the names. Write numbers there, remove these rows, or leave columns "
            "out by --ignore. If the numbers are codes, begin each with a letter."
        )
    if signs:
        raise UserError(
            "numbers have commas, percent signs or currency signs in the columns "
            f"{listing(signs)}, and would be read as text. Write 12 for 12 % and 1234 "
            "for 1,234 or 1.234; for 1,5 write 1.5, or give --decimal , (and --sep)."
        )
    if dates:
        raise UserError(
            f"cannot use dates as they are, in the columns {listing(dates)}: each date "
            "would be a category of its own. Write the days since one of them, the "
            "month or the day of the week, as numbers, or leave them out by --ignore."
        )


def strays(column: pd.Series) -> str:
    """Describe the cells of a column that are no numbers: the first, and the number."""
    positions = (~_are_numbers(column) & column.notna()).to_numpy().nonzero()[0]
    if not len(positions):
        return "numbers written as text"
    more = f" and {len(positions) - 1} more" if len(positions) > 1 else ""
    return f"{_quoted(column, positions[0])} in row {positions[0] + 1}{more}"


def has_decimal_commas(column: pd.Series) -> bool:
    """Tell whether the cells of a column that are no numbers are some with a comma."""
    cells = column[~_are_numbers(column)].dropna().astype(str).str.strip()
    return bool(len(cells) and cells.str.fullmatch(r"[+-]?\d*,\d+").all())


def _texts(table: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    for name in table:
        cells = table[name].dropna()
        if len(cells):
            yield str(name), cells


def _are_numbers(cells: pd.Series) -> pd.Series:
    return pd.to_numeric(cells.astype(object), errors="coerce").notna()


def _have_signs(cells: pd.Series) -> bool:
    """Tell whether almost all cells are numbers, with commas, % or signs of money."""
    texts = cells.astype(str).str.strip()
    written = texts.str.fullmatch(_WITH_SIGN) | _are_numbers(cells)
    return bool(written.mean() >= _ALMOST_ALL and texts.nunique() > _MANY)


def _are_dates(cells: pd.Series) -> bool:
    """Tell whether almost all cells name a day or a month of some year."""
    looked_at = cells.astype(str).str.strip().drop_duplicates().head(_LOOKED_AT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of words that might be time zones
        found = [guess_datetime_format(cell) is not None for cell in looked_at]
    return sum(found) >= _ALMOST_ALL * len(found)


def _quoted(cells: pd.Series, position: int) -> str:
    text = shown(cells.iloc[position])
    return f"'{text[:_LONGEST]}...'" if len(text) > _LONGEST else f"'{text}'"
