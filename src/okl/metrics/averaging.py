"""Outputs are scored on their observed targets, and the scores averaged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from okl.numerics.numbers import checked_numbers
from okl.numerics.validation import (
    LARGEST_WITH_SQUARE,
    check_choice,
    check_magnitude,
    refuse_negative_weights,
)


def averaged(
    score: Callable[..., Any],
    least: int,
    y_true: Any,
    y_pred: Any,
    sample_weight: Any,
    multioutput: Any,
    task: Any = None,
    needs: str = "observed targets or more",
) -> Any:
    """Score each output on its observed rows, at least ``least``, and average.

    An output whose score is NaN is left out of the mean. If all scores are NaN, the
    error says what outputs need. ``score`` takes targets, predictions and
    ``sample_weight`` of one task, or the columns of all outputs at once: targets that
    are missing have weight zero there.
    """
    targets = score_numbers(y_true, "y_true", finite="allow-nan")
    predictions = score_numbers(y_pred, "y_pred", finite=True)
    shapes = f"{targets.shape} and {predictions.shape}"
    # one column is one output, with or without a dimension of its own
    targets, predictions = (a.reshape(len(a), -1) for a in (targets, predictions))
    if targets.shape != predictions.shape:
        raise ValueError(f"y_true and y_pred must have the same shape; got {shapes}.")
    check_choice(multioutput, "multioutput", ("raw_values", "uniform_average", None))
    observed = ~np.isnan(targets)
    check_magnitude(
        np.where(observed, targets, 0.0),
        "y_true has entries up to",
        "Rescale the targets.",
        largest_size=LARGEST_WITH_SQUARE,
    )
    weights = None
    if sample_weight is not None:
        weights = _checked_weights(sample_weight, targets.shape)
        observed &= weights > 0
    if task is None:
        counted = np.sum(observed, axis=0) >= least
        scores = np.full(len(counted), np.nan)
        if weights is not None or not observed.all():
            weights = np.where(observed, 1.0 if weights is None else weights, 0.0)
            targets = np.where(observed, targets, 0.0)
            weights = weights[:, counted]
        if np.any(counted):
            scores[counted] = score(
                targets[:, counted], predictions[:, counted], sample_weight=weights
            )
    else:
        outputs = _outputs(observed, task)
        scores = np.full(len(outputs), np.nan)
        for j, (rows, column) in enumerate(outputs):
            if len(rows) >= least:
                chosen = None if weights is None else weights[rows, column]
                scores[j] = score(
                    targets[rows, column],
                    predictions[rows, column],
                    sample_weight=chosen,
                )
    if np.all(np.isnan(scores)):
        remedy = (
            " Score more rows at once, or use an error as the score."
            if least > 1
            else ""
        )
        raise ValueError(
            f"No output has {least} {needs}: nothing can be scored.{remedy}"
        )
    return scores if multioutput == "raw_values" else float(np.nanmean(scores))


def score_numbers(values: Any, name: str, *, finite: bool | str) -> np.ndarray:
    """Check an array of numbers.

    An array of finite floats is returned as it is: all other checks would cost a search
    more than the score.
    """
    floats = type(values) is np.ndarray and values.dtype == np.float64
    if floats and values.ndim in (1, 2) and values.size and np.isfinite(values).all():
        return values
    # differences of integers wrap around, and booleans have none
    kinds = [np.float64, np.float32]
    found: np.ndarray = checked_numbers(
        values, name, dtype=kinds, ensure_all_finite=finite
    )
    return found


def _outputs(observed: np.ndarray, task: Any) -> list[tuple[np.ndarray, int]]:
    """Return the observed rows of each output, and its column."""
    if task is None:
        return [(np.flatnonzero(rows), j) for j, rows in enumerate(observed.T)]
    ids = column_or_1d(task, input_name="task")
    check_consistent_length(observed, ids)
    if observed.shape[1] > 1:
        raise ValueError(
            "With task there is one target a row; got targets with "
            f"{observed.shape[1]} columns."
        )
    order = np.argsort(ids, kind="stable")
    _, first = np.unique(ids[order], return_index=True)
    groups = np.split(order, first[1:])
    return [(rows[observed[rows, 0]], 0) for rows in groups]


def _checked_weights(sample_weight: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return weights of the given shape, from those of rows or of targets."""
    refuse_negative_weights(sample_weight)
    weights = check_array(sample_weight, ensure_2d=False, input_name="sample_weight")
    if weights.shape == (shape[0],):
        weights = weights[:, None]
    if weights.shape not in ((shape[0], 1), shape):
        raise ValueError(
            f"sample_weight must have the shape {(shape[0],)} or {shape}; got "
            f"{weights.shape}."
        )
    return np.broadcast_to(weights, shape)
