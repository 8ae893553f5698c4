"""Which rows are held out when the user does not say.

Rows often come in an order: by time, by place, by class. Folds of neighbouring rows
then test extrapolation, and choose another alpha than the one that predicts rows like
those of the table best. So the default folds are shuffled, with a seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

N_FOLDS = 5


def splitter_of(
    cv: Any, y: np.ndarray | None = None, *, stratify: bool = False, random_state: Any
) -> Any:
    """Return a splitter: what the user gave, or five shuffled folds.

    Fewer than five where that would leave one row to a fold, which has no R^2, or where
    every class has fewer members.

    Parameters
    ----------
    cv : int, splitter, iterable or None
        As in `sklearn.model_selection.check_cv`; None for the default.
    y : array, optional
        The labels, where folds are stratified.
    stratify : bool, default=False
        Whether an int, or the default, has as much of each class in every fold.
    random_state : int, RandomState or None
        Of the shuffling.
    """
    if cv is not None:
        return check_cv(cv, y, classifier=stratify)
    n_folds = N_FOLDS
    if y is not None:
        n_folds = min(n_folds, len(y) // 2)
    if stratify and y is not None:
        _, counts = np.unique(y, return_counts=True)
        n_folds = min(n_folds, int(counts.max()))
    folds = StratifiedKFold if stratify else KFold
    return folds(max(n_folds, 2), shuffle=True, random_state=random_state)
