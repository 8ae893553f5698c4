"""The columns to predict: which they are, and whether they are classes or numbers.

Numbers are predicted as numbers (regression). One column of text or truth values is
predicted as classes. Several columns of truth values, or of zeros and ones if
classification is asked for, are predicted as labels, of which a row may have any number
(multilabel classification). Empty cells of numbers and labels are targets that were not
observed.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from shlex import quote
from typing import Any, Literal

import numpy as np
import pandas as pd

from okl.cli.columns import Kind
from okl.cli.errors import UserError, listing

Task = Literal["regression", "classification"]
# Whole numbers may be codes of classes if they have few values, in so many rows each.
_FEW_VALUES, _ROWS_EACH = 10, 5


def choose_targets(columns: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the columns that ``--target`` names; see `choose_columns`."""
    return choose_columns(columns, patterns, "--target")


def choose_columns(
    columns: Sequence[str], patterns: Sequence[str], option: str
) -> list[str]:
    """Return the columns that are named, or that match a pattern such as ``"y_*"``.

    They are in the order of the table. The name of a column is not taken as a pattern.

    Raises
    ------
    UserError
        If nothing matches a pattern; the message names the option.
    """
    chosen: set[str] = set()
    for pattern in patterns:
        exact = [name for name in columns if name == pattern]
        matches = exact or [name for name in columns if fnmatchcase(name, pattern)]
        if not matches:
            meant = _meant(pattern, columns, option)
            raise UserError(
                f"no column is called, or matches, {option} {pattern}. "
                f"{meant}The table has: {listing(columns, 40)}."
            )
        chosen.update(matches)
    return [name for name in columns if name in chosen]


def _meant(pattern: str, columns: Sequence[str], option: str) -> str:
    """Say what may have been meant by a name that no column has; "" if unknown."""
    parts = [part.strip() for part in pattern.split(",")]
    if len(parts) > 1 and set(parts) <= set(columns):
        given = " ".join(f"{option} {quote(part)}" for part in parts)
        return f"Give one option for each column: {given}. "
    alike = [name for name in columns if name.lower() == pattern.lower()]
    return f"Capitals count: {listing(alike)}. " if alike else ""


def warn_of_no_target(name: str, option: str, patterns: Sequence[str]) -> None:
    """Warn of a column that another option names, if a pattern matches it too."""
    for pattern in patterns:
        if fnmatchcase(name, pattern):
            warnings.warn(
                f"--target {pattern} also matches {name}, which is not used as a "
                f"target, as {option} names it",
                stacklevel=2,
            )


def check_observed(targets: pd.DataFrame) -> None:
    """Refuse targets that have no value in any row, naming them."""
    empty = targets.columns[targets.isna().all()]
    if len(empty):
        raise UserError(
            f"the targets {listing(empty)} are empty in every row; leave them out of "
            "--target."
        )


def warn_of_constants(targets: pd.DataFrame) -> None:
    """Warn of targets that have one value only: a score of them says nothing."""
    constant = targets.columns[targets.nunique() == 1]
    if len(constant):
        warnings.warn(
            f"targets with one value only: {listing(constant)}. There is nothing to "
            "learn, and a constant scores best",
            stacklevel=2,
        )


def are_zeros_and_ones(targets: pd.DataFrame) -> pd.Series:
    """Tell for each target whether it has no values but zero and one."""
    return (targets.isin([0, 1]) | targets.isna()).all()


def may_be_classes(targets: pd.DataFrame) -> bool:
    """Tell whether numbers may be codes: 0 and 1, or few integers in one column."""
    if are_zeros_and_ones(targets).all():
        return True
    n_values = targets.nunique().max()
    few = n_values <= _FEW_VALUES and len(targets) >= _ROWS_EACH * n_values
    whole = ((targets % 1 == 0) | targets.isna()).all(axis=None)
    return bool(len(targets.columns) == 1 and few and whole)


def infer_task(kinds: Mapping[str, Kind]) -> tuple[Task, str]:
    """Return the task that the kinds of the targets suggest, and the reason."""
    found = set(kinds.values())
    if found == {"number"}:
        return "regression", "the targets are numbers"
    if found == {"boolean"} and len(kinds) > 1:
        return "classification", "the targets are truth values"
    if len(kinds) == 1:
        return "classification", f"the target is {found.pop()}"
    described = listing(f"{name} ({kind})" for name, kind in kinds.items())
    raise UserError(
        f"the targets {described} are neither all numbers nor all truth values, so "
        "they cannot be learned together; choose others with --target, or write labels "
        "such as yes and no as 1 and 0."
    )


def check_task(task: Task, targets: pd.DataFrame, kinds: Mapping[str, Kind]) -> None:
    """Refuse targets that do not fit the task, naming them."""
    if task == "regression":
        wrong = [name for name, kind in kinds.items() if kind != "number"]
        expected = "regression expects numbers"
    elif len(kinds) > 1:
        fits = are_zeros_and_ones(targets)
        wrong = [name for name in kinds if not fits[name]]
        expected = "classification of several targets expects only 0 and 1 in each"
    else:
        wrong = [name for name in kinds if not _are_classes(targets[name])]
        expected = (
            "classification expects text, truth values or whole numbers. Write classes "
            "with decimals as text, such as v1.5; measurements are for regression"
        )
    if wrong:
        raise UserError(f"the targets {listing(wrong)} do not fit: {expected}.")


def check_class_sizes(classes: pd.Series, *, of_tasks: bool) -> None:
    """Refuse more than two classes if each has one row, or if rows belong to tasks."""
    n_classes = classes.nunique()
    if n_classes <= 2:
        return
    if n_classes == len(classes):
        raise UserError(
            f"the target {classes.name} has a different class in each row: "
            f"{listing(classes, 3)}. A class is learned from several rows; write "
            "numbers without their unit, or name another --target."
        )
    if of_tasks:
        raise UserError(
            f"with --task-column there must be two classes, and {classes.name} has "
            f"{n_classes}: {listing(classes.unique(), 5)}. Leave --task-column out, or "
            "fit one table for each class against the rest."
        )


def coded(task: Task, targets: pd.DataFrame, kinds: Mapping[str, Kind]) -> Any:
    """Return y for the estimators: a DataFrame, or an array of classes."""
    if task == "regression":
        return targets
    if len(kinds) > 1:
        return targets.astype(float if targets.isna().any(axis=None) else int)
    (name,) = targets
    labels = targets[name].to_numpy()
    if kinds[name] == "text":
        labels = labels.astype(str)
    if kinds[name] == "number":
        labels = labels.astype(int)
    if len(np.unique(labels)) == 1:
        raise UserError(
            f"the target {name} is {labels[0]} in every row; classification expects "
            "at least two classes."
        )
    return labels


def _are_classes(column: pd.Series) -> bool:
    return column.dtype != np.float64 or bool((column == column.round()).all())
