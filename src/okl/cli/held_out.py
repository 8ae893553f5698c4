"""What a candidate of a search predicts of rows that it was not fitted to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from okl.cli.data import Data
from okl.cli.search import Candidate, Outcome


def held_out_predictions(
    data: Data, X: np.ndarray, outcome: Outcome, candidate: Candidate
) -> Any:
    """Return the prediction of each row where it is held out, in the form of y.

    It is NaN where there is none, as for a task without rows in the fit.
    """
    predictions = np.full(np.shape(data.y), np.nan, dtype=object)
    for train, test in outcome.folds:
        y = _safe_indexing(data.y, train)
        ids = {name: values[train] for name, values in outcome.ids.items()}
        try:
            model = _unfitted(candidate.model, ids).fit(X[train], y, **ids)
        except ValueError:  # the training rows have no target of an output, or task
            continue
        known = test
        if ids:
            known = test[np.isin(outcome.ids["task"][test], np.unique(ids["task"]))]
        if not len(known):
            continue
        asked = {name: values[known] for name, values in outcome.ids.items()}
        found = model.predict(X[known], **asked)
        predictions[known] = found.reshape(predictions[known].shape)
    return predictions


def _unfitted(model: Any, ids: Mapping[str, np.ndarray]) -> Any:
    """Return a copy with the parameters of those tasks that these rows are of."""
    copied = clone(model)
    if ids:
        some = np.isin(model.output_names_, ids["task"])
        for name in ("alpha", "shift"):
            value: Any = getattr(copied, name, None)
            if np.ndim(value):
                copied.set_params(**{name: np.asarray(value)[some]})
    return copied
