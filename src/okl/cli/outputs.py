"""The held-out score of each output: a mean may hide one that is not predicted at all.

The model is fitted again to the training part of each fold, and all held-out
predictions are scored together: R^2 of each target or task, the accuracy of each label,
and of each class the fraction of its rows that were recognised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import recall_score
from sklearn.utils import _safe_indexing

from okl.cli.data import Data
from okl.cli.search import Candidate, Outcome
from okl.metrics import r2_score


def held_out_predictions(
    data: Data, X: np.ndarray, outcome: Outcome, candidate: Candidate
) -> Any:
    """Return what is predicted for each row where it is held out, as y.

    NaN where it could not be, as for a task that was not there in the fit.
    """
    predictions: Any = None
    for train, test in outcome.folds.split(X, data.y):
        y = _safe_indexing(data.y, train)
        ids = {name: values[train] for name, values in outcome.ids.items()}
        try:
            model = clone(candidate.model).fit(X[train], y, **ids)
        except ValueError:  # a fold without any target of an output, or task
            continue
        known = test
        if ids:
            known = test[np.isin(outcome.ids["task"][test], np.unique(ids["task"]))]
        asked = {name: values[known] for name, values in outcome.ids.items()}
        found = model.predict(X[known], **asked)
        if predictions is None:
            predictions = np.full((len(X), *found.shape[1:]), np.nan, dtype=object)
        predictions[known] = found
    return predictions


def name_of_scores(data: Data) -> str:
    """Say what they are."""
    if data.task == "regression":
        return "R^2"
    return "rows recognised" if data.single_classification else "accuracy"


def scores_of_outputs(
    data: Data, predictions: Any, ids: Any, outputs: Sequence[str]
) -> np.ndarray:
    """Return the scores (n_outputs,), in the order of the outputs' names.

    NaN for an output that was observed too rarely. Classes are told by these names.
    """
    if data.single_classification:
        labels, found = np.asarray(data.y), predictions
        known = found == found  # noqa: PLR0124  (not NaN)
        scores: np.ndarray = recall_score(
            labels[known].astype(str),
            found[known].astype(str),
            labels=list(outputs),
            average=None,
            zero_division=np.nan,
        )
        return scores
    y = np.asarray(data.y, dtype=np.float64)
    found = predictions.astype(np.float64).reshape(y.shape)
    if data.task == "classification":
        seen = ~np.isnan(y) & ~np.isnan(found)
        right = np.where(seen, y == found, np.nan)
        return np.nanmean(right, axis=0)
    y = np.where(np.isnan(found), np.nan, y)
    task = ids.get("task")
    return r2_score(
        y, np.where(np.isnan(found), 0.0, found), task=task, multioutput="raw_values"
    )
