"""Which rows are held out when the user does not say.

Rows often come in an order: by time, by place, by class. Folds of neighbouring rows
then test extrapolation, and choose another alpha than the one that predicts rows like
those of the table best. The default folds are therefore shuffled, with a seed.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from okl.problems import Observed

N_FOLDS = 5

Folds = list[tuple[np.ndarray, np.ndarray]]


def split(
    cv: Any,
    X: Any,
    y: np.ndarray,
    counted: np.ndarray,
    *,
    stratify: bool,
    random_state: Any,
    metadata: dict[str, Any],
) -> Folds:
    """Return row numbers to train on and to test for each fold.

    Rows that do not count, of weight zero or without any target, are in no default
    fold: in some of them there might be nothing else.

    Parameters
    ----------
    cv, y, stratify, random_state
        As in `splitter_of`.
    X : array (n_samples, n_features)
    counted : array
        The numbers of the rows that count.
    metadata : dict
        What ``split`` of the splitter is given besides.
    """
    if cv is not None or len(counted) == len(y):
        splitter = splitter_of(cv, y, stratify=stratify, random_state=random_state)
        return rows_of(splitter, X, y, **metadata)
    own = y[counted]
    splitter = splitter_of(None, own, stratify=stratify, random_state=random_state)
    return [(counted[a], counted[b]) for a, b in rows_of(splitter, counted, own)]


def rows_of(splitter: Any, X: Any, y: np.ndarray, **metadata: Any) -> Folds:
    """Return row numbers to train on and to test for each fold of a splitter.

    It says what to pass where classes have too few rows for the folds.
    """
    with warnings.catch_warnings():
        # searches say so with a remedy
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        try:
            pairs = list(splitter.split(X, y, **metadata))
        except ValueError as error:
            if "members in each class" not in str(error):
                advice = "Pass another cv."
                if "groups" in str(error):
                    advice = "Pass another cv, or groups to fit."
                elif "target types" in str(error):
                    advice = (
                        "Pass cv=list(splitter.split(X, labels)), with classes, or "
                        "tasks, of which each fold is to have as many."
                    )
                raise ValueError(
                    f"{splitter} cannot split the {len(y)} rows: {error} {advice}"
                ) from error
            most = int(np.unique(y, return_counts=True)[1].max())
            if most == 1:
                raise ValueError(
                    f"Each of the {len(y)} rows has a class of its own: where one is "
                    "held out, nothing is left to learn its class from. Give more "
                    "rows of each class, or merge classes."
                ) from error
            raise ValueError(
                f"{error} The most frequent class has {most} rows: "
                "pass cv, a smaller number of folds or a splitter such as KFold, or "
                "merge rare classes."
            ) from error
    folds = []
    for number, pair in enumerate(pairs):
        if not _is_pair(pair):
            raise ValueError(
                f"Fold {number} of cv must be a pair of row numbers, or of masks of "
                f"the rows, those to train on and those to test; got {pair!r}."
            )
        train, test = (_numbers(rows, number, len(y)) for rows in pair)
        folds.append((train, test))
        rows = np.concatenate([train, test])
        beyond = rows[(rows < 0) | (rows >= len(y))]
        if len(beyond):
            raise ValueError(
                f"Fold {number} of cv has the row number {beyond[0]}, and the {len(y)} "
                f"rows have the numbers 0 to {len(y) - 1}. Pass folds of these rows."
            )
    return folds


def refuse_empty(folds: Folds, observed: Observed) -> None:
    """Raise ValueError if a fold has no rows that count to train on, or to test."""
    for number, pair in enumerate(folds):
        for rows, purpose in zip(pair, ("train on", "test"), strict=True):
            if not len(observed.restrict(rows).counted()):
                raise ValueError(
                    f"Fold {number} of cv has no row to {purpose} with a target and a "
                    "weight that is not zero. Use fewer folds, folds that hold some of "
                    "these, or leave rows without targets out."
                )


def of_known_tasks(
    folds: Folds, observed: Observed, *, one_unit: bool = False
) -> Folds:
    """Return folds that test no row of a task without training rows.

    What targets are normalised by is from all rows: a single row of a task would be
    predicted by itself, and the better the less the inputs count. A fold that has no
    other rows keeps these.

    Parameters
    ----------
    folds : list of pairs of arrays
    observed : Observed
        In long form.
    one_unit : bool, default=False
        Whether all tasks are normalised by the same numbers. The row of a task that has
        no other is tested then: only so it has a say in how tasks are related.

    Raises
    ------
    ValueError
        If no fold has other rows.
    """
    assert observed.tasks is not None
    codes, known, judges = observed.tasks.codes, [], False
    alone = one_unit & observed.of_one_row()
    for train, test in folds:
        new = observed.restrict(train).unobserved()
        kept = test[~np.isin(codes[test], new) | alone[codes[test]]]
        counts = len(observed.restrict(kept).counted()) > 0
        judges |= counts
        known.append((train, kept if counts else test))
    if not judges:
        raise ValueError(
            "All rows that a fold tests are of tasks without training rows there, "
            "which cannot be predicted. Use folds that test some rows of each task and "
            "train on others, as StratifiedKFold().split(X, task) does, or fit "
            "OutputKernelRegressor, without a search, if tasks have one row each."
        )
    return known


def _pairs(folds: Iterable[Any]) -> list[Any]:
    """Return folds as a list, if they are pairs of row numbers, or of masks.

    Raises
    ------
    ValueError
        If there are none, or one is no such pair.
    """
    found = list(folds) if np.iterable(folds) else []
    wrong = [fold for fold in found if not _is_pair(fold)]
    if wrong or not found:
        got = f"the fold {wrong[0]!r}" if wrong else "no folds"
        if isinstance(folds, Iterator):
            got += " from an iterator, which can be read once: pass a list of folds"
        raise ValueError(
            "cv must be a number of folds, a splitter, or pairs of row numbers, or "
            f"masks of rows, those to train on and those to test; got {got}."
        )
    return found


def refuse_generator(cv: Any) -> None:
    """Raise TypeError for folds that a look at them would use up."""
    if isinstance(cv, Generator):
        raise TypeError(
            "cv is a generator of folds, which can be read once, and fit would find "
            "none. Pass a list of the folds as cv, or a splitter."
        )


def _is_pair(fold: Any) -> bool:
    """Tell whether a fold is two arrays of row numbers, or masks of rows."""
    if not isinstance(fold, tuple | list | np.ndarray) or len(fold) != 2:
        return False
    try:
        both = [np.asarray(rows) for rows in fold]
    except ValueError:  # of lists of different lengths
        return False
    # an empty list has no numbers, and no kind of its own
    return all(
        rows.ndim == 1 and (rows.dtype.kind in "iub" or not len(rows)) for rows in both
    )


def _numbers(rows: Any, fold: int, n_samples: int) -> np.ndarray:
    """Return rows by their numbers, which may be given by a mask of all rows.

    Raises
    ------
    ValueError
        For a mask of another length.
    """
    rows = np.asarray(rows)
    if rows.dtype.kind != "b":
        return rows.astype(np.intp)
    if len(rows) != n_samples:
        raise ValueError(
            f"Fold {fold} of cv has a mask of {len(rows)} rows, and there are "
            f"{n_samples}. Pass masks of these rows, or their numbers."
        )
    return np.flatnonzero(rows)


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
        if isinstance(cv, Iterable) and not hasattr(cv, "split"):
            cv = _pairs(cv)
        return check_cv(cv, y, classifier=stratify)
    n_folds = N_FOLDS
    if y is not None:
        n_folds = min(n_folds, len(y) // 2)
    if stratify and y is not None:
        _, counts = np.unique(y, return_counts=True)
        n_folds = min(n_folds, int(counts.max()))
    folds = StratifiedKFold if stratify else KFold
    return folds(max(n_folds, 2), shuffle=True, random_state=random_state)
