"""Scores of classifiers' scores and probabilities, where some labels are missing.

Classes, one per row, cannot be missing: for these the scores are scikit-learn's. Label
indicators, one column per label, can be missing: each label is scored as two classes on
the rows where it was observed, and the scores of the labels are averaged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import metrics

from okl.metrics.averaging import averaged
from okl.numerics.validation import refuse_negative_weights


def roc_auc_score(
    y_true: Any, y_score: Any, *, sample_weight: Any = None, multioutput: Any = None
) -> Any:
    """Return the area under the ROC curve over the observed labels.

    Parameters
    ----------
    y_true : array (n_samples,) or (n_samples, n_labels)
        Two classes, or label indicators; NaN for a label that was not observed.
    y_score : array of the same shape
        Scores, such as those of ``decision_function``, or probabilities.
    sample_weight : array (n_samples,) or of the shape of y_true, optional
        Weights of the rows, or, for indicators, of each label.
    multioutput : {"raw_values", "uniform_average"}, optional
        For indicators one area per label, or (the default) their mean. A label that was
        observed only present, or only absent, has none: it is NaN, and left out of the
        mean.

    Returns
    -------
    float or array (n_labels,)
        NaN, with a warning, for rows of one class, as in scikit-learn.

    Raises
    ------
    ValueError
        If shapes differ, there are more than two classes, or no label indicator was
        observed both present and absent.
    """
    if np.ndim(y_true) == 2:
        needs = "observed labels that differ"
        return averaged(
            _areas, 2, y_true, y_score, sample_weight, multioutput, needs=needs
        )
    if np.ndim(y_score) == 2:
        raise ValueError(
            f"The scores of {np.shape(y_score)[1]} classes have no ROC curve, which is "
            "for two classes or label indicators. For several classes use "
            "scoring='roc_auc_ovr' of scikit-learn and a loss with probabilities, "
            "'logistic' or 'softmax'."
        )
    refuse_negative_weights(sample_weight)
    return float(metrics.roc_auc_score(y_true, y_score, sample_weight=sample_weight))


def log_loss(
    y_true: Any,
    y_proba: Any,
    *,
    sample_weight: Any = None,
    multioutput: Any = None,
    labels: Any = None,
) -> Any:
    """Return minus the mean log likelihood of the observed labels.

    For a label indicator y and its probability p, as ``predict_proba`` of the
    classifiers gives it, that is the mean of -y log p - (1 - y) log(1 - p).
    (`sklearn.metrics.log_loss` treats a row of indicators as a single class.)

    Parameters
    ----------
    y_true : array (n_samples,) or (n_samples, n_labels)
        Classes, or label indicators; NaN for a label that was not observed.
    y_proba : array (n_samples,), (n_samples, n_classes) or (n_samples, n_labels)
        Probabilities: of the second of two classes, of each class, or of each label.
    sample_weight : array (n_samples,) or of the shape of y_true, optional
        Weights of the rows, or, for indicators, of each label.
    multioutput : {"raw_values", "uniform_average"}, optional
        For indicators one loss per label, or (the default) their mean. A label that
        was observed nowhere has none.
    labels : array (n_classes,), optional
        All classes, where some are not among ``y_true``.

    Returns
    -------
    float or array (n_labels,)

    Raises
    ------
    ValueError
        If shapes differ, or no label was observed.
    """
    if np.ndim(y_true) < 2:
        refuse_negative_weights(sample_weight)
        loss = metrics.log_loss(
            y_true, y_proba, sample_weight=sample_weight, labels=labels
        )
        return float(loss)
    if np.ndim(y_proba) == 1 and np.shape(y_true)[1] == 2:
        raise ValueError(
            "y_proba must have a column for each of the two labels; got one. "
            "scikit-learn's scorers treat two labels as two classes, and pass on the "
            "second column only: score with a function, scoring=lambda model, X, y: "
            "-log_loss(y, model.predict_proba(X))."
        )
    return averaged(_entropy, 1, y_true, y_proba, sample_weight, multioutput)


def _areas(
    labels: np.ndarray, scores: np.ndarray, *, sample_weight: np.ndarray | None = None
) -> Any:
    """Return the area under the curve of each column, NaN if all its labels agree.

    It is the probability that a row with the label has a larger score than one without,
    where equal scores count a half.
    """
    _check_indicators(labels)
    weights = np.ones(labels.shape) if sample_weight is None else sample_weight
    order = np.argsort(scores, axis=0, kind="stable")
    scores = np.take_along_axis(scores, order, axis=0)
    labels = np.take_along_axis(labels, order, axis=0)
    weights = np.take_along_axis(weights, order, axis=0)
    positive, negative = labels * weights, (1 - labels) * weights
    upto = np.cumsum(negative, axis=0)
    # the first and the last row with the same score
    rows = np.arange(len(scores))[:, None] + np.zeros(scores.shape, dtype=np.intp)
    changes = np.diff(scores, axis=0) != 0
    first, last = rows.copy(), rows.copy()
    first[1:] = np.where(changes, rows[1:], 0)
    last[:-1] = np.where(changes, rows[:-1], len(scores) - 1)
    first = np.maximum.accumulate(first, axis=0)
    last = np.minimum.accumulate(last[::-1], axis=0)[::-1]
    below = np.take_along_axis(upto - negative, first, axis=0)
    least = (below + np.take_along_axis(upto, last, axis=0)) / 2
    total = positive.sum(axis=0) * negative.sum(axis=0)
    found = np.sum(positive * least, axis=0) / np.where(total > 0, total, 1.0)
    return np.where(total > 0, found, np.nan)


def _check_indicators(labels: np.ndarray) -> None:
    """Raise ValueError for a label that is neither 0 nor 1."""
    if not np.all((labels == 0) | (labels == 1)):
        other = labels[(labels != 0) & (labels != 1)].flat[0]
        raise ValueError(f"Label indicators must be 0, 1 or NaN; y_true has {other:g}.")


def _entropy(
    labels: np.ndarray, chances: np.ndarray, *, sample_weight: np.ndarray | None = None
) -> Any:
    """Return the log loss of one label, or of each column, as scikit-learn's.

    It leaves out most of scikit-learn's checks: a search scores hundreds of
    predictions, and checks cost more than the score.
    """
    _check_indicators(labels)
    if chances.min() < 0 or chances.max() > 1:
        outside = chances[(chances < 0) | (chances > 1)].flat[0]
        raise ValueError(
            f"Probabilities must be between 0 and 1; y_proba has {outside:g}. Scores "
            "of decision_function are not probabilities; use those of predict_proba."
        )
    least = np.finfo(chances.dtype).eps
    of_the_label = np.where(labels == 1, chances, 1.0 - chances)
    losses = -np.log(np.clip(of_the_label, least, 1.0 - least))
    return np.average(losses, axis=0, weights=sample_weight)
