"""The commands as typer sees them: arguments, help, exit codes.

Each command imports what it needs when it runs, so ``okl --help`` is quick, and a
missing library is noticed before any work. Results go to stdout, notes, warnings and
errors to stderr. A `UserError` is one line, and exit code 2.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from okl import __version__
from okl.cli.errors import UserError, one_line

app = typer.Typer(
    name="okl",
    help="Learn several outputs together, and how they are related.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class Task(StrEnum):
    """What is learned."""

    regression = "regression"
    classification = "classification"


def _note(text: object) -> None:
    typer.echo(f"okl: {one_line(text)}", err=True)


@contextmanager
def _refusals_and_warnings() -> Iterator[None]:
    """Print what the user got wrong, and warnings, as one line each."""

    def show(message: Any, *args: Any, **kwargs: Any) -> None:
        _note(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        try:
            yield
        except UserError as error:
            _note(f"error: {error}")
            raise typer.Exit(2) from None


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"okl {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Learn several outputs together, and how they are related."""


@app.command()
def fit(
    table: Annotated[Path, typer.Argument(help="CSV (.gz), TSV or Parquet file.")],
    target: Annotated[
        list[str],
        typer.Option(
            help="Column to predict, or a pattern like 'y_*'; repeatable. Empty cells "
            "are targets that were not observed."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the results.")],
    task: Annotated[
        Task | None, typer.Option(help="Inferred from the targets by default.")
    ] = None,
    task_column: Annotated[
        str | None,
        typer.Option(
            help="For one target in long form: the column that names the task, or "
            "output, that each row is of."
        ),
    ] = None,
    structure: Annotated[
        list[str] | None,
        typer.Option(
            help="How outputs may be related: frobenius (the default), low_rank, "
            "trace_ball, sparse, cluster, mean or identity; repeatable."
        ),
    ] = None,
    kernel: Annotated[
        str, typer.Option(help="Similarity of rows, a name of okl.kernels.")
    ] = "rbf",
    loss: Annotated[
        str | None,
        typer.Option(
            help="How errors count, a name of okl.losses; squared by default."
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A parameter: kernel__gamma=0.1, structure__rank=3, alphas=10, "
            "tol=1e-5, ...; repeatable.",
        ),
    ] = None,
    cv: Annotated[int, typer.Option(help="Number of folds.")] = 5,
) -> None:
    """Fit a model to a table; write it, pictures and a report."""
    with _refusals_and_warnings():
        from okl.cli.fit import fit_table

        fitted = fit_table(
            table,
            target,
            out,
            task=task.value if task else None,
            task_column=task_column,
            structures=structure or ["frobenius"],
            kernel=kernel,
            assignments=[*([f"loss={loss}"] if loss else []), *(assignments or [])],
            n_folds=cv,
            note=_note,
        )
        typer.echo(fitted.report)
        typer.echo(f"Written to {out}.")


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="The model.skops of a fit.")],
    table: Annotated[Path, typer.Argument(help="Table with the features.")],
    out: Annotated[Path, typer.Option(help="Table to write: CSV, TSV or Parquet.")],
) -> None:
    """Predict the targets of every row of a table."""
    with _refusals_and_warnings():
        from okl.cli.predict import predict_table

        predictions = predict_table(model, table, out, note=_note)
        rows, columns = predictions.shape
        typer.echo(f"{out}: {rows} rows, {columns} predicted columns")


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path(
        "okl-demo"
    ),
) -> None:
    """Fit scikit-learn's digits, and predict those held out."""
    with _refusals_and_warnings():
        from okl.cli.demo import run_demo

        typer.echo(run_demo(out, note=_note))
