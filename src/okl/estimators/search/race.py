"""Candidates that are clearly behind on the first fold are not fitted to the others.

All structures and alphas of a kernel are fitted to the first fold. Its held-out rows
have a score each, or are dealt out to ten blocks, each of which is scored by itself.
By how much a candidate is worse than the best one, earlier kernels included, has a mean
over the rows, or blocks, and a standard error. Where the mean is several standard
errors, the rows of the other folds are not likely to say otherwise.

Differences on the same rows are compared, as how hard these are to predict is a part of
both scores. Rows are taken to be independent of each other, and the part that the
training rows of the fold have in a difference is not in its standard error.

References
----------
Maron & Moore (1994), Hoeffding races: accelerating model selection search for
classification and function approximation. NIPS.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from okl.estimators.search.judge import Judge

# Blocks, the fewest rows of each, the fewest rows that have a score each, and the
# standard errors that are taken for clear.
_BLOCKS, _FEWEST, _ROWS, _CLEAR = 10, 5, 20, 3.0


@dataclass(frozen=True)
class PartScores:
    """The score of a fold, and those of its rows or of blocks of them.

    Attributes
    ----------
    judge : Judge or CalibratedScore
    neutral : array of int
        The numbers of rows, one of each class, that are added to each block with scores
        of zero, which say nothing: some scorers must see every class.
    """

    judge: Any
    neutral: np.ndarray

    def __call__(self, predictions: np.ndarray, test: np.ndarray) -> np.ndarray:
        """Return the score of all of these rows, then that of each row or block.

        A score that a block does not have is NaN.
        """
        judge = self.judge.suited_to(predictions, test)
        if judge.by_row is not None:
            parts = judge.by_row(predictions, test)
            return np.append(np.mean(parts), parts)
        nothing = np.zeros((len(self.neutral), predictions.shape[1]))
        blocks = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what few rows do not have
            for first in range(_BLOCKS):
                some = slice(first, None, _BLOCKS)
                rows = np.concatenate([test[some], self.neutral])
                try:
                    score = judge(np.concatenate([predictions[some], nothing]), rows)
                except ValueError:
                    score = np.nan
                blocks.append(score)
        return np.array([judge(predictions, test), *blocks], dtype=float)


def can_race(test: np.ndarray, judge: Judge) -> bool:
    """Tell whether a fold holds rows enough out."""
    return len(test) >= (_BLOCKS * _FEWEST if judge.by_row is None else _ROWS)


def in_the_race(
    fitted: np.ndarray, scores: np.ndarray, rival: np.ndarray | None = None
) -> np.ndarray:
    """Tell which candidates are not clearly behind the best one.

    Parameters
    ----------
    fitted : bool array (n_structures, n_alphas)
        Which candidates were not left out.
    scores : array (n_structures, n_alphas, 1 + n_parts)
        As `PartScores` has them.
    rival : array (1 + n_parts,), optional
        The scores of the best candidate with another kernel.

    Returns
    -------
    bool array (n_structures, n_alphas)
        False for what was left out as well.
    """
    whole, parts = scores[..., 0], scores[..., 1:]
    if np.all(np.isnan(whole)):
        return fitted
    best = scores[np.unravel_index(np.nanargmax(whole), whole.shape)]
    if rival is not None and rival[0] > best[0]:
        best = rival
    # where a part has no score nothing is clear
    return fitted & ~_is_clear(best[1:] - parts)


def _is_clear(behind: np.ndarray) -> np.ndarray:
    """Tell whether means over rows or blocks are clearly above zero."""
    with np.errstate(invalid="ignore"):
        error = behind.std(axis=-1, ddof=1) / behind.shape[-1] ** 0.5
        return behind.mean(axis=-1) > _CLEAR * error
