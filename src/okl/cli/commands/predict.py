"""``okl predict``: apply a model to a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from okl.cli.commands.options import Decimal, Separator, SkipIncomplete
from okl.cli.errors import shown
from okl.cli.terminal import destination, note, refusals_and_warnings, say


def predict(
    model: Annotated[Path, typer.Argument(help="The model.skops of a fit.")],
    table: Annotated[Path, typer.Argument(help="Table with the features.")],
    out: Annotated[
        str,
        typer.Option(
            metavar="PATH",
            help="Table to write: CSV, TSV or Parquet. In CSV and TSV a ' is put "
            "before names and classes that a spreadsheet would run as a formula, such "
            "as =A1.",
        ),
    ],
    std: Annotated[
        bool,
        typer.Option(
            "--std",
            help="Add a column NAME_std for each target: the standard deviation of a "
            "new target, its noise included.",
        ),
    ] = False,
    interval: Annotated[
        float | None,
        typer.Option(
            "--interval",
            metavar="P",
            help="Add columns NAME_low and NAME_high for each target: a new target "
            "lies between them with this probability, such as 0.9.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of the table to write before the predictions, such as an id, "
            "or a pattern; repeatable."
        ),
    ] = None,
    skip_incomplete: SkipIncomplete = False,
    sep: Separator = None,
    decimal: Decimal = ".",
    proba: Annotated[
        bool,
        typer.Option(
            "--proba",
            help="Add probabilities: P(CLASS) of each class, P(NAME) of each label.",
        ),
    ] = False,
    level: Annotated[
        int | None,
        typer.Option(
            help=(
                "With a tree: add P(NODE) of each node of a level; level 1 has the "
                "children of the root."
            )
        ),
    ] = None,
    decision: Annotated[
        str,
        typer.Option(
            metavar="DECISION",
            help="Which errors of classes to keep low: accuracy; with a tree also taxo "
            "(half the length of the path to the true class) or parent; or a table of "
            "costs with a row for each true class and a column for each answer.",
        ),
    ] = "accuracy",
    reject: Annotated[
        float | None,
        typer.Option(
            metavar="COST",
            help="Cost of giving no answer: cells are empty where the best answer is "
            "expected to cost more.",
        ),
    ] = None,
    min_probability: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help=(
                "With a tree: answer with the deepest node that has at least this "
                "probability."
            ),
        ),
    ] = None,
) -> None:
    """Predict the targets of every row of a table."""
    with refusals_and_warnings():
        from okl.cli.answers import Asked
        from okl.cli.predict import predict_table
        from okl.cli.text_format import TextFormat

        predictions = predict_table(
            model,
            table,
            destination(out),
            std=std,
            interval=interval,
            asked=Asked(proba, level, decision, reject, min_probability),
            kept=keep or [],
            skip_incomplete=skip_incomplete,
            written=TextFormat.of(sep, decimal),
            note=note,
        )
        rows, columns = predictions.shape
        say(f"{shown(out)}: {rows} rows, {columns} predicted columns")
