"""Targets that a kernel can be learned from: a matrix of outputs that vary.

Data in long form become a target matrix with one observed entry a row. Outputs and
classes with too few rows to learn from are left out. Where most tasks have so few, what
they share can still be learned, from the deviations of targets from the means of their
tasks, as one output. Whatever the loss of the search, classes are learned by a
likelihood: that of the softmax for one class of several a row, the logistic one
otherwise. Numbers are learned by the squared loss in closed form where that, or one
that bears outliers, is the loss of the search.

Only the ratios of weights count. Copies of rows, with their targets, would say that
there is no noise: they become one row of so much more weight.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from okl.losses import Logistic, Softmax
from okl.problems import Observed
from okl.selection.folds import N_FOLDS, Folds
from okl.selection.standard_columns import StandardColumns

# Rows in which an output must have been observed.
_FEWEST = 5
# Lengths of rows that differ by less than a unit of this decimal are the same.
_DECIMALS = 9


def with_likelihood(observed: Observed) -> Observed:
    """Return labels as targets of a loss that has probabilities."""
    if "probabilities" in observed.loss.capabilities:
        return observed
    present = observed.targets > 0
    several = present.shape[1] > 1 and observed.complete
    if several and np.all(present.sum(axis=1) == 1):
        return replace(observed, targets=present.astype(float), loss=Softmax())
    return replace(observed, loss=Logistic())


def in_closed_form(observed: Observed) -> bool:
    """Tell whether a kernel of these targets is learned by the squared loss."""
    return not {"quadratic", "robust"}.isdisjoint(observed.loss.capabilities)


def as_matrix(observed: Observed) -> Observed:
    """Return data in long form as a target matrix with one observed entry a row.

    Numbers are one output where most rows are of tasks with too few to learn from.
    """
    tasks, weights = observed.tasks, observed.weights
    if tasks is None:
        return observed
    counts = np.bincount(tasks.codes, minlength=tasks.n_tasks)
    of_few = np.mean(counts[tasks.codes] < _FEWEST) > 0.5
    if of_few and in_closed_form(observed):
        return _pooled(observed)
    present, columns = np.unique(tasks.codes, return_inverse=True)
    at = np.arange(len(columns)), columns
    targets = np.zeros((len(columns), len(present)))
    given = np.zeros_like(targets)
    targets[at] = observed.targets[:, 0]
    given[at] = 1.0 if weights is None else weights[:, 0]
    return Observed(targets, observed.loss, given)


def _pooled(observed: Observed) -> Observed:
    """Return the deviations from the means of tasks, as one output.

    Those of a task of r rows are too small by the root of 1 - 1 / r, and that of a
    single row says nothing.
    """
    tasks = observed.tasks
    assert tasks is not None
    weights = np.ones_like(observed.targets)
    if observed.weights is not None:
        weights = observed.weights
    total, n_rows = tasks.sums(weights), tasks.sums((weights > 0).astype(np.float64))
    means = tasks.sums(weights * observed.targets) / np.where(total > 0, total, 1.0)
    several = n_rows > 1
    if not np.any(several):  # then all tasks are normalised by the same numbers
        return Observed(observed.targets, observed.loss, weights)
    grown = np.where(several, np.sqrt(n_rows / np.where(several, n_rows - 1, 1)), 0.0)
    targets = (observed.targets - tasks.spread(means)) * tasks.spread(grown)
    return Observed(targets, observed.loss, weights * tasks.spread(several))


def of_learnable_outputs(observed: Observed) -> tuple[np.ndarray, Observed | None]:
    """Return the numbers of rows to learn from, and their outputs that vary enough.

    Where each row has one class, the rows of a class that is left out are left out too.
    """
    targets = observed.targets
    rows = np.arange(len(targets))
    if _is_softmax(observed):
        counts = targets.sum(axis=0)
        outputs = np.flatnonzero(counts > 1)
        rows = np.flatnonzero(targets[:, outputs].sum(axis=1) > 0)
        enough = len(outputs) > 1
    else:
        outputs = np.flatnonzero(_varying(observed, _FEWEST))
        if observed.weights is not None:
            weights = np.broadcast_to(observed.weights, targets.shape)
            rows = np.flatnonzero(weights[:, outputs].any(axis=1))
        enough = len(outputs) > 0
    return rows, observed.restrict(rows).of_outputs(outputs) if enough else None


def why_not_learnable(observed: Observed) -> str:
    """Return why no kernel can be learned of targets of which no output is left."""
    if _is_softmax(observed):
        most = int(observed.targets.sum(axis=0).max())
        if most < 2:
            return (
                "no class has two rows that differ, one to learn from and one to test"
            )
        return "only one class has more than one row"
    if not np.any(_varying(observed, 1)):
        return "all targets are constant"
    if not np.any(_varying(observed, _FEWEST)):
        return (
            f"no output that varies was observed in at least {_FEWEST} rows that differ"
        )
    return (
        "no label has both values in the training rows of each of the folds used to "
        "learn a kernel"
    )


class Distinct(NamedTuple):
    """Rows that differ, in an order that does not depend on the one they came in.

    Attributes
    ----------
    first : array (n_distinct,)
        The number of one of each.
    number : array (n_samples,)
        Which of these each row is a copy of.
    """

    first: np.ndarray
    number: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, observed: Observed) -> Distinct:
        """Find the rows that differ in X or in a target."""
        parts = [X, observed.targets]
        if observed.weights is not None:
            parts.append(observed.weights > 0)
        if observed.tasks is not None:
            parts.append(observed.tasks.codes[:, None])
        _, first, number = np.unique(
            np.column_stack(parts), axis=0, return_index=True, return_inverse=True
        )
        return cls(first, number.ravel())

    def weights(self, weights: np.ndarray | None) -> np.ndarray | None:
        """Return the sums of the weights of copies, None for ones."""
        if weights is None:
            if len(self.first) == len(self.number):
                return None
            return np.bincount(self.number).astype(np.float64)
        sums = np.zeros((len(self.first), *weights.shape[1:]))
        np.add.at(sums, self.number, weights)
        return sums

    def observed(self, observed: Observed) -> Observed:
        """Return the targets of rows that differ, with these weights."""
        weights = self.weights(observed.weights)
        if weights is not None:
            weights = weights.reshape(len(self.first), -1)
        return replace(observed.restrict(self.first), weights=weights)


def of_mean_weight_one(observed: Observed) -> Observed:
    """Return the targets with weights whose mean is one, those of zero aside."""
    weights = observed.weights
    if weights is None:
        return observed
    return replace(observed, weights=weights / weights[weights > 0].mean())


def _is_softmax(observed: Observed) -> bool:
    """Tell whether the outputs are the classes of which each row has one."""
    return "multilabel" not in observed.loss.capabilities and (
        "probabilities" in observed.loss.capabilities
    )


def _varying(observed: Observed, fewest: int) -> np.ndarray:
    """Tell which outputs have so many targets, not all the same."""
    targets, weights = observed.targets, observed.weights
    counted = np.ones(targets.shape, dtype=bool)
    if weights is not None:
        counted = np.broadcast_to(weights > 0, targets.shape)
    lowest = np.where(counted, targets, np.inf).min(axis=0)
    highest = np.where(counted, targets, -np.inf).max(axis=0)
    return (counted.sum(axis=0) >= fewest) & (lowest < highest)


def lengths_of(X: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return how far rows are from their mean, the columns standardised.

    This depends neither on the order of rows or columns, nor on the units and signs of
    columns, nor on copies of rows with so much less weight; rounding is cut off.
    """
    columns = StandardColumns.of(X, weights, centred=True)
    lengths = np.sqrt(np.sum(columns.rows(X) ** 2, axis=1))
    return np.round(lengths, _DECIMALS)


def folds_of(observed: Observed, lengths: np.ndarray, random_state: Any) -> Folds:
    """Return shuffled folds, with as much of each class where rows have one.

    There are five, or as many as the most frequent class has rows.

    Rows are dealt out by their lengths: in the order of `Distinct` folds would depend
    on the order and the signs of the columns.

    Parameters
    ----------
    observed : Observed
    lengths : array (n_rows,)
        As of `lengths_of`.
    random_state : int, RandomState or None

    Returns
    -------
    list of pairs of arrays
        None where no class has two rows; other outputs have enough.
    """
    targets, n, n_folds = observed.targets, len(observed.targets), N_FOLDS
    classes = "probabilities" in observed.loss.capabilities and (
        targets.shape[1] == 1 or bool(np.all((targets > 0).sum(axis=1) == 1))
    )
    if not classes:
        kind: Any = KFold
        labels = np.zeros(n)
    else:
        labels = targets[:, 0] > 0 if targets.shape[1] == 1 else targets.argmax(axis=1)
        n_folds = min(n_folds, int(np.unique(labels, return_counts=True)[1].max()))
        if n_folds < 2:
            return []
        kind = StratifiedKFold
    splitter = kind(n_folds, shuffle=True, random_state=random_state)
    with warnings.catch_warnings():
        # a class with fewer rows than folds is in as many folds as it has rows
        warnings.simplefilter("ignore", UserWarning)
        order = np.argsort(lengths, kind="stable")
        pairs = splitter.split(np.zeros((n, 1)), labels[order])
        return [(np.sort(order[train]), np.sort(order[test])) for train, test in pairs]


def learnable_in_all(observed: Observed, folds: Folds) -> Observed | None:
    """Return the outputs that can be learned from the training part of each fold."""
    if not folds:
        return None
    known = np.ones(observed.targets.shape[1], dtype=bool)
    for train, _ in folds:
        known &= _varying(observed.restrict(train), 2)
    if _is_softmax(observed) and not np.all(known):
        return None
    outputs = np.flatnonzero(known)
    return observed.of_outputs(outputs) if len(outputs) else None


def with_targets(observed: Observed, folds: Folds) -> Folds:
    """Return the folds that hold out a target; rows of outputs left out have none."""
    weights = observed.weights
    if weights is None:
        return folds
    return [fold for fold in folds if np.any(weights[fold[1]] > 0)]
