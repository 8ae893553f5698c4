"""A table split into features and targets, with the task that these imply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from okl.cli.alike_values import warn_of_alike_values
from okl.cli.columns import Kind, kinds_of, plain
from okl.cli.errors import UserError, listing
from okl.cli.groups import Groups
from okl.cli.long_form import Ids
from okl.cli.row_numbers import warn_of_row_numbers
from okl.cli.targets import (
    Task,
    check_class_sizes,
    check_observed,
    check_task,
    choose_targets,
    coded,
    infer_task,
    may_be_classes,
    warn_of_constants,
    warn_of_no_target,
)
from okl.cli.text_columns import check_text_is_meant, warn_of_many_values


@dataclass(frozen=True)
class Data:
    """The data for a fit.

    Attributes
    ----------
    features : DataFrame (n_samples, n_features)
        Columns of float64, bool or str, without missing values.
    y : DataFrame (n_samples, n_targets) or array (n_samples,)
        Numbers or label indicators, with NaN where not observed; or an array of
        classes.
    feature_kinds, target_kinds : dict of str to str
        The kind of each column.
    task : {"regression", "classification"}
        The kind of model to fit.
    reason : str
        The reason why it is this task.
    ids : Ids or None
        For tables in long form, the column with the task of each row.
    groups : Groups or None
        The rows that are held out together, if there are groups.
    n_left_out : int
        The number of rows of the table that are left out, as they are not complete.
    ignored : sequence of str
        The columns, or patterns, that are not used.
    """

    features: pd.DataFrame
    y: Any
    feature_kinds: dict[str, Kind]
    target_kinds: dict[str, Kind]
    task: Task
    reason: str
    ids: Ids | None
    groups: Groups | None
    n_left_out: int = 0
    ignored: Sequence[str] = ()

    @property
    def single_classification(self) -> bool:
        """Whether y is one column of classes."""
        return self.task == "classification" and len(self.target_kinds) == 1

    @property
    def has_one_output(self) -> bool:
        """Whether there is one output, with the loss that is the default.

        That is one column of numbers, or of two classes.
        """
        if len(self.target_kinds) > 1 or self.ids is not None:
            return False
        return self.task == "regression" or len(np.unique(self.y)) == 2

    @property
    def observed(self) -> np.ndarray:
        """Whether each row has a target (n_samples,)."""
        if self.single_classification:
            return np.ones(len(self.features), dtype=bool)
        return self.y.notna().any(axis=1).to_numpy()

    @property
    def missing(self) -> dict[str, int]:
        """The number of empty cells of each target that has some."""
        if self.single_classification:
            return {}
        counts = self.y.isna().sum()
        return {name: int(count) for name, count in counts.items() if count}


def take_apart(
    table: pd.DataFrame,
    patterns: Sequence[str],
    task: Task | None,
    task_column: str | None = None,
    group_column: str | None = None,
    *,
    in_tree: bool = False,
) -> Data:
    """Split a table into features and the targets that patterns choose.

    With a task column the table is in long form: each row has one target, of the task
    named there. With a group column the rows of a group are held out together. With a
    tree the target is a class, unless another task was asked for.

    Raises
    ------
    UserError
        For columns that cannot be used, or a task that the targets do not fit.
    """
    reason = "as asked"
    if in_tree and task is None:
        task, reason = "classification", "the classes are in a tree"
    warn_of_alike_values(table)
    table, ids, groups = _set_aside(table, patterns, task_column, group_column)
    names = choose_targets(list(table), patterns)
    _check_number_of_targets(names, table, ids, in_tree=in_tree)
    check_observed(table[names])
    kinds = kinds_of(table)
    target_kinds = {name: kinds[name] for name in names}
    texts = [name for name, kind in kinds.items() if kind == "text"]
    # if the user said that these are classes, they may have any names
    said = names if task == "classification" else []
    check_text_is_meant(table[[name for name in texts if name not in said]])
    warn_of_many_values(table[[name for name in texts if name not in names]])
    warn_of_row_numbers(table.drop(columns=names))
    if task is None:
        task, reason = infer_task(target_kinds)
        if task == "regression" and may_be_classes(table[names]):
            reason += "; for classes: --task classification"
    # a row must not lack its class, if that is its only target
    one_class = task == "classification" and len(names) == 1
    if not one_class:
        warn_of_constants(table[names])
    table = plain(table, kinds, () if one_class else names)
    targets = table[names]
    check_task(task, targets, target_kinds)
    if one_class and not in_tree:
        check_class_sizes(targets[names[0]], of_tasks=ids is not None)
    if one_class and groups is not None:
        groups.check_classes(targets[names[0]].to_numpy())
    return Data(
        features=table.drop(columns=names),
        y=coded(task, targets, target_kinds),
        feature_kinds={n: kind for n, kind in kinds.items() if n not in target_kinds},
        target_kinds=target_kinds,
        task=task,
        reason=reason,
        ids=ids,
        groups=groups,
    )


def _check_number_of_targets(
    names: Sequence[str], table: pd.DataFrame, ids: Ids | None, *, in_tree: bool
) -> None:
    """Refuse more targets than are allowed."""
    if in_tree and len(names) > 1:
        raise UserError(
            f"--tree is for one target of classes, got {listing(names)}; give one "
            "--target, or leave --tree out."
        )
    if ids is not None and len(names) > 1:
        raise UserError(
            f"with --task-column every row has one target, got {listing(names)}; give "
            "one --target, or leave --task-column out."
        )
    if len(names) == len(table.columns):
        others = "" if ids is None else f", but {listing([ids.name])} names the task"
        raise UserError(
            f"every column of the table is a target{others}; leave at least one to "
            "predict from."
        )


def _set_aside(
    table: pd.DataFrame,
    patterns: Sequence[str],
    task_column: str | None,
    group_column: str | None,
) -> tuple[pd.DataFrame, Ids | None, Groups | None]:
    """Take the columns of tasks and groups out of a table, as they are no features."""
    ids = groups = None
    if group_column is not None:
        groups = Groups.of(table, group_column)
        if group_column in (*patterns, task_column):
            other = "--target" if group_column in patterns else "--task-column"
            raise UserError(
                f"{other} and --group-column are both {group_column}; nothing is "
                "learned from a column of groups. Leave --group-column out, or name "
                "another."
            )
        warn_of_no_target(group_column, "--group-column", patterns)
        table = table.drop(columns=group_column)
    if task_column is not None:
        ids = Ids.of(table, task_column)
        if task_column in patterns:
            raise UserError(
                f"--target and --task-column are both {task_column}; --target names "
                "the column to predict, and --task-column the one that says which task "
                "each row is of. Give two different columns, or leave --task-column "
                "out."
            )
        warn_of_no_target(task_column, "--task-column", patterns)
        table = table.drop(columns=task_column)
    return table, ids, groups
