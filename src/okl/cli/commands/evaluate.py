"""``okl evaluate``: score a model on a table that has the targets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from okl.cli.commands.options import Decimal, Separator, SkipIncomplete
from okl.cli.terminal import note, refusals_and_warnings, say


def evaluate(
    model: Annotated[Path, typer.Argument(help="The model.skops of a fit.")],
    table: Annotated[
        Path, typer.Argument(help="Table with the features and the true targets.")
    ],
    std: Annotated[
        bool,
        typer.Option(
            "--std",
            help="Count the targets in intervals of 50, 80 and 95 % around the "
            "predictions.",
        ),
    ] = False,
    skip_incomplete: SkipIncomplete = False,
    sep: Separator = None,
    decimal: Decimal = ".",
) -> None:
    """Score the predictions for a table that has the targets."""
    with refusals_and_warnings():
        from okl.cli.evaluate import evaluate_table
        from okl.cli.text_format import TextFormat

        page = evaluate_table(
            model,
            table,
            std=std,
            skip_incomplete=skip_incomplete,
            written=TextFormat.of(sep, decimal),
            note=note,
        )
        say(page)
