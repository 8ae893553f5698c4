"""What is between the cells of a text table, and what marks the decimals of numbers.

The ending of a file's name tells the separator, commas for ``.csv`` and tabs for
``.tsv``, and the decimal mark is a point. Spreadsheets of many countries write
semicolons and decimal commas into a ``.csv``. This is never guessed, as 1,234 may be
two numbers, one, or one and a bit: the options ``--sep`` and ``--decimal`` say it, and
a first line that looks like another format is refused.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from okl.cli.errors import UserError, shown

# The separator of each text format.
SEPARATORS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
# What may be between cells instead, its name, and how to ask for it.
_OTHERS = {
    ";": ("semicolons", "--sep ';'"),
    "\t": ("tabs", "--sep tab"),
    ",": ("commas", "--sep ,"),
    "|": ("vertical bars", "--sep '|'"),
}
_WORDS = {"tab": "\t", "\\t": "\t"}


@dataclass(frozen=True)
class TextFormat:
    """How the cells of a text table are written.

    Attributes
    ----------
    separator : str or None
        The character between cells; None for that of the file's name.
    decimal : str
        The character before the decimals of numbers.
    """

    separator: str | None = None
    decimal: str = "."

    @classmethod
    def of(cls, separator: str | None, decimal: str) -> TextFormat:
        r"""Return the format that ``--sep`` and ``--decimal`` ask for.

        The word ``tab``, and ``\t``, are a tab.

        Raises
        ------
        UserError
            For anything but a sign that may stand between cells, or before decimals.
        """
        if separator is not None:
            separator = _WORDS.get(separator, separator)
            if len(separator) != 1 or separator.isalnum() or separator in "\"'\r\n-+.":
                raise UserError(
                    f"--sep '{shown(separator)}' is not one sign that may be between "
                    "cells; expected for example ';', ',', '|' or tab."
                )
        if decimal not in (".", ","):
            raise UserError(
                f"--decimal '{shown(decimal)}' is neither a point nor a comma."
            )
        if decimal == separator:
            raise UserError(
                f"--sep and --decimal are both '{decimal}'; cells and decimals cannot "
                "be told apart."
            )
        return cls(separator, decimal)

    def separator_of(self, path: Path, suffix: str) -> str:
        """Return what is between the cells of a file.

        Raises
        ------
        UserError
            If that is the decimal mark as well.
        """
        separator = self.separator or SEPARATORS[suffix]
        if separator == self.decimal:
            raise UserError(
                f"--decimal {self.decimal} does not fit {path}, which has commas "
                "between its cells, as its name says; give --sep as well."
            )
        return separator


AS_BY_NAME = TextFormat()


def check_separator(path: Path, lines: Iterable[str], separator: str) -> None:
    """Refuse a table that seems to have another separator.

    That is a single name with another separator in it, or another separator that gives
    as many cells in the row below as names: more of them, or where its own does not.

    Parameters
    ----------
    path : Path
    lines : iterable of str
        The first line, and the one below it.
    separator : str
        The one of the format.
    """
    first = [line for line in islice(lines, 50) if line.strip()][:2]
    if not first:
        return
    names, *below = _sizes(first, separator)
    own_fits = below == [names]
    for other, (name, option) in _OTHERS.items():
        found, *under = _sizes(first, other)
        better = under == [found] and (found > names or not own_fits)
        if other != separator and found > 1 and (names == 1 or better):
            decimal = " (and --decimal , if numbers have commas)" * (other != ",")
            raise UserError(
                f"{path} has {name} between the names of columns; files called .csv "
                f"have commas, files called .tsv tabs. Give {option}{decimal}."
            )


def _sizes(lines: list[str], separator: str) -> list[int]:
    """Return the number of cells of each line."""
    try:
        return [len(cells) for cells in csv.reader(lines, delimiter=separator)]
    except csv.Error:  # a cell of more than 131,072 letters
        return [0]
