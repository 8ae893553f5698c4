"""Pages with a table and a picture, written beside and renamed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

PAGES = Path(__file__).resolve().parent.parent / "docs" / "reproductions"


def data_folder(name: str) -> Path:
    """Return the folder of a data set below ``OKL_DATA``."""
    root = os.environ.get("OKL_DATA")
    if not root:
        raise SystemExit(
            f"The data set {name} is needed: set OKL_DATA to the folder that holds it."
        )
    return Path(root) / name


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def marked(values: Mapping[str, str], best: str, methods: Iterable[str]) -> list[str]:
    """Return a cell for each method, that of the best one bold, a dash for none."""
    return [
        "–"
        if one not in values
        else f"**{values[one]}**"
        if one == best
        else values[one]
        for one in methods
    ]


def write_page(name: str, text: str) -> None:
    """Write ``docs/reproductions/NAME.md``."""
    PAGES.mkdir(parents=True, exist_ok=True)
    path = PAGES / f"{name}.md"
    beside = path.with_suffix(".part")
    beside.write_text(text.rstrip() + "\n")
    beside.replace(path)
    print(text)


def save_figure(figure: Any, name: str) -> str:
    """Save a picture beside the pages; return the Markdown that shows it."""
    PAGES.mkdir(parents=True, exist_ok=True)
    figure.savefig(PAGES / f"{name}.png", dpi=110, bbox_inches="tight")
    return f"![{name.replace('_', ' ')}]({name}.png)"
