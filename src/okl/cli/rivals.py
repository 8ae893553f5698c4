"""Simple predictors that a fit should be better than, on the same held-out rows.

`ridge` is linear in the encoded columns: one model for each output, with an alpha of
its own that leave-one-out chooses. Of classes it predicts the one whose column of zeros
and ones is largest. With tasks, it is one model of all rows with a column for each
task. Where rows are in groups, parts of these choose one alpha for all outputs. It
predicts means, so that it is no rival where quantiles are predicted.

`most frequent` is the commoner answer of each label; most labels are rare, so that an
accuracy of 0.95 may be that of never giving the label.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GroupKFold

from okl.cli.truth import Truth, column_means, mean_of_known
from okl.estimators.score_of_numbers import R2
from okl.selection.folds import N_FOLDS, Folds

_ALPHAS = np.logspace(-3, 5, 17)
_SCORING = "neg_mean_squared_error"  # R^2 is none of a part of one row
_MOST_NUMBERS = 2e7  # of the encoded columns, with those of tasks


def rivals_of(
    truth: Truth, X: np.ndarray, folds: Folds, groups: np.ndarray | None = None
) -> Mapping[str, Any]:
    """Return the held-out predictions of each rival by its name, in the form of y."""
    found: dict[str, Any] = {}
    targets, of_classes = _targets(truth)
    columns = _with_tasks(truth, X)
    if truth.measure in (None, R2) and columns.size <= _MOST_NUMBERS:
        values = np.full(targets.shape, np.nan)
        for train, test in folds:
            some = None if groups is None else groups[train]
            values[test] = _ridge(columns[train], targets[train], columns[test], some)
        found["ridge"] = _answers(truth, values, of_classes)
    if truth.measure is None and not truth.row_has_one_output:
        values = np.full(targets.shape, np.nan)
        for train, test in folds:
            values[test] = column_means(targets[train])
        found["most frequent"] = _answers(truth, values, of_classes)
    return found


def constants_of(truth: Truth, folds: Folds) -> np.ndarray | None:
    """Return the best constant of the training rows, for each output of numbers.

    That is the mean, or the quantile that is predicted; of a task without rows that of
    all rows.
    """
    if truth.measure is None:
        return None
    targets, _ = _targets(truth)
    values = np.full(targets.shape, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # an output without rows
        for train, test in folds:
            values[test] = _constant(truth, targets[train])
            if truth.task is not None:
                for task in np.unique(truth.task[train]):
                    own = targets[train][truth.task[train] == task]
                    here = test[truth.task[test] == task]
                    values[here] = _constant(truth, own)
    return values


def frequencies_score(y: np.ndarray, folds: Folds) -> float:
    """Return the held-out log likelihood of the frequencies in the training rows.

    Half a row is added to each class, or each side of a label, so that none has the
    probability zero.

    Parameters
    ----------
    y : array (n_samples,) or (n_samples, n_labels)
        Classes, or labels with NaN where they were not observed.
    folds : list of pairs of arrays
    """
    sides = np.unique(y) if y.ndim == 1 else np.array([0.0, 1.0])
    on = np.stack([y == side for side in sides]) * 1.0
    scores = []
    for train, test in folds:
        counts = on[:, train].sum(axis=1) + 0.5
        logs = np.log(counts / counts.sum(axis=0))
        total = np.sum(on[:, test] * logs[:, None], axis=(0, 1))
        with np.errstate(invalid="ignore"):  # a label that is nowhere in these rows
            means = total / on[:, test].sum(axis=(0, 1))
        scores.append(mean_of_known(np.atleast_1d(means)))
    return float(np.mean(scores))


def _constant(truth: Truth, targets: np.ndarray) -> np.ndarray:
    """Return the mean, or the quantile that is predicted, of each column."""
    quantile = None if truth.measure is None else truth.measure.quantile
    if quantile is None:
        return column_means(targets)
    return np.asarray(np.nanquantile(targets, quantile, axis=0))


def _targets(truth: Truth) -> tuple[np.ndarray, np.ndarray | None]:
    """Return columns of numbers, and the classes that they are of."""
    if not truth.one_class:
        return truth.y.reshape(len(truth.y), -1), None
    classes = np.unique(truth.y)
    return (truth.y[:, None] == classes).astype(np.float64), classes


def _answers(truth: Truth, values: np.ndarray, classes: np.ndarray | None) -> Any:
    """Return predictions in the form of y, NaN where there is none."""
    if classes is not None:
        known = ~np.isnan(values).any(axis=1)
        answers = np.full(len(values), np.nan, dtype=object)
        answers[known] = classes[np.argmax(values[known], axis=1)]
        return answers
    if truth.measure is None:
        values = np.where(np.isnan(values), np.nan, values > 0.5)
    return values.reshape(truth.y.shape)


def _with_tasks(truth: Truth, X: np.ndarray) -> np.ndarray:
    """Return the columns, with one of zeros and ones for each task."""
    if truth.task is None:
        return X
    return np.hstack([X, truth.task[:, None] == np.unique(truth.task)])


def _ridge(
    X: np.ndarray, Y: np.ndarray, asked: np.ndarray, groups: np.ndarray | None
) -> np.ndarray:
    """Predict rows by a ridge regression of each column of Y, over its own rows."""
    values = np.full((len(asked), Y.shape[1]), np.nan)
    there = ~np.isnan(Y)
    patterns, pattern_of = np.unique(there, axis=1, return_inverse=True)
    for k in range(patterns.shape[1]):
        rows, columns = patterns[:, k], np.ravel(pattern_of) == k
        if rows.sum() < 2:
            continue
        model = RidgeCV(_ALPHAS, alpha_per_target=bool(columns.sum() > 1))
        if groups is not None and (n_groups := len(np.unique(groups[rows]))) > 1:
            parts = GroupKFold(min(n_groups, N_FOLDS))
            folds = list(parts.split(X[rows], groups=groups[rows]))
            model = RidgeCV(_ALPHAS, cv=folds, scoring=_SCORING)
        model.fit(X[rows], Y[np.ix_(rows, columns)])
        values[:, columns] = model.predict(asked).reshape(len(asked), -1)
    return values
