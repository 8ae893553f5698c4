"""Some classes or labels, from which a kernel is learned first where there are many.

With n rows of m classes an evaluation by fits to folds costs about n^2 m, and where
each row has one class, the rows of a class that is left out are left out too. What
makes rows similar is much the same whichever classes are told apart. So most of a
search can be done on the most frequent classes, if its last steps are of all of them: a
column may tell only others apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from okl.problems import Observed
from okl.selection.folds import Folds
from okl.selection.standard_rows import StandardRows

# The most of n^2 m to learn from; so many classes are kept whatever they cost.
_MOST, _FEW = 2.5e6, 30
# Classes that are as frequent go by how far their rows are from the mean, in units of
# this decimal: by their order a kernel would depend on how they are called.
_DECIMALS = 9


class SomeClasses(NamedTuple):
    """Numbers of classes, and of the rows that come with them."""

    rows: np.ndarray
    classes: np.ndarray

    def of(self, rows: StandardRows) -> StandardRows:
        """Return these rows and classes."""
        weights = rows.row_weights
        return replace(
            rows,
            Z=rows.Z[self.rows],
            observed=rows.observed.restrict(self.rows).of_outputs(self.classes),
            row_weights=None if weights is None else weights[self.rows],
        )

    def folds(self, folds: Folds, n_samples: int) -> Folds:
        """Return the folds of these rows, but those that hold out none of them.

        ``n_samples`` is the number of all rows.
        """
        kept = np.zeros(n_samples, dtype=bool)
        kept[self.rows] = True
        number = np.cumsum(kept) - 1
        return [
            (number[train[kept[train]]], number[test[kept[test]]])
            for train, test in folds
            if np.any(kept[test])
        ]


def frequent_classes(rows: StandardRows) -> SomeClasses | None:
    """Return the classes that a kernel is learned from first, None for all of them.

    They are those of which most rows have the rarer of the two values.
    """
    observed = rows.observed
    squares = (observed.targets > 0).T @ np.sum(rows.Z**2, axis=1)
    distances = np.round(squares / np.mean(squares), _DECIMALS)
    n_rows, order = _sizes(observed, distances)
    if len(n_rows) == len(order):
        return None
    classes = np.sort(order[: len(n_rows)])
    stays = _rows_of_classes(observed)[:, classes]
    return SomeClasses(np.flatnonzero(stays.any(axis=1)), classes)


def sizes_to_learn_from(observed: Observed) -> tuple[int, int]:
    """Return the numbers of rows and classes that a kernel is learned from first."""
    n_rows, _ = _sizes(observed, np.zeros(observed.targets.shape[1]))
    return int(n_rows[-1]), len(n_rows)


def _sizes(observed: Observed, distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the first class, the first two, ..., and the order of all."""
    rows, present = _rows_of_classes(observed), observed.targets > 0
    n_classes = rows.shape[1]
    frequency = np.count_nonzero(rows & present, axis=0)
    if "multilabel" in observed.loss.capabilities:
        frequency = np.minimum(frequency, np.count_nonzero(rows & ~present, axis=0))
    order = np.lexsort((distances, -frequency))
    n_rows = np.maximum.accumulate(rows[:, order], axis=1).sum(axis=0)
    costs = n_rows.astype(np.float64) ** 2 * np.arange(1, n_classes + 1)
    kept = n_classes
    if "probabilities" in observed.loss.capabilities and costs[-1] > _MOST:
        kept = max(int(np.searchsorted(costs, _MOST, side="right")), _FEW)
    return n_rows[:kept], order


def _rows_of_classes(observed: Observed) -> np.ndarray:
    """Tell which rows come with which class: its own, or where it was observed."""
    if "multilabel" not in observed.loss.capabilities:
        return observed.targets > 0
    weights = np.ones((1, 1)) if observed.weights is None else observed.weights
    return np.broadcast_to(weights > 0, observed.targets.shape)
