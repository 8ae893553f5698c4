"""Candidates that are clearly behind on the first fold are not fitted to the others.

All structures and alphas of a kernel are fitted to the first fold. Its held-out rows
are dealt out to ten blocks, each of which is scored by itself. How much worse one is
than the best candidate, that of kernels before among them, has a mean over the blocks
and a standard error. Where the mean is several standard errors, the rows of the other
folds are not likely to say otherwise.

Nor are small alphas fitted to the first fold, which take longest, that are likely to
be clearly behind: with another structure scores fell there, and those of both have gone
the same way so far, or one less than an alpha after the other.

What is compared are differences on the same rows: how hard these are to predict is in
both scores. The rows are taken for independent of each other, and what the
training rows of a fold have to do with a difference is not in its error.

References
----------
Maron & Moore (1994), Hoeffding races: accelerating model selection search for
classification and function approximation. NIPS.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

# Blocks, the fewest rows of each, and the standard errors that are taken for clear.
_BLOCKS, _FEWEST, _CLEAR = 10, 5, 3.0


@dataclass(frozen=True)
class BlockScores:
    """The score of a fold, and those of blocks of its rows.

    Attributes
    ----------
    judge : Judge or TemperedScore
    neutral : array of int
        The numbers of rows that are beside each block with scores of zero, which say
        nothing: of each class one, as there are scorers that must see every class.
    """

    judge: Any
    neutral: np.ndarray

    def __call__(self, predictions: np.ndarray, test: np.ndarray) -> np.ndarray:
        """Return the score of all of these rows, then that of each block.

        A score that a block does not have is NaN.
        """
        judge = self.judge.suited_to(predictions, test)
        if judge.by_row is not None:
            scores, mean = judge.by_row(predictions, test), judge.by_row.mean
            parts = [slice(None)] + [slice(i, None, _BLOCKS) for i in range(_BLOCKS)]
            return np.array([mean(scores[some], test[some]) for some in parts])
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


def can_race(test: np.ndarray) -> bool:
    """Tell whether a fold holds rows enough out."""
    return len(test) >= _BLOCKS * _FEWEST


def in_the_race(
    fitted: np.ndarray, scores: np.ndarray, rival: np.ndarray | None = None
) -> np.ndarray:
    """Tell which candidates are not clearly behind the best one.

    Parameters
    ----------
    fitted : bool array (n_structures, n_alphas)
        Which candidates were not left out.
    scores : array (n_structures, n_alphas, 1 + n_blocks)
        As `BlockScores` has them.
    rival : array (1 + n_blocks,), optional
        Those of the best candidate with another kernel.

    Returns
    -------
    bool array (n_structures, n_alphas)
        False for what was left out as well.
    """
    whole, blocks = scores[..., 0], scores[..., 1:]
    if np.all(np.isnan(whole)):
        return fitted
    best = scores[np.unravel_index(np.nanargmax(whole), whole.shape)]
    if rival is not None and rival[0] > best[0]:
        best = rival
    # where a block has no score nothing is clear
    return fitted & ~_is_clear(best[1:] - blocks)


def will_be_behind(
    said: Mapping[tuple[int, int], np.ndarray], row: int, column: int
) -> bool:
    """Tell whether the next alpha of a structure is likely to be clearly behind.

    With another structure scores fell from the last alpha to the next. At the last
    alpha the score of this one was as high, or on the way there from the alpha before;
    from there on it is taken to go the same way. What it was ahead at the last alpha is
    added.

    Parameters
    ----------
    said : mapping from (structure, alpha) to arrays (1 + n_blocks,)
        What `BlockScores` said of the alphas that were fitted so far.
    row, column : int
        The structure, and its last alpha.
    """
    others = [other for other in range(row) if (other, column + 1) in said]
    if not others or (others[-1], column - 1) not in said:
        return False
    last = said[row, column]
    before, there, then = (said[others[-1], column + k] for k in (-1, 0, 1))
    late, way = there[0] - last[0], there[0] - before[0]
    if then[0] >= there[0]:
        return False
    if late <= 0:
        expected = then + last - there
    elif late < way:
        expected = then + late / way * (there - then)
    else:
        return False
    best = max(said.values(), key=lambda scores: scores[0])
    return bool(_is_clear((best - expected)[1:]))


def _is_clear(behind: np.ndarray) -> np.ndarray:
    """Tell whether means over blocks are clearly above zero."""
    with np.errstate(invalid="ignore"):
        error = behind.std(axis=-1, ddof=1) / behind.shape[-1] ** 0.5
        return behind.mean(axis=-1) > _CLEAR * error
