"""Notes on classes, or outputs, of which folds have too few rows.

A class may have no row in the test part of a fold; and one without rows in the training
part cannot be learned there, unless it has relatives in a tree. A class of a single row
is never both learned and tested, whatever the folds, and is named apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from okl.problems import Observed
from okl.selection.folds import Folds
from okl.trees.names import listed, plain

# Names, or fold numbers, that are listed.
_MOST = 5
# One of them, and several.
_CLASSES = ("class", "classes")
# What that means for the scores.
_LOWER = (
    "They cannot be learned in these folds, so the scores are lower than those of a "
    "fit to all rows. "
)
_LEARNED = _LOWER + "Use more folds, or folds that train on some of each."
_STRATIFIED = _LOWER + "Stratified folds would train on some of each."
_LEFT_OUT = (
    "They cannot be learned in these folds, and their rows are left out of the scores "
    "there, if there are others. To judge these tasks as well use more folds, or "
    "folds that train on some rows of each, as StratifiedKFold().split(X, task) does."
)


def notes_of_classes(
    observed: Observed, folds: Folds, y: np.ndarray, *, fit_intercept: bool
) -> Iterator[str]:
    """Yield notes on the classes, for one label y in each row that counts."""
    rows = observed.counted()
    classes, counts = np.unique(y[rows], return_counts=True)
    tested = [y[np.intersect1d(test, rows)] for _, test in folds]
    lacking = [
        np.setdiff1d(classes, y[np.intersect1d(train, rows)]) for train, _ in folds
    ]
    several = counts > 1
    yield from _untested(classes, counts, several, tested)
    if not observed.related:
        yield from _of_one_row(classes, several, lacking)
        lacking = [np.intersect1d(few, classes[several]) for few in lacking]
        yield from _untrained(_CLASSES, "rows", lacking, _STRATIFIED)
    elif fit_intercept:
        parts = zip(folds, lacking, strict=True)
        lacking = [
            few if observed.restrict(train).forbids_intercept else few[:0]
            for (train, _), few in parts
        ]
        end = (
            "Those folds are fitted without an intercept, which would give these "
            "classes probability zero; related classes predict them instead. With "
            "fit_intercept=False no fold has an intercept."
        )
        yield from _untrained(_CLASSES, "rows", lacking, end)


def notes_of_outputs(
    observed: Observed,
    folds: Folds,
    names: np.ndarray | None,
    *,
    judged: bool = True,
    one_unit: bool = False,
) -> Iterator[str]:
    """Yield notes on the outputs, whose rows may be ``judged`` in such folds or not.

    In one unit the row of a task that has no other is judged all the same.
    """
    alone = np.flatnonzero(one_unit & observed.of_one_row())
    lacking = [
        np.setdiff1d(observed.restrict(train).unobserved(), alone) for train, _ in folds
    ]
    if names is not None:
        lacking = [np.asarray(names)[few] for few in lacking]
    kind = ("output", "outputs") if observed.tasks is None else ("task", "tasks")
    yield from _untrained(kind, "targets", lacking, _LEARNED if judged else _LEFT_OUT)


def _of_one_row(
    classes: np.ndarray, several: np.ndarray, lacking: list[np.ndarray]
) -> Iterator[str]:
    """Yield a note on classes whose only row is held out by some fold."""
    alone = np.intersect1d(classes[~several], np.concatenate(lacking))
    if len(alone):
        one = len(alone) == 1
        yield (
            f"{len(alone)} of {len(classes)} classes {'has' if one else 'have'} a "
            f"single row: {listed(alone, _MOST)}. The fold that tests it has not "
            "learned it, which lowers the scores of all candidates alike. Merge "
            f"{'it' if one else 'them'} with other classes, leave out "
            f"{'its row' if one else 'their rows'}, or take the scores for what they "
            "are."
        )


def _untested(
    classes: np.ndarray,
    counts: np.ndarray,
    several: np.ndarray,
    tested: list[np.ndarray],
) -> Iterator[str]:
    """Yield a note on classes of several rows that some fold does not test.

    A fold that tests fewer rows than there are classes cannot have some of each.
    """
    lacking = np.zeros(len(classes), dtype=bool)
    for labels in tested:
        if len(labels) >= len(classes):
            lacking |= ~np.isin(classes, labels)
    few = np.flatnonzero(lacking & several)
    if len(few):
        rarest = few[np.argsort(counts[few], kind="stable")]
        rows = int(counts[rarest[0]])
        yield (
            f"{len(few)} of {len(classes)} classes have no test row in some of the "
            f"{len(tested)} folds: {listed(classes[rarest], _MOST)}, the first of "
            f"which has {rows} rows in all. At most {rows} stratified folds have rows "
            "of every class; else merge rare classes."
        )


def _untrained(
    kind: tuple[str, str],
    what: str,
    lacking: list[np.ndarray],
    end: str = _LEARNED,
) -> Iterator[str]:
    """Yield a note on what has no row in the training part of some folds."""
    where: dict[Any, list[int]] = {}
    for number, names in enumerate(lacking):
        for name in names:
            where.setdefault(plain(name), []).append(number)
    if not where:
        return
    texts = [
        f"{name!r} ({_of_folds(numbers, len(lacking))})"
        for name, numbers in list(where.items())[:_MOST]
    ]
    more = f" and {len(where) - _MOST} more" if len(where) > _MOST else ""
    yield (
        f"The training part of {sum(len(names) > 0 for names in lacking)} of "
        f"{len(lacking)} folds has no {what} of the {kind[len(where) > 1]} "
        f"{', '.join(texts)}{more}. "
        f"{end}"
    )


def _of_folds(numbers: list[int], n_folds: int) -> str:
    if len(numbers) == n_folds:
        return "every fold"
    return f"fold{'s' * (len(numbers) > 1)} {listed(numbers, _MOST)}"
