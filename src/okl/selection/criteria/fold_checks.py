"""Whether folds can be fitted and judged, before any fit."""

from __future__ import annotations

import numpy as np

from okl.problems import Observed


def check_folds(
    observed: Observed,
    folds: list[tuple[np.ndarray, np.ndarray]],
    *,
    fit_intercept: bool,
) -> None:
    """Raise ValueError if a fold cannot be fitted, or has nothing to judge."""
    # the intercept of a class without rows is minus infinity
    classes = "probabilities" in observed.loss.capabilities and fit_intercept
    for number, (train, test) in enumerate(folds):
        if len(train) == 0 or len(test) == 0:
            raise ValueError(
                f"Fold {number} has {len(train)} rows to train on and {len(test)} to "
                "test; it needs some of both. Use fewer folds."
            )
        training = observed.restrict(train)
        missing = training.unobserved()
        if len(missing):
            raise ValueError(
                f"Fold {number} has no training row with a target of output "
                f"{missing[0]}. Use fewer folds, or folds that leave some of each."
            )
        if not classes:
            continue
        weights = np.ones((len(train), 1))
        if training.weights is not None:
            weights = training.weights
        counted = np.broadcast_to(weights > 0, training.targets.shape)
        lowest = np.where(counted, training.targets, np.inf).min(axis=0)
        highest = np.where(counted, training.targets, -np.inf).max(axis=0)
        if np.any(lowest == highest):
            output = int(np.flatnonzero(lowest == highest)[0])
            which, name = "no" if highest[output] <= 0 else "only", output
            if len(highest) == 1:  # one column for two classes
                which, name = "no", 1 if highest[0] <= 0 else 0
            raise ValueError(
                f"Fold {number} has {which} training rows of class {name}, in the "
                "order of the classes. Use stratified folds, fewer of them, or leave "
                "out rare classes; or fit_intercept=False, with which a class without "
                "rows is predicted by its relatives."
            )
