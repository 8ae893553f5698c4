"""Scores of predictions where some targets are missing.

A target that is NaN was not observed, and its prediction is not scored. Each output is
scored on the rows where it was observed, and the scores of outputs are averaged as in
scikit-learn. Without NaN the scores are scikit-learn's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import metrics
from sklearn.utils.validation import _check_sample_weight, check_array

from okl.metrics.averaging import averaged, score_numbers
from okl.metrics.indicators import partly_observed, without_objects
from okl.numerics.missing import refuse_masked
from okl.numerics.validation import refuse_negative_weights


def r2_score(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    multioutput: Any = None,
    task: Any = None,
) -> Any:
    """Return the coefficient of determination over the observed targets.

    Parameters
    ----------
    y_true : array (n_samples,) or (n_samples, n_outputs)
        Targets; NaN where not observed.
    y_pred : array of the same shape
        Predictions.
    sample_weight : array (n_samples,) or of the shape of y_true, optional
        Weights of the rows, or of each target; a target of weight zero is not scored.
    multioutput : {"raw_values", "uniform_average"}, optional
        One score per output, or (the default) their mean. An output that is observed in
        fewer than two rows has no score: it is NaN, and left out of the mean.
    task : array (n_samples,), optional
        For data in long form, with one target in each row: the task of each row. There
        is one score per task, in the order of the sorted ids, as if each task were an
        output.

    Returns
    -------
    float or array (n_outputs,)

    Raises
    ------
    ValueError
        If shapes differ, or no output can be scored.
    """
    return averaged(_r2, 2, y_true, y_pred, sample_weight, multioutput, task)


def mean_squared_error(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    multioutput: Any = None,
    task: Any = None,
) -> Any:
    """Return the mean squared error over the observed targets.

    Parameters and errors as in `r2_score`; an output that is observed nowhere has no
    score.

    Returns
    -------
    float or array (n_outputs,)
    """
    return averaged(_squared, 1, y_true, y_pred, sample_weight, multioutput, task)


def mean_absolute_error(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    multioutput: Any = None,
    task: Any = None,
) -> Any:
    """Return the mean absolute error over the observed targets.

    Parameters and errors as in `mean_squared_error`.

    Returns
    -------
    float or array (n_outputs,)
    """
    return averaged(_absolute, 1, y_true, y_pred, sample_weight, multioutput, task)


def accuracy_score(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Return the fraction of rows whose observed labels are all right.

    Without NaN it is scikit-learn's accuracy, of any classes.

    Parameters
    ----------
    y_true : array (n_samples,) or (n_samples, n_labels)
        Classes, or label indicators; NaN for a label that was not observed. A row
        without observed labels is left out.
    y_pred : array of the same shape
        Predictions.
    sample_weight : array (n_samples,), optional
        Weights of the rows.

    Raises
    ------
    ValueError
        If shapes differ, or no row has an observed label.
    """
    refuse_masked(y_true, "y_true")
    refuse_negative_weights(sample_weight)
    if not partly_observed(y_true):
        y_true, y_pred = without_objects(y_true), without_objects(y_pred)
        try:
            score = metrics.accuracy_score(y_true, y_pred, sample_weight=sample_weight)
        except TypeError as error:
            kinds = " and ".join(str(np.asarray(y).dtype) for y in (y_true, y_pred))
            raise TypeError(
                f"y_true and y_pred must be classes of one kind; got {kinds}."
            ) from error
        return float(score)
    labels = score_numbers(y_true, "y_true", finite="allow-nan")
    predictions = check_array(y_pred, input_name="y_pred")
    if labels.shape != predictions.shape:
        raise ValueError(
            "y_true and y_pred must have the same shape; got "
            f"{labels.shape} and {predictions.shape}."
        )
    missing = np.isnan(labels)
    rows = ~missing.all(axis=1)
    if not rows.any():
        raise ValueError("No row has an observed label: nothing can be scored.")
    right = np.all(missing | (labels == predictions), axis=1)
    weights = None
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, labels)[rows]
    return float(np.average(right[rows], weights=weights))


def fraction_explained(error: Any, spread: Any) -> Any:
    """Return one minus an error over that of a constant; without the latter 0 or 1."""
    constant = spread == 0
    return np.where(constant, error == 0, 1.0 - error / np.where(constant, 1.0, spread))


def _r2(
    y_true: np.ndarray, y_pred: np.ndarray, *, sample_weight: np.ndarray | None = None
) -> Any:
    """Return the R^2 of one output, or of each column, as scikit-learn's.

    Like the scores below it leaves out scikit-learn's checks: a search scores thousands
    of predictions, and checks cost more than the score.
    """
    error = (y_true - y_pred) ** 2
    spread = (y_true - np.average(y_true, axis=0, weights=sample_weight)) ** 2
    if sample_weight is not None:
        error, spread = error * sample_weight, spread * sample_weight
    return fraction_explained(error.sum(axis=0), spread.sum(axis=0))


def _squared(
    y_true: np.ndarray, y_pred: np.ndarray, *, sample_weight: np.ndarray | None = None
) -> Any:
    """Return the mean squared error of one output, or of each column."""
    return np.average((y_true - y_pred) ** 2, axis=0, weights=sample_weight)


def _absolute(
    y_true: np.ndarray, y_pred: np.ndarray, *, sample_weight: np.ndarray | None = None
) -> Any:
    """Return the mean absolute error of one output, or of each column."""
    return np.average(np.abs(y_true - y_pred), axis=0, weights=sample_weight)
