"""Held-out scores judged at the temperature that suits them best.

A structure at an alpha has one temperature for all folds: their held-out scores are
kept until the last of them is fitted, and judged then. Labels have one each; a fold
that is judged alone has one for all, as its rows are few. A label whose rows are all on
one side has 1.0: no row that is held out could say that its log odds are too sure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from okl.estimators.search.judge import Judge
from okl.problems import Observed
from okl.selection.held_out import FoldScores
from okl.selection.one_sided import log_odds
from okl.selection.temperature import best_temperature, temperature_of_each

# How exactly the logarithm of the temperature of one fold is found.
_ROUGHLY = 1e-2


@dataclass(frozen=True)
class TemperedScore:
    """The score of one fold at the temperature that suits it best.

    Attributes
    ----------
    observed : Observed
        Of all rows.
    judge : Judge
    """

    observed: Observed
    judge: Judge

    def __call__(self, predictions: np.ndarray, test: np.ndarray) -> float:
        """Return the score of predictions of the rows of these numbers."""
        return self.suited_to(predictions, test)(predictions, test)

    def suited_to(self, predictions: np.ndarray, test: np.ndarray) -> Judge:
        """Return the judge at the temperature that suits these rows best."""
        held_out = self.observed.restrict(test)
        temperature = best_temperature(held_out, predictions, _ROUGHLY)
        return self.judge.at(temperature)


def kept(predictions: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Return held-out predictions, to be kept: it takes the place of a judge."""
    return predictions


def judged(
    folds: Sequence[FoldScores],
    tests: Sequence[np.ndarray],
    observed: Observed,
    judge: Judge,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of all folds, and the temperatures that they were judged at.

    Parameters
    ----------
    folds : sequence of FoldScores
        With the predictions that were kept, an array (n_structures, n_alphas) of arrays
        (n_test, n_outputs).
    tests : sequence of arrays
        The numbers of the rows of each.
    observed : Observed
        Of all rows.
    judge : Judge

    Returns
    -------
    scores : array (n_structures, n_alphas, n_folds)
    temperatures : array (n_structures, n_alphas), or (n_structures, n_alphas, n_labels)
        NaN, as the scores, where a fold left an alpha out.
    """
    by_label = judge.stand_in.by_label
    held_out = observed.restrict(np.concatenate(tests))
    shape = folds[0].scores.shape
    scores = np.full((*shape, len(folds)), np.nan)
    n_each = (observed.n_outputs,) if by_label else ()
    temperatures = np.full((*shape, *n_each), np.nan)
    best = temperature_of_each if by_label else best_temperature
    one_sided = ~np.isnan(log_odds(observed)) if by_label else None
    for at in np.ndindex(shape):
        if not all(fold.fitted[at] for fold in folds):
            continue
        predictions = [fold.scores[at] for fold in folds]
        temperature = best(held_out, np.concatenate(predictions))
        if one_sided is not None:
            temperature = np.where(one_sided, 1.0, temperature)
        there = judge.at(temperature)
        scores[at] = [
            there(p, rows) for p, rows in zip(predictions, tests, strict=True)
        ]
        temperatures[at] = temperature
    return scores, temperatures
