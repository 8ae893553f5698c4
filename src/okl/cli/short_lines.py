"""Lines of a text table that end before its last column.

pandas takes the cells that such a line lacks for empty ones, in silence. Some
spreadsheets do leave out empty cells at the end of a line; but a file that was cut off,
or a cell that holds a separator without quotes, looks the same, and a target would
count as missing.
"""

from __future__ import annotations

import contextlib
import csv
import warnings
from collections.abc import Iterable
from pathlib import Path


def warn_of_short_lines(path: Path, lines: Iterable[str], separator: str) -> None:
    """Warn of lines with fewer cells than the first has names; empty lines are none.

    The warning names the first of them by the number it has in an editor, where a cell
    with line breaks in it takes several lines.
    """
    reader = csv.reader(lines, delimiter=separator)
    names = len(next(reader, []))
    short = ((reader.line_num, len(cells)) for cells in reader if cells)
    found: list[tuple[int, int]] = []
    with contextlib.suppress(csv.Error):  # a cell of more than 131,072 letters
        found.extend((line, cells) for line, cells in short if cells < names)
    if not found:
        return
    line, cells = found[0]
    also = f" ({len(found)} such lines in all)" if len(found) > 1 else ""
    warnings.warn(
        f"line {line} of {path} has fewer cells than the first has names, {cells} of "
        f"{names}{also}; what is not there is taken as missing. Check that the file "
        "was not cut off",
        stacklevel=2,
    )
