"""The commands as typer sees them: arguments, help, exit codes.

Each command imports what it needs when it runs, so ``okl --help`` is quick, and a
missing library is noticed before any work. Results go to stdout, notes, warnings and
errors to stderr. A `UserError` is one line, and exit code 2; so are too little memory
and numbers that no float can hold, wherever they come up.
"""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from numpy.linalg import LinAlgError

from okl import __version__
from okl.cli.errors import UserError, one_line, refusing, shown

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


class Demo(StrEnum):
    """What a demo shows."""

    mosaic = "mosaic"
    digits = "digits"


def _note(text: object) -> None:
    typer.echo(f"okl: {one_line(text)}", err=True)


def _print(text: str) -> None:
    """Print a result; a full disk behind stdout is no bug of ours."""
    try:
        typer.echo(text)
    except OSError as error:
        if error.errno == errno.EPIPE:  # the reader has seen enough; typer knows
            raise
        # What waits in the buffer must not fail once more when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise UserError(
            f"cannot print: {error.strerror}. Files that were written are complete."
        ) from error


def _destination(text: str) -> Path:
    """Read --out. An empty one, of a variable that is not set, is not this folder."""
    if not text.strip():
        raise UserError("--out is empty; give a name, or . for the current folder.")
    return Path(text)


@contextmanager
def _refusals_and_warnings() -> Iterator[None]:
    """Print what the user got wrong, and warnings, as one line each."""

    def show(message: Any, *args: Any, **kwargs: Any) -> None:
        _note(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        try:
            with (
                refusing("not enough memory", MemoryError),
                refusing(
                    "a number is too large or too small to compute with; choose other "
                    "alphas or parameters, or other units",
                    OverflowError,
                    LinAlgError,
                ),
            ):
                yield
        except UserError as error:
            _note(f"error: {error}")
            raise typer.Exit(2) from None


def _version(asked: bool) -> None:
    if asked:
        with _refusals_and_warnings():
            _print(f"okl {__version__}")
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
    out: Annotated[str, typer.Option(metavar="PATH", help="Folder for the results.")],
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
        list[str] | None,
        typer.Option(
            help="Similarity of rows, a name of okl.kernels, or auto for a linear plus "
            "a Matern kernel with a width for each column, learned from the table; "
            "repeatable. By default linear, three Gaussian and three Matern kernels of "
            "different widths are tried."
        ),
    ] = None,
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
    cv: Annotated[
        int | None,
        typer.Option(
            help="Number of folds; 5 by default, and kernels are then compared by "
            "leaving rows out one by one where that is exact."
        ),
    ] = None,
) -> None:
    """Fit a model to a table; write it, pictures and a report."""
    with _refusals_and_warnings():
        from okl.cli.fit import fit_table

        fitted = fit_table(
            table,
            target,
            _destination(out),
            task=task.value if task else None,
            task_column=task_column,
            structures=structure or ["frobenius"],
            kernels=kernel or [],
            assignments=[*([f"loss={loss}"] if loss else []), *(assignments or [])],
            n_folds=cv,
            note=_note,
        )
        _print(f"{fitted.report}\nWritten to {shown(out)}.")


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="The model.skops of a fit.")],
    table: Annotated[Path, typer.Argument(help="Table with the features.")],
    out: Annotated[
        str,
        typer.Option(
            metavar="PATH",
            help="Table to write: CSV, TSV or Parquet. In CSV and TSV a name or class "
            "that a spreadsheet would run as a formula, such as =A1, begins with '.",
        ),
    ],
) -> None:
    """Predict the targets of every row of a table."""
    with _refusals_and_warnings():
        from okl.cli.predict import predict_table

        predictions = predict_table(model, table, _destination(out), note=_note)
        rows, columns = predictions.shape
        _print(f"{shown(out)}: {rows} rows, {columns} predicted columns")


@app.command()
def demo(
    name: Annotated[
        Demo,
        typer.Argument(
            help="mosaic: three colours from one recorded a pixel, where relations "
            "pay; digits: scikit-learn's, where they do not."
        ),
    ] = Demo.mosaic,
    out: Annotated[
        str, typer.Option(metavar="PATH", help="Folder for the results.")
    ] = "okl-demo",
) -> None:
    """Show what learning the relations is worth, on data of scikit-learn."""
    with _refusals_and_warnings():
        if name is Demo.mosaic:
            from okl.cli.demos.mosaic import run_mosaic

            report = run_mosaic(_destination(out), note=_note)
        else:
            from okl.cli.demos.digits import run_digits

            report = run_digits(_destination(out), note=_note)
        _print(report)
