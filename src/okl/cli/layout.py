"""The layout of a page of text: sections, pairs, columns."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import fill, indent

WIDTH = 80
_LONGEST = 100


def section(title: str, lines: Iterable[str], underline: str = "-") -> str:
    """Return lines, indented, below a title that is underlined."""
    body = indent("\n".join(lines), "  ")
    return "\n".join([title, underline * len(title), *([body] if body else [])])


def pairs(pairs: dict[str, str]) -> list[str]:
    """Return a line for each name with its text; long texts are wrapped."""
    width = max(map(len, pairs)) + 2
    margin = " " * width
    return [
        fill(f"{name:{width}}{text}", _LONGEST, subsequent_indent=margin)
        for name, text in pairs.items()
    ]


def aligned(rows: list[list[str]]) -> list[str]:
    """Return rows as lines, their cells in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]
