"""Scores of predicted quantiles, where some targets are missing.

The pinball loss of a prediction f of the quantile q is q (y - f) where the target y is
above it and (1 - q) (f - y) where it is below: of all constants the quantile has the
least mean. For q = 1/2 it is half the absolute error. D^2 is to this loss what R^2 is
to the squared error: one for predictions without error, zero for the best constant.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from okl.losses import Quantile
from okl.metrics.averaging import averaged
from okl.metrics.missing import fraction_explained


def d2_pinball_score(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    alpha: float = 0.5,
    multioutput: Any = None,
    task: Any = None,
) -> Any:
    """Return the part of the pinball loss of the best constant that is explained.

    For ``alpha=0.5`` it is scikit-learn's `d2_absolute_error_score`.

    Parameters
    ----------
    y_true : array (n_samples,) or (n_samples, n_outputs)
        Targets; NaN where not observed.
    y_pred : array of the same shape
        Predictions.
    sample_weight : array (n_samples,) or of the shape of y_true, optional
        Weights of the rows, or of each target; a target of weight zero is not scored.
    alpha : float, default=0.5
        The quantile that is predicted, between 0 and 1, by scikit-learn's name.
    multioutput : {"raw_values", "uniform_average"}, optional
        One score per output, or (the default) their mean. An output that is observed in
        fewer than two rows has no score: it is NaN, and left out of the mean.
    task : array (n_samples,), optional
        The task of each row, for data in long form, as in `r2_score`.

    Returns
    -------
    float or array (n_outputs,)

    Raises
    ------
    ValueError
        If shapes differ, the quantile is out of range, or no output can be scored.
    """
    loss = Quantile(alpha)
    loss.validate()
    score = partial(_d2, loss)
    return averaged(score, 2, y_true, y_pred, sample_weight, multioutput, task)


def mean_pinball_loss(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    alpha: float = 0.5,
    multioutput: Any = None,
    task: Any = None,
) -> Any:
    """Return the mean pinball loss over the observed targets.

    Parameters and errors as in `d2_pinball_score`; an output that is observed nowhere
    has no score.

    Returns
    -------
    float or array (n_outputs,)
    """
    loss = Quantile(alpha)
    loss.validate()
    score = partial(_pinball, loss)
    return averaged(score, 1, y_true, y_pred, sample_weight, multioutput, task)


def _pinball(
    loss: Quantile,
    y_true: np.ndarray,
    y_pred: np.ndarray,
    *,
    sample_weight: np.ndarray | None = None,
) -> Any:
    """Return the mean pinball loss of one output, or of each column."""
    return np.average(loss.entries(y_true, y_pred), axis=0, weights=sample_weight)


def _d2(
    loss: Quantile,
    y_true: np.ndarray,
    y_pred: np.ndarray,
    *,
    sample_weight: np.ndarray | None = None,
) -> Any:
    """Return the D^2 of one output, or of each column."""
    columns = y_true.reshape(len(y_true), -1)
    weights = sample_weight
    if weights is not None:
        weights = weights.reshape(len(columns), -1)
    constant = loss.best_intercept(columns, np.zeros_like(columns), weights)
    constant = np.broadcast_to(constant, columns.shape).reshape(y_true.shape)
    error, spread = (
        _pinball(loss, y_true, predicted, sample_weight=sample_weight)
        for predicted in (y_pred, constant)
    )
    return fraction_explained(error, spread)
