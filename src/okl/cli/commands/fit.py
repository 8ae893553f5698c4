"""``okl fit``: learn from a table."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from okl.cli.commands.options import Decimal, Separator, SkipIncomplete
from okl.cli.errors import shown
from okl.cli.terminal import destination, note, refusals_and_warnings, say


class Task(StrEnum):
    """What is learned."""

    regression = "regression"
    classification = "classification"


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
            help="For one target in long form: the column that names the task, or "
            "output, of each row."
        ),
    ] = None,
    group_column: Annotated[
        str | None,
        typer.Option(
            help="Rows with the same value in this column, such as those of one "
            "patient, are held out together; the column is not used as a feature."
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            help="Column that is not used, or a pattern like 'id*'; repeatable."
        ),
    ] = None,
    skip_incomplete: SkipIncomplete = False,
    sep: Separator = None,
    decimal: Decimal = ".",
    structure: Annotated[
        list[str] | None,
        typer.Option(
            help="How outputs are related: frobenius (the default without --tree), "
            "low_rank, trace_ball, sparse, cluster, mean, identity (always tried); "
            "repeatable. With --task-column also mean by default, unless a kernel is "
            "named."
        ),
    ] = None,
    kernel: Annotated[
        list[str] | None,
        typer.Option(
            help="Similarity of rows, a name of okl.kernels; repeatable. By default "
            "auto, a linear plus a Matern, Laplacian or Gaussian kernel, or a mean of "
            "two, with widths and weights learned from the table. short_list tries "
            "linear, three Gaussian and three Matern kernels of different widths."
        ),
    ] = None,
    alpha_per_output: Annotated[
        bool,
        typer.Option(
            "--alpha-per-output",
            help="Give each output, label or task an alpha of its own, chosen on "
            "held-out rows; not with softmax, which is not a sum over outputs. By "
            "default, with the squared loss, only outputs that clearly benefit get "
            "one; --set alpha_per_output=False gives all outputs "
            "the same.",
        ),
    ] = False,
    loss: Annotated[
        str | None,
        typer.Option(
            help="Loss, a name of okl.losses; by default squared for numbers, softmax "
            "for classes, logistic for two classes or several columns of labels."
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A parameter: kernel__gamma=0.1, structure__rank=3, "
            "loss__delta=2, loss__quantile=0.9, alphas=10, tol=1e-5, ...; repeatable.",
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
            help="Number of folds; 5 by default, or fewer if there are few rows. "
            "Without this option kernels are compared by leaving rows out one by one "
            "where that is exact, unless rows are in groups."
        ),
    ] = None,
    stability: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Estimate how certain the relations are, by N + 1 more fits of the "
            "best model that relates outputs, each without one of N parts of the "
            "rows; 20 is enough. They run in parallel, as do the folds, with --set "
            "n_jobs=-1.",
        ),
    ] = None,
) -> None:
    """Fit a model to a table; write it, pictures and a report."""
    with refusals_and_warnings():
        from okl.cli.fit import fit_table
        from okl.cli.text_format import TextFormat

        fitted = fit_table(
            table,
            target,
            destination(out),
            task=task.value if task else None,
            task_column=task_column,
            group_column=group_column,
            ignored=ignore or [],
            skip_incomplete=skip_incomplete,
            written=TextFormat.of(sep, decimal),
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
