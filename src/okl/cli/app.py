"""The commands as typer sees them: arguments, help, exit codes.

Each command imports what it needs when it runs, so ``okl --help`` is quick, and a
missing library is noticed before any work.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from okl import __version__
from okl.cli.errors import shown
from okl.cli.terminal import destination, note, refusals_and_warnings, say

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


def _version(asked: bool) -> None:
    if asked:
        with refusals_and_warnings():
            say(f"okl {__version__}")
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
            "are targets that were not observed; a class may not be empty."
        ),
    ],
    out: Annotated[str, typer.Option(metavar="PATH", help="Folder for the results.")],
    task: Annotated[
        Task | None, typer.Option(help="Inferred from the targets by default.")
    ] = None,
    task_column: Annotated[
        str | None,
        typer.Option(
            help="For one target in long form: the column of the task of each row."
        ),
    ] = None,
    structure: Annotated[
        list[str] | None,
        typer.Option(
            help="Relations of outputs: frobenius (default but for --tree), low_rank, "
            "trace_ball, sparse, cluster, mean, identity (always tried); repeatable. "
            "Of --task-column also mean by default, unless a kernel is named."
        ),
    ] = None,
    kernel: Annotated[
        list[str] | None,
        typer.Option(
            help="Similarity of rows, a name of okl.kernels; repeatable. By default "
            "auto, a linear plus a Matern or a Laplacian kernel, or the mean of both, "
            "with widths and weights learned from the table. short_list tries linear, "
            "three Gaussian and three Matern kernels of different widths."
        ),
    ] = None,
    alpha_per_output: Annotated[
        bool,
        typer.Option(
            "--alpha-per-output",
            help="Give each output, label or task an alpha of its own, chosen by rows "
            "left out; not with softmax, which is no sum over outputs.",
        ),
    ] = False,
    loss: Annotated[
        str | None,
        typer.Option(
            help="How errors count, a name of okl.losses; by default squared, for "
            "classes softmax, for two classes or several columns of labels logistic."
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A parameter: kernel__gamma=0.1, structure__rank=3, "
            "loss__delta=2, alphas=10, tol=1e-5, ...; repeatable.",
        ),
    ] = None,
    tree: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="For a target of classes that are the leaves of a tree: a table with "
            "the columns child and parent, or the word paths if the classes are paths "
            "such as animal/dog. The loss is then softmax by default, and the tree is "
            "what relates the classes.",
        ),
    ] = None,
    cv: Annotated[
        int | None,
        typer.Option(
            help="Number of folds; 5 by default, or fewer of few rows. Kernels are "
            "then compared by leaving rows out one by one where that is exact."
        ),
    ] = None,
    stability: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Say how sure the relations are, by N + 1 more fits of the best model "
            "that has some, each without one of N parts of the rows; 20 is enough.",
        ),
    ] = None,
) -> None:
    """Fit a model to a table; write it, pictures and a report."""
    with refusals_and_warnings():
        from okl.cli.fit import fit_table

        fitted = fit_table(
            table,
            target,
            destination(out),
            task=task.value if task else None,
            task_column=task_column,
            structures=structure or [],
            kernels=kernel or [],
            assignments=assignments or [],
            loss=loss,
            alpha_per_output=alpha_per_output,
            tree=tree,
            n_folds=cv,
            stability=stability,
            note=note,
        )
        say(f"{fitted.report}\nWritten to {shown(out)}.")


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
    std: Annotated[
        bool,
        typer.Option(
            "--std",
            help="Add a column NAME_std for each target: the standard deviation of a "
            "new target, its noise included.",
        ),
    ] = False,
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
            help="In a tree: add P(NODE) of a level, 1 for the children of the root."
        ),
    ] = None,
    decision: Annotated[
        str,
        typer.Option(
            metavar="DECISION",
            help="Which errors of classes to keep low: accuracy, in a tree taxo (half "
            "the length of the path to the true class) or parent, or a table of costs "
            "with a row for each true class and a column for each answer.",
        ),
    ] = "accuracy",
    reject: Annotated[
        float | None,
        typer.Option(
            metavar="COST",
            help="What no answer costs: cells are empty where the best costs more.",
        ),
    ] = None,
    min_probability: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="In a tree: answer with the deepest node that is as probable.",
        ),
    ] = None,
) -> None:
    """Predict the targets of every row of a table."""
    with refusals_and_warnings():
        from okl.cli.answers import Asked
        from okl.cli.predict import predict_table

        predictions = predict_table(
            model,
            table,
            destination(out),
            std=std,
            asked=Asked(proba, level, decision, reject, min_probability),
            note=note,
        )
        rows, columns = predictions.shape
        say(f"{shown(out)}: {rows} rows, {columns} predicted columns")


@app.command()
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
            "what was filled in, zero elsewhere.",
        ),
    ] = False,
    inputs: Annotated[
        bool, typer.Option(help="Whether the other columns explain the targets.")
    ] = True,
) -> None:
    """Fill the empty cells of columns by the others of their row."""
    with refusals_and_warnings():
        from okl.cli.impute import impute_table

        n_filled = impute_table(
            table, target, destination(out), inputs=inputs, std=std, note=note
        )
        say(f"{shown(out)}: {n_filled} cells filled")


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
    with refusals_and_warnings():
        if name is Demo.mosaic:
            from okl.cli.demos.mosaic import run_mosaic

            report = run_mosaic(destination(out), note=note)
        else:
            from okl.cli.demos.digits import run_digits

            report = run_digits(destination(out), note=note)
        say(report)
