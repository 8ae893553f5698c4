"""What a table is divided into, to hold rows out.

Folds are shuffled with a seed, because tables are often sorted, and rows of one group
are in the same one.
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

# Rows of the smallest table, and of the most frequent class.
_FEWEST, _FEWEST_OF_A_CLASS = 4, 2


def default_folds(data: Data, seed: int | None) -> Folds:
    """Return five folds, or fewer with few rows, or groups."""
    stratify = data.single_classification
    folds = splitter_of(None, data.y, stratify=stratify, random_state=0)
    n_folds = int(folds.get_n_splits())
    if data.groups is None:
        return folds_of(data, n_folds, seed)
    # where groups are classes some folds may be left without any
    for fewer in range(min(n_folds, data.groups.n_groups), 1, -1):
        found = folds_of(data, fewer, seed)
        if all(np.any(data.observed[test]) for _, test in found):
            break
    return found


def folds_of(data: Data, n_folds: int, seed: int | None) -> Folds:
    """Return the folds: shuffled, and stratified where there is one class a row.

    Rows of one group are in the same fold.
    """
    n_samples, groups = len(data.features), data.groups
    if n_samples < _FEWEST:
        raise UserError(
            f"the table has {n_samples} rows; to hold some out takes {_FEWEST}, two "
            "folds of two rows each."
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
                "each class has one row, and what is held out is learned from others "
                "of its class; it takes more rows of some."
            )
        if n_folds > most:
            raise UserError(
                f"--cv {n_folds} does not fit: each fold has rows of the most frequent "
                f"class, and there are {most} of it. Give --cv {most} or fewer."
            )
    kinds = (KFold, StratifiedKFold, GroupKFold, StratifiedGroupKFold)
    kind = kinds[2 * (groups is not None) + data.single_classification]
    splitter = kind(n_folds, shuffle=True, random_state=seed)
    given = {} if groups is None else {"groups": groups.values}
    with refusing("cannot fit", ValueError):
        return rows_of(splitter, data.features, data.y, **given)
