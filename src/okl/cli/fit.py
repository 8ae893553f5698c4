"""``okl fit``: from a table to a model, its pictures and a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sklearn.pipeline import Pipeline

from okl.cli.data import Data, take_apart
from okl.cli.outputs import scores_of_outputs
from okl.cli.pictures import draw
from okl.cli.preprocessing import encoded_names, encoder_for
from okl.cli.report import missing_cells, write_report
from okl.cli.search import (
    Candidate,
    Outcome,
    forecast,
    prepare,
    search_structures,
)
from okl.cli.settings import parse_settings
from okl.cli.staging import staged_folder
from okl.cli.storage import TableModel, save_model
from okl.cli.tables import read_table, write_matrix
from okl.cli.targets import Task
from okl.cli.verdict import to_keep


@dataclass(frozen=True)
class Fit:
    """What a fit gives, beside its files.

    Attributes
    ----------
    data : Data
        The table, taken apart.
    outcome : Outcome
        The structures compared, each fitted on all rows.
    kept : Candidate
        The one that is saved.
    models : list of TableModel
        One per candidate of the outcome.
    report : str
        The text of ``report.txt``.
    """

    data: Data
    outcome: Outcome
    kept: Candidate
    models: list[TableModel]
    report: str


def fit_table(
    table: Path,
    targets: Sequence[str],
    out: Path,
    *,
    task: Task | None = None,
    task_column: str | None = None,
    structures: Sequence[str] = ("frobenius",),
    kernels: Sequence[str] = (),
    assignments: Sequence[str] = (),
    n_folds: int | None = None,
    note: Callable[[str], None] = lambda line: None,
) -> Fit:
    """Fit a model to a table, and write it with its report into a folder.

    Parameters
    ----------
    table : Path
        A CSV, TSV or Parquet file.
    targets : sequence of str
        Names of columns, or patterns.
    out : Path
        The folder; it appears when everything is complete.
    task : {"regression", "classification"}, optional
        Inferred from the targets if None.
    task_column : str, optional
        For a table in long form, with one target: the column that says which task, or
        output, it is of.
    structures, kernels, assignments
        What the options ``--structure``, ``--kernel`` and ``--set`` say.
    n_folds : int, optional
        Folds of the cross-validation; by default 5 where structures are compared, and
        rows are left out one by one to compare kernels, where that is exact.
    note : callable
        Takes a line to show before the work begins.

    Returns
    -------
    Fit

    Raises
    ------
    UserError
        For anything that the user can mend; then nothing is written.
    """
    settings = parse_settings(kernels, structures, assignments)
    with staged_folder(out) as folder:
        data = take_apart(read_table(table), targets, task, task_column)
        search = prepare(data, settings, n_folds)
        note(f"task: {data.task} ({data.reason})")
        if data.missing:
            note(f"missing targets: {missing_cells(data)}")
        encoder = encoder_for(data.feature_kinds)
        X = encoder.fit_transform(data.features)
        said = forecast(data, X, search)
        note(f"search: {said}; fits and scores for the report come on top")
        outcome = search_structures(data, X, search)
        models = [
            TableModel(
                Pipeline([("columns", encoder), ("model", candidate.model)]),
                data.feature_kinds,
                data.target_kinds,
                None if data.ids is None else (data.ids.name, data.ids.kind),
            )
            for candidate in outcome.candidates
        ]
        kept = to_keep(outcome)
        outputs = output_names(data, outcome)
        score_name = name_of_score(data, outcome)
        save_model(models[outcome.candidates.index(kept)], folder / "model.skops")
        write_matrix(kept.model.output_kernel_, outputs, folder / "output_kernel.csv")
        report = write_report(
            source=table.name,
            data=data,
            outcome=outcome,
            kept=kept,
            encoded=encoded_names(encoder),
            outputs=outputs,
            scores={
                candidate: scores_of_outputs(data, X, outcome, candidate)
                for candidate in (outcome.baseline, kept)
            },
            relations=draw(folder, outcome, kept, outputs, score_name),
            score_name=score_name,
        )
        (folder / "report.txt").write_text(report, encoding="utf-8")
    return Fit(data, outcome, kept, models, report)


def output_names(data: Data, outcome: Outcome) -> list[str]:
    """Name the outputs: tasks, targets, or classes; of two classes the second."""
    if data.ids is not None:
        return [str(name) for name in outcome.search.output_names_]
    if not data.single_classification:
        return list(data.target_kinds)
    classes = [str(label) for label in outcome.search.classes_]
    return classes[1:] if len(classes) == 2 else classes


def name_of_score(data: Data, outcome: Outcome) -> str:
    """Say what the scores of the search are."""
    if outcome.search.scoring is not None:
        return str(outcome.search.scoring)
    if data.task == "regression":
        return "R^2 of the targets" if data.ids is None else "R^2 of all rows"
    return "accuracy" if data.single_classification else "accuracy of whole rows"
