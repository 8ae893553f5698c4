"""Options that several commands have: how tables are written, and their empty cells."""

from __future__ import annotations

from typing import Annotated

import typer

Separator = Annotated[
    str | None,
    typer.Option(
        "--sep",
        metavar="SIGN",
        help="The sign between the cells of text tables, read or written, such as ';' "
        "or tab; by default commas in .csv, tabs in .tsv.",
    ),
]
Decimal = Annotated[
    str,
    typer.Option(
        "--decimal",
        metavar="SIGN",
        help="The sign before decimals in text tables, a point or a comma.",
    ),
]
SkipIncomplete = Annotated[
    bool,
    typer.Option(
        "--skip-incomplete",
        help="Leave out rows with an empty cell among the features; okl predict writes "
        "empty cells for them.",
    ),
]
