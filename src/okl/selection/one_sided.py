"""Scores of outputs whose rows, but for one at most, are all of one side.

The likeliest intercept of a label that no training row has, or that all have, is
infinite, and so is the loss of a held-out row of the other side, whatever the alpha.
One such row would outweigh all others, in a score as in the choice of a temperature.
That no such row was seen does not mean that there is none: the score is replaced by the
log odds with half a row added on each side, which are the same at every alpha.

The same is done for a label that has a single row, if that is a training row. All
held-out rows are on the other side then: they score a fit the higher the surer it is of
that side, and no row shows that it is too sure. For classes in a tree, and for tasks,
their relatives show that.

References
----------
Krichevsky & Trofimov (1981), The performance of universal encoding. IEEE Transactions
on Information Theory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import expit, logsumexp

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
    odds = _log_odds(training)
    on, off = (a + b for a, b in zip(_rows(training), _rows(held_out), strict=True))
    alone = not training.related and training.tasks is None
    if "multilabel" not in training.loss.capabilities:
        absent = _weights(training)[0] == 0
        replaced = absent | (alone & (on == 1))
        return _odds_to_others(absent if np.all(replaced) else replaced, odds)
    replaced = _one_sided(training) | (alone & (np.minimum(on, off) == 1))
    if not np.any(replaced):
        return _unchanged
    odds = np.where(replaced, odds, np.nan)
    if held_out.tasks is not None:
        odds = odds[held_out.tasks.codes][:, None]
    return lambda scores: np.where(np.isnan(odds), scores, odds)


def _odds_to_others(
    classes: np.ndarray, odds: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """Return what gives these classes their log odds to all others together."""
    if not np.any(classes):
        return _unchanged

    def scores_of_all(scores: np.ndarray) -> np.ndarray:
        others = logsumexp(scores[:, ~classes], axis=1, keepdims=True)
        return np.where(classes, others + odds, scores)

    return scores_of_all


def _unchanged(scores: np.ndarray) -> np.ndarray:
    return scores


def log_odds(training: Observed) -> np.ndarray:
    """Return log odds of outputs whose rows are all on one side, NaN for others."""
    return np.where(_one_sided(training), _log_odds(training), np.nan)


def one_row(training: Observed) -> tuple[np.ndarray, np.ndarray]:
    """Return on which side outputs have a single row, and its share of all rows.

    Sides are 1 and -1, zero for other outputs, as for tasks, which have relatives. The
    shares have half a row of each side added.
    """
    on, off = _rows(training)
    odds = _log_odds(training)
    side = np.where(on == 1, 1.0, np.where(off == 1, -1.0, 0.0))
    if training.tasks is not None or training.related:
        side = np.zeros_like(side)
    side[(on == 0) | (off == 0)] = 0.0
    return side, expit(np.where(side < 0, -odds, odds))


def _log_odds(training: Observed) -> np.ndarray:
    """Return the log odds of all outputs, half a row of each side added."""
    on, off = _weights(training)
    return np.log((on + _ADDED) / (off + _ADDED))


def _one_sided(training: Observed) -> np.ndarray:
    on, off = _weights(training)
    return (on == 0) != (off == 0)


def _rows(observed: Observed) -> tuple[np.ndarray, np.ndarray]:
    """Return how many rows of each side count (n_outputs,)."""
    if observed.weights is None:
        return _weights(observed)
    return _weights(replace(observed, weights=(observed.weights > 0).astype(float)))


def _weights(observed: Observed) -> tuple[np.ndarray, np.ndarray]:
    """Return the weight of the rows of each side (n_outputs,)."""
    weights = np.ones((1, 1)) if observed.weights is None else observed.weights
    present = observed.targets > 0
    on, off = (
        (weights * side).sum(axis=0)
        if observed.tasks is None
        else observed.tasks.sums(weights * side)
        for side in (present, ~present)
    )
    return on, off
