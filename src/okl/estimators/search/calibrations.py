"""Held-out scores judged at the calibration that suits them best.

A search may choose a number, or one for each output, that corrects what its model
predicts without another fit: the temperature of probabilities, or what is added to
predicted quantiles. A structure at an alpha has one calibration for all folds: their
held-out scores are kept until the last of them is fitted, and judged then. How it is
found is for the stand-in to say, which knows what the scores become.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from okl.estimators.search.judge import Judge
from okl.problems import Observed
from okl.selection.held_out import FoldScores


@dataclass(frozen=True)
class CalibratedScore:
    """The score of one fold at the calibration that suits it best.

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
        """Return the judge at the calibration that suits these rows best."""
        best = self.judge.calibrator(self.observed, test, roughly=True)
        return self.judge.at(best(predictions))


def kept(predictions: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Return held-out predictions, to be kept: it takes the place of a judge."""
    return predictions


def judged(
    folds: Sequence[FoldScores],
    tests: Sequence[np.ndarray],
    observed: Observed,
    judge: Judge,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of all folds, and the calibrations that they were judged at.

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
    calibrations : array (n_structures, n_alphas), of outputs with an axis more
        NaN, as the scores, where a fold left an alpha out.
    """
    best = judge.calibrator(observed, np.concatenate(tests))
    shape = folds[0].scores.shape
    scores = np.full((*shape, len(folds)), np.nan)
    found = {}
    for at in np.ndindex(shape):
        if not all(fold.fitted[at] for fold in folds):
            continue
        predictions = [fold.scores[at] for fold in folds]
        found[at] = best(np.concatenate(predictions))
        there = judge.at(found[at])
        scores[at] = [
            there(p, rows) for p, rows in zip(predictions, tests, strict=True)
        ]
    nothing = np.zeros((sum(map(len, tests)), observed.targets.shape[1]))
    calibrations = np.full((*shape, *np.shape(best(nothing))), np.nan)
    for at, value in found.items():
        calibrations[at] = value
    return scores, calibrations
