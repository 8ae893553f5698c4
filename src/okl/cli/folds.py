"""The folds of a table, to hold rows out.

Folds are shuffled with a seed, because tables are often sorted. Rows of one group are
in the same fold.
"""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
)

from okl.cli.data import Data
from okl.cli.errors import UserError, refusing
from okl.selection.folds import Folds, rows_of, splitter_of

# The fewest rows of a table, and of its most frequent class.
_FEWEST, _FEWEST_OF_A_CLASS = 4, 2


def default_folds(data: Data, seed: int | None) -> Folds:
    """Return five folds, or fewer if there are few rows or groups.

    Raises
    ------
    UserError
        If there are not enough rows, or groups with targets, for two.
    """
    stratify = data.single_classification
    usual = splitter_of(None, data.y, stratify=stratify, random_state=0).get_n_splits()
    if data.groups is None:
        return folds_of(data, usual, seed)
    # if groups have different classes, or no targets, a fold may have no targets
    for n_folds in range(min(usual, data.groups.n_groups), 1, -1):
        found = folds_of(data, n_folds, seed)
        if not _lack_targets(found, data):
            return found
    raise UserError(
        "there are no two folds with targets in both, as the rows of a "
        f"{data.groups.name} are held out together. Leave --group-column out, or name "
        "another column."
    )


def given_folds(data: Data, n_folds: int, seed: int | None) -> Folds:
    """Return ``n_folds`` folds.

    Raises
    ------
    UserError
        If the table cannot be divided into so many.
    """
    found = folds_of(data, n_folds, seed)
    if data.groups is not None and _lack_targets(found, data):
        raise UserError(
            f"--cv {n_folds} does not fit: it leaves a fold without any target, as the "
            f"rows of a {data.groups.name} are held out together. Give fewer folds."
        )
    return found


def _lack_targets(folds: Folds, data: Data) -> bool:
    """Tell whether there is a fold in which no row has a target."""
    return not all(np.any(data.observed[test]) for _, test in folds)


def folds_of(data: Data, n_folds: int, seed: int | None) -> Folds:
    """Return the folds: shuffled, and stratified if each row has one class.

    Rows of one group are in the same fold.
    """
    n_samples, groups = len(data.features), data.groups
    if n_samples < _FEWEST:
        raise UserError(
            f"the table has {n_samples} row{'s' * (n_samples != 1)}; holding some out "
            f"takes at least {_FEWEST}, two folds of two rows each."
        )
    if not 2 <= n_folds <= n_samples // 2:
        raise UserError(
            f"--cv {n_folds} does not fit: expected at least 2 folds, of at least two "
            f"rows each, and the table has {n_samples} rows."
        )
    if groups is not None and n_folds > groups.n_groups:
        raise UserError(
            f"--cv {n_folds} does not fit: rows with the same {groups.name} are held "
            f"out together, and there are {groups.n_groups} groups of them."
        )
    if data.single_classification:
        most = int(np.unique(data.y, return_counts=True)[1].max())
        if most < _FEWEST_OF_A_CLASS:
            raise UserError(
                "each class has only one row, so that no class can be learned when its "
                "row is held out; there must be several rows of some class."
            )
        if n_folds > most:
            raise UserError(
                f"--cv {n_folds} does not fit: each fold needs rows of the most "
                f"frequent class, which has {most}. Give --cv {most} or fewer."
            )
    kinds = (KFold, StratifiedKFold, GroupKFold, StratifiedGroupKFold)
    kind = kinds[2 * (groups is not None) + data.single_classification]
    splitter = kind(n_folds, shuffle=True, random_state=seed)
    given = {} if groups is None else {"groups": groups.values}
    with refusing("cannot fit", ValueError):
        return rows_of(splitter, data.features, data.y, **given)
