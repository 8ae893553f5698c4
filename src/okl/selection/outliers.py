"""Targets that are far from the others, drawn in, for a loss that bears outliers.

A kernel is learned best from the squared loss, whose criteria have closed forms and
tell little differences; but a few targets far away would decide it. They are therefore
replaced by *pseudo-values*, which are no further away than those of normal noise: first
from the median of their output, with which a kernel is learned, and then from what that
kernel predicts where their rows are left out (Huber 1981, *Robust Statistics*, section
7.8, where least squares to pseudo-values give the fit of Huber's loss).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from okl.kernels import Kernel
from okl.losses import Squared
from okl.numerics.quantiles import OF_NORMAL, THREE_QUARTERS, weighted_quantile
from okl.operators import Dense
from okl.problems import Observed
from okl.selection.criteria import LeaveOneOutError
from okl.structures import Identity

# How far a target may be from the median, and from a prediction, in deviations.
_OF_MEDIAN, _OF_PREDICTION = 3.0, 2.5
# The median of the absolute value of a standard normal number.
_MIDDLE_OF_NORMAL = 0.6745


def near_medians(observed: Observed) -> Observed:
    """Return targets (n_samples, n_outputs) of the squared loss, near their medians."""
    medians = weighted_quantile(observed.targets, 0.5, observed.weights)
    return _near(observed, medians, _OF_MEDIAN)


def near_predictions(
    observed: Observed,
    near: Observed,
    kernel: Kernel,
    X: np.ndarray,
    alpha: float,
    *,
    fit_intercept: bool,
) -> Observed:
    """Return targets of the squared loss, near predictions of rows left out.

    Parameters
    ----------
    observed : Observed
        The targets as they are.
    near : Observed
        Those that the predictions are made from.
    kernel : Kernel
    X : array (n_samples, n_features)
    alpha : float
        The variance of their noise.
    fit_intercept : bool
    """
    centres = predicted_without(near, kernel, X, alpha, fit_intercept=fit_intercept)
    return _near(observed, centres, _OF_PREDICTION)


def predicted_without(
    near: Observed, kernel: Kernel, X: np.ndarray, alpha: float, *, fit_intercept: bool
) -> np.ndarray:
    """Return what rows are predicted where they are left out one by one."""
    criterion = LeaveOneOutError(near, fit_intercept=fit_intercept)
    residuals = criterion.residuals(Dense(kernel(X)), alpha, Identity())
    return np.asarray(near.targets - residuals)


def typical_error(observed: Observed, centres: np.ndarray | None = None) -> float:
    """Return how far targets are from centres, as a standard deviation.

    That is the one of normal errors with the same median size, of all outputs. Without
    centres it is the distance from the medians of the outputs.
    """
    weights = observed.weights
    if centres is None:
        centres = weighted_quantile(observed.targets, 0.5, weights)
    errors = np.abs(observed.targets - centres)
    if weights is not None:
        weights = np.broadcast_to(weights, errors.shape).reshape(-1, 1)
    middle = weighted_quantile(errors.reshape(-1, 1), 0.5, weights)
    return float(middle[0]) / _MIDDLE_OF_NORMAL


def _near(observed: Observed, centres: np.ndarray, limit: float) -> Observed:
    """Return targets of the squared loss, no further from centres than a limit.

    Where most are at the centre the deviation is zero, and all are left as they are.
    """
    distances = np.abs(observed.targets - centres)
    sizes = weighted_quantile(distances, THREE_QUARTERS, observed.weights) / OF_NORMAL
    far = np.where(sizes > 0, limit * sizes, np.inf)
    targets = np.clip(observed.targets, centres - far, centres + far)
    return replace(observed, targets=targets, loss=Squared())
