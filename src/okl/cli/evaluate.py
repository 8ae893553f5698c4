"""``okl evaluate``: how well a model predicts the targets of a table it has not seen.

Each output has its score (`okl.cli.truth`) and the size of its errors. Of classes and
labels there is also the log loss, if the model has probabilities, and the share of the
most frequent answer, which a useful model exceeds. Of numbers there are, if asked for,
the shares of targets in intervals around the predictions: those of a model whose
standard deviations are right are near 50, 80 and 95 %.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.base import is_regressor

from okl import ClassTree
from okl.cli.class_tree_report import HeldOutClasses
from okl.cli.columns import kind_of, plain
from okl.cli.errors import UserError, listing, refusing, shown
from okl.cli.layout import aligned, section
from okl.cli.left_out import incomplete_rows, without_empty_rows
from okl.cli.storage import TableModel, load_model
from okl.cli.table_scores import TableScores
from okl.cli.tables import read_table
from okl.cli.targets import check_task
from okl.cli.text_format import AS_BY_NAME, TextFormat
from okl.cli.truth import Truth, column_means, mean_of_known
from okl.estimators.score_of_numbers import ScoreOfNumbers
from okl.metrics import log_loss

_LEVELS = (0.5, 0.8, 0.95)
_ROUNDING = 1e-9


def evaluate_table(
    model_path: Path,
    table_path: Path,
    *,
    std: bool = False,
    skip_incomplete: bool = False,
    written: TextFormat = AS_BY_NAME,
    note: Callable[[str], None] = lambda line: None,
) -> str:
    """Score the predictions of a model for a table that has the targets.

    Parameters
    ----------
    model_path : Path
        The ``model.skops`` of a fit.
    table_path : Path
        A table with the features and the targets of the fit. A target that is empty is
        not scored.
    std : bool
        Whether to count the targets in intervals around predictions.
    skip_incomplete : bool
        Whether rows with an empty cell among the features are left out; else they are
        refused.
    written : TextFormat
        How the cells of text tables are written.
    note : callable
        Called with a line about rows that are left out.

    Returns
    -------
    str
        A page of text.

    Raises
    ------
    UserError
        For anything that the user can correct.
    """
    model = load_model(model_path)
    if std:
        model.check_std()
    columns = [*model.features.items(), *filter(None, [model.task_column])]
    texts = [n for n, kind in (*columns, *model.targets.items()) if kind == "text"]
    table = without_empty_rows(read_table(table_path, written, text_columns=texts))
    if skip_incomplete:
        needed = [name for name, _ in columns if name in table]
        table = table[~incomplete_rows(table, needed, note)].reset_index(drop=True)
    table, targets = _observed(model, table, note)
    evaluation = _evaluated(model, table, targets, std=std)
    title = f"{shown(model_path)} on {len(table)} rows of {shown(table_path)}"
    pages = [section(title, evaluation.lines()), *evaluation.sections]
    return "\n\n".join(pages)


def _observed(
    model: TableModel, table: pd.DataFrame, note: Callable[[str], None]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows that have a target, and their targets."""
    absent = [name for name in model.targets if name not in table]
    if len(absent) == len(model.targets):
        raise UserError(
            f"the table has no column {listing(absent)}, which the model predicts; "
            "without the true values there is nothing to compare. okl predict needs "
            "none."
        )
    if absent:
        note(f"not in the table, and not scored: {listing(absent)}")
        table = table.assign(**dict.fromkeys(absent, np.nan))
    truths = [n for n in model.targets if kind_of(table[n]) == "boolean"]
    # True and False are the labels, or classes, 1 and 0
    numbers = [name for name in truths if model.targets[name] == "number"]
    table = table.astype(dict.fromkeys(numbers, np.float64))
    targets = plain(table, model.targets, list(model.targets))
    # `plain` writes what is missing as text
    targets = targets.mask(table[list(model.targets)].isna())
    there = targets.notna().any(axis=1)
    if not there.any():
        raise UserError(f"the targets {listing(model.targets)} are empty in every row.")
    if not there.all():
        note(f"left out: {int((~there).sum())} of {len(table)} rows without a target")
    table, targets = table[there], targets[there]
    if not is_regressor(model.pipeline):
        check_task("classification", targets, model.targets)
    return table.reset_index(drop=True), targets.reset_index(drop=True)


def _evaluated(
    model: TableModel, table: pd.DataFrame, targets: pd.DataFrame, *, std: bool
) -> TableScores:
    found = model.predict(table, std=std)
    names = list(model.targets)
    final: Any = model.pipeline[-1]
    numbers = not hasattr(final, "classes_")
    one_class = not numbers and len(names) == 1
    y = targets.to_numpy(dtype=object if one_class else np.float64)
    predictions: Any = found[names].to_numpy(dtype=object)
    if one_class:
        y, predictions = _as_in_the_fit(model, y[:, 0]), predictions[:, 0]
    outputs, task = names, model.task_of(table)
    if task is not None:
        # 1 of a table with whole numbers is 1.0 of one with 2.5
        task = task.astype(final.output_names_.dtype)
        outputs = [str(name) for name in final.output_names_]
    elif one_class:
        outputs = [str(name) for name in final.classes_]
    measure = ScoreOfNumbers.of(final.loss_) if numbers else None
    truth = Truth(y, outputs, task, measure, one_class)
    if numbers:
        return _of_numbers(truth, predictions, found if std else None, names)
    p = model.probabilities(table) if hasattr(final, "predict_proba") else None
    return _of_answers(truth, predictions, p, model)


def _of_numbers(
    truth: Truth, predictions: Any, found: pd.DataFrame | None, names: list[str]
) -> TableScores:
    errors, measure = truth.errors(predictions), truth.measure
    assert measure is not None
    root = measure.quantile is None
    size = column_means(errors)
    sizes = {"RMSE": np.sqrt(size)} if root else {measure.error_name: size}
    columns = {
        truth.score_name: truth.scores(predictions),
        "rows": (~np.isnan(errors)).sum(axis=0),
    }
    overall = {truth.score_name: truth.overall(predictions)}
    remarks = [
        f"A score of zero is that of the {measure.constant} of this table. Errors are "
        "in the unit of the target."
    ]
    if found is not None:
        deviations = found[[f"{name}_std" for name in names]].to_numpy()
        away = np.abs(truth.y - predictions.astype(np.float64))
        rounding = _ROUNDING * np.abs(truth.y)
        seen = ~np.isnan(errors)
        for level in _LEVELS:
            inside = away <= stats.norm.ppf((1 + level) / 2) * deviations + rounding
            # with tasks there is one column of targets
            share = np.where(seen, np.broadcast_to(inside, seen.shape), np.nan)
            name = f"in {level:.0%}"
            columns[name] = column_means(share)
            overall[name] = mean_of_known(share.ravel())
        remarks.append(
            "in 95% is the share of targets that lie in the interval of 95% around "
            "their predictions."
        )
    return TableScores(truth, columns, sizes, overall, remarks, [])


def _of_answers(
    truth: Truth, predictions: Any, p: np.ndarray | None, model: TableModel
) -> TableScores:
    """Evaluate classes or labels, with their probabilities if there are any."""
    columns = {
        truth.score_name: truth.scores(predictions),
        "rows": (~np.isnan(truth.errors(predictions))).sum(axis=0),
    }
    overall = {truth.score_name: truth.overall(predictions)}
    if truth.one_class:
        remarks, known = _of_classes(truth.y, p, model.pipeline[-1].classes_)
        sections = []
        if model.class_tree is not None and known.all():
            sections = _of_tree(model.class_tree, truth.y, predictions)
        return TableScores(truth, columns, {}, overall, remarks, sections)
    shares = column_means(truth.y)
    columns["most frequent"] = np.maximum(shares, 1 - shares)
    overall["most frequent"] = mean_of_known(columns["most frequent"])
    if p is not None:
        columns["log loss"] = log_loss(truth.y, p, multioutput="raw_values")
        overall["log loss"] = mean_of_known(columns["log loss"])
    return TableScores(truth, columns, {}, overall, [], [])


def _of_classes(
    y: np.ndarray, p: np.ndarray | None, classes: np.ndarray
) -> tuple[list[str], np.ndarray]:
    """Return sentences, and whether the model knows the class of each row."""
    names, counts = np.unique(y.astype(str), return_counts=True)
    remarks = [
        f"The most frequent class of this table, {shown(names[counts.argmax()])}, is "
        f"that of {counts.max() / len(y):.4f} of the rows."
    ]
    known = np.isin(y.astype(str), classes.astype(str))
    if not known.all():
        new = listing(np.unique(y[~known].astype(str)), 5)
        remarks.append(
            f"{int((~known).sum())} rows are of classes that the model does not know, "
            f"{new}. They count as errors, and are not in the log loss."
        )
    if p is not None and known.any():
        order = np.argsort(classes)
        loss = log_loss(y[known], p[known][:, order], labels=classes[order])
        counts = np.unique(y[known].astype(str), return_counts=True)[1]
        remarks.append(
            f"The log loss of a row is {loss:.4f}; that of always giving the "
            f"frequencies of these rows {stats.entropy(counts):.4f}."
        )
    return remarks, known


def _of_tree(tree: ClassTree, y: np.ndarray, predictions: Any) -> list[str]:
    """Return sections about the levels of a tree of the classes."""
    found = HeldOutClasses(tree, y, {"accuracy": predictions}, "accuracy")
    return [
        section("Accuracy by level", aligned(found.levels())),
        section("Largest confusions between relatives", found.confusions()),
    ]


def _as_in_the_fit(model: TableModel, labels: np.ndarray) -> np.ndarray:
    """Return classes as the model names them."""
    if model.class_tree is not None:
        tree = model.class_tree
        with refusing("the classes are not those of the tree of the fit", ValueError):
            return np.asarray(tree.classes_[tree.class_numbers(labels.astype(str))])
    (kind,) = model.targets.values()
    if kind == "number":  # whole numbers
        return labels.astype(np.float64).astype(np.int64)
    return labels.astype(bool if kind == "boolean" else str)
