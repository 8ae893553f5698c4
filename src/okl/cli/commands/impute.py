"""``okl impute``: fill the empty cells of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from okl.cli.commands.options import Decimal, Separator
from okl.cli.errors import shown
from okl.cli.terminal import destination, note, refusals_and_warnings, say


def impute(
    table: Annotated[Path, typer.Argument(help="CSV (.gz), TSV or Parquet file.")],
    target: Annotated[
        list[str],
        typer.Option(help="Column to fill, or a pattern like 'y_*'; repeatable."),
    ],
    out: Annotated[
        str, typer.Option(metavar="PATH", help="Table to write: CSV, TSV or Parquet.")
    ],
    std: Annotated[
        bool,
        typer.Option(
            "--std",
            help="Add a column NAME_std for each target: the standard deviation of "
            "values filled in, zero elsewhere.",
        ),
    ] = False,
    inputs: Annotated[
        bool, typer.Option(help="Whether the other columns explain the targets.")
    ] = True,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            help="Column that explains nothing, or a pattern; it is written as it is. "
            "Repeatable."
        ),
    ] = None,
    sep: Separator = None,
    decimal: Decimal = ".",
) -> None:
    """Fill the empty cells of columns by the others of their row."""
    with refusals_and_warnings():
        from okl.cli.impute import impute_table
        from okl.cli.text_format import TextFormat

        n_filled = impute_table(
            table,
            target,
            destination(out),
            inputs=inputs,
            std=std,
            ignored=ignore or [],
            written=TextFormat.of(sep, decimal),
            note=note,
        )
        say(f"{shown(out)}: {n_filled} cell{'s' * (n_filled != 1)} filled")
