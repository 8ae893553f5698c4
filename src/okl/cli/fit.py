"""``okl fit``: from a table to a model, its pictures and a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.pipeline import Pipeline

from okl import ClassTree
from okl.cli.class_tree import classes_in_tree
from okl.cli.class_tree_report import FILES as TREE_FILES
from okl.cli.columns import kind_of
from okl.cli.data import Data, take_apart
from okl.cli.errors import listing
from okl.cli.folds import default_folds
from okl.cli.left_out import incomplete_rows, without_columns, without_empty_rows
from okl.cli.pictures import OF_RELATIONS
from okl.cli.preprocessing import encoder_for
from okl.cli.report import missing_cells
from okl.cli.results import write_results
from okl.cli.search import (
    Candidate,
    Outcome,
    forecast,
    prepare,
    search_structures,
)
from okl.cli.settings import Settings, parse_settings
from okl.cli.staging import staged_folder
from okl.cli.storage import TableModel, save_model
from okl.cli.sureness import FILE as SURENESS_FILE
from okl.cli.sureness import check_resamples
from okl.cli.tables import read_table, with_names_as_text
from okl.cli.targets import Task, choose_targets
from okl.cli.text_format import AS_BY_NAME, TextFormat
from okl.cli.verdict import to_keep
from okl.selection.folds import N_FOLDS

_MODEL = "model.skops"


@dataclass(frozen=True)
class Roles:
    """What the columns of a table are for; all others are features.

    Attributes
    ----------
    targets, ignored : sequence of str
        Names of columns, or patterns.
    task_column, group_column : str or None
    """

    targets: Sequence[str]
    task_column: str | None = None
    group_column: str | None = None
    ignored: Sequence[str] = ()


@dataclass(frozen=True)
class Fit:
    """The result of a fit, besides its files.

    Attributes
    ----------
    data : Data
        The table, split into features and targets.
    outcome : Outcome
        The structures compared, each fitted on all rows.
    kept : Candidate
        The candidate that is saved.
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
    group_column: str | None = None,
    ignored: Sequence[str] = (),
    skip_incomplete: bool = False,
    written: TextFormat = AS_BY_NAME,
    structures: Sequence[str] = (),
    kernels: Sequence[str] = (),
    assignments: Sequence[str] = (),
    loss: str | None = None,
    alpha_per_output: bool = False,
    tree: str | None = None,
    n_folds: int | None = None,
    stability: int | None = None,
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
        The folder; it is created when everything is complete.
    task : {"regression", "classification"}, optional
        Inferred from the targets if None.
    task_column : str, optional
        For a table in long form: the column with the task, or output, of the target of
        each row.
    group_column : str, optional
        A column; rows with the same value in it are held out together. It is no
        feature.
    ignored : sequence of str
        Columns that are not used, or patterns.
    skip_incomplete : bool
        Whether rows with an empty cell among the features are left out.
    written : TextFormat
        How the cells of text tables are written.
    structures, kernels, assignments
        The values of the options ``--structure``, ``--kernel`` and ``--set``.
    loss, alpha_per_output
        The values of ``--loss`` and ``--alpha-per-output``.
    tree : str, optional
        For one target of classes that are the leaves of a tree: a table with the
        columns child and parent, or ``"paths"`` where the classes are paths. Structures
        are then compared with that of the tree, and the loss is softmax unless another
        is set.
    n_folds : int, optional
        Number of folds. By default structures are compared on 5 folds; kernels are
        compared by leaving rows out one by one, where that is exact.
    stability : int, optional
        The number of parts of the rows. The saved model, or else the best one that
        relates outputs, is fitted again without each of them, which shows how sure the
        relations are. None for no such fits.
    note : callable
        Called with a line to show before the work begins.

    Returns
    -------
    Fit

    Raises
    ------
    UserError
        For anything that the user can correct; then nothing is written.
    """
    in_tree = tree is not None
    settings = parse_settings(
        kernels,
        structures,
        assignments,
        loss=loss,
        alpha_per_output=alpha_per_output,
        in_tree=in_tree,
    )
    class_tree, optional = None, [SURENESS_FILE, *TREE_FILES, *OF_RELATIONS]
    if (out / _MODEL).exists():
        note(f"{out} has results of an earlier fit, which are going to be replaced")
    with staged_folder(out, may_be=optional) as folder:
        roles = Roles(targets, task_column, group_column, ignored)
        cells = _read(table, roles, task, written, in_tree=in_tree)
        n_rows = len(cells)
        if skip_incomplete:
            needed = _needed(cells, targets, task)
            cells = cells[~incomplete_rows(cells, needed, note)]
        data = take_apart(
            cells.reset_index(drop=True),
            *(targets, task, task_column, group_column),
            in_tree=in_tree,
        )
        data = replace(data, n_left_out=n_rows - len(cells), ignored=ignored)
        if tree is not None:
            class_tree, data = classes_in_tree(tree, data)
            _set_tree(settings, class_tree, data, note)
        check_resamples(stability, data)
        search = prepare(data, settings, n_folds)
        _say_what_is_fitted(data, search, n_folds, note)
        encoder = encoder_for(data.feature_kinds)
        X = encoder.fit_transform(data.features)
        said = forecast(data, X, search)
        note(f"search: {said}; fits and scores for the report take additional time")
        outcome = search_structures(data, X, search)
        models = [
            TableModel(
                Pipeline([("columns", encoder), ("model", candidate.model)]),
                data.feature_kinds,
                data.target_kinds,
                None if data.ids is None else (data.ids.name, data.ids.kind),
                class_tree,
            )
            for candidate in outcome.candidates
        ]
        kept = to_keep(outcome)
        model = models[outcome.candidates.index(kept)]
        save_model(model, folder / _MODEL)
        report = write_results(
            folder, table.name, data, X, outcome, kept, model, stability, note
        )
    return Fit(data, outcome, kept, models, report)


def _set_tree(
    settings: Settings, class_tree: ClassTree, data: Data, note: Callable[[str], None]
) -> None:
    """Set the tree of the structure; without intercept if classes have no rows.

    With an intercept a class without rows would have the probability zero.
    """
    settings.structures[0].set_params(class_tree=class_tree)
    unseen = set(class_tree.classes_.tolist()) - set(data.y.tolist())
    if unseen and settings.search.setdefault("fit_intercept", False) is False:
        note(
            f"no rows of {listing(sorted(unseen), 3)}: the model has no intercept, so "
            "that related classes predict them"
        )


def _say_what_is_fitted(
    data: Data, search: Any, n_folds: int | None, note: Callable[[str], None]
) -> None:
    """Note the task, the folds if they are few, and missing targets."""
    note(f"task: {data.task} ({data.reason})")
    few = N_FOLDS if n_folds else len(default_folds(data, search.random_state))
    if few < N_FOLDS:
        groups = "" if data.groups is None else f"groups of {data.groups.name}, or few "
        note(f"folds: {few}, as there are few {groups or 'rows, or few '}of each class")
    if data.missing:
        note(f"missing targets: {missing_cells(data)}")


def _needed(
    table: pd.DataFrame, targets: Sequence[str], task: Task | None
) -> list[str]:
    """Return the columns without which a row is of no use: features, and a class."""
    names = choose_targets(list(table), targets)
    if len(names) == 1 and (
        task == "classification" or kind_of(table[names[0]]) != "number"
    ):
        return list(table)
    return [name for name in table if name not in names]


def _read(
    path: Path,
    roles: Roles,
    task: Task | None,
    written: TextFormat = AS_BY_NAME,
    *,
    in_tree: bool,
) -> pd.DataFrame:
    """Read a table, with ids of tasks, groups and classes as they are written."""
    aside, targets = (roles.task_column, roles.group_column), roles.targets
    table = without_columns(
        read_table(path, written), roles.ignored, (*targets, *aside)
    )
    classes = []
    # a target that is set aside is refused later, where the table is split
    if (in_tree or task == "classification") and not set(aside) & set(targets):
        classes = choose_targets([name for name in table if name not in aside], targets)
    ids = [name for name in table if name == roles.task_column]
    texts = [name for name in table if name == roles.group_column]
    if in_tree:
        texts += classes
    elif len(classes) == 1:
        ids += classes
    return without_empty_rows(with_names_as_text(table, path, ids, texts, written))
