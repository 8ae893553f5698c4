"""Scores of outputs whose training rows are all of one side.

The likeliest intercept of a label that no training row has, or that all have, is
infinite, and so is the loss of a held-out row of the other side, whatever the alpha.
One such row would outweigh all others, in a score as in the choice of a temperature.
The intercept says that no row was seen, not that there is none: in the place of the
score are the log odds with half a row of each side added, at every alpha the same.

References
----------
Krichevsky & Trofimov (1981), The performance of universal encoding. IEEE Transactions
on Information Theory.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import logsumexp

from okl.problems import Observed

# Rows of each side that are added.
_ADDED = 0.5


def finite_scores(
    training: Observed, held_out: Observed
) -> Callable[[np.ndarray], np.ndarray]:
    """Return what makes held-out scores those of finite intercepts.

    Parameters
    ----------
    training : Observed
        The training rows, with an intercept for each output.
    held_out : Observed
        The rows that the scores are of.
    """
    if "probabilities" not in training.loss.capabilities:
        return _unchanged
    odds = log_odds(training)
    if np.all(np.isnan(odds)):
        return _unchanged
    if held_out.tasks is not None:
        odds = odds[held_out.tasks.codes][:, None]
    if "multilabel" in training.loss.capabilities:
        return lambda scores: np.where(np.isnan(odds), scores, odds)
    seen = ~(odds < 0)  # also a class that all rows are of

    def of_classes(scores: np.ndarray) -> np.ndarray:
        """Return scores whose classes without rows have these odds to all others."""
        others = logsumexp(scores[:, seen], axis=1, keepdims=True)
        return np.where(seen, scores, others + odds)

    return of_classes


def _unchanged(scores: np.ndarray) -> np.ndarray:
    return scores


def log_odds(training: Observed) -> np.ndarray:
    """Return those of outputs of one side (n_outputs,), NaN of all others."""
    weights = np.ones((1, 1)) if training.weights is None else training.weights
    present = training.targets > 0
    on, off = (
        (weights * side).sum(axis=0)
        if training.tasks is None
        else training.tasks.sums(weights * side)
        for side in (present, ~present)
    )
    one_sided = (on == 0) != (off == 0)
    return np.where(one_sided, np.log((on + _ADDED) / (off + _ADDED)), np.nan)
