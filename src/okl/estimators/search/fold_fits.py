"""The fits of one kernel to all folds, as far along their paths as is worth it.

Fits take longest at the smallest alphas, which are rarely the best. Each fold therefore
leaves its path where an alpha ten times as large as the last one is better, unless that
is near those of constants. It may be wrong to: its rows are few, or unlike the others.
What counts is the mean of all folds: where that does not end the path as well, the
folds that left it fit further alphas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from okl.selection.folds import Folds
from okl.selection.held_out import FoldScores, end_of_path


@dataclass(frozen=True)
class FoldFits:
    """What fits a kernel to folds.

    Attributes
    ----------
    score : callable
        `okl.selection.held_out.score_fold`, all given but the rows of a fold, which
        alphas are tried, and what watches.
    folds : list of pairs of arrays
        Row numbers to train on and to test.
    n_jobs : int or None
    largest : array (n_structures,)
        Alphas at which models are hardly more than constants.
    """

    score: Callable[..., FoldScores]
    folds: Folds
    n_jobs: int | None
    largest: np.ndarray

    def first(self, watch: Callable[..., np.ndarray]) -> FoldScores:
        """Fit to the first fold, with an array from ``watch`` besides each score."""
        train, test = self.folds[0]
        return self.score(train=train, test=test, watch=watch)

    def of(
        self,
        numbers: Sequence[int],
        tried: Sequence[np.ndarray | None],
        watch: Callable[..., float] | None = None,
    ) -> Iterator[FoldScores]:
        """Yield the scores of folds of these numbers, at alphas that are tried."""
        fit = delayed(self.score)
        jobs = (
            fit(train=self.folds[k][0], test=self.folds[k][1], tried=some, watch=watch)
            for k, some in zip(numbers, tried, strict=True)
        )
        yield from Parallel(n_jobs=self.n_jobs, return_as="generator")(jobs)

    def to_the_end(
        self,
        scores: Sequence[FoldScores],
        grids: np.ndarray,
        mean: Callable[[Sequence[FoldScores]], np.ndarray],
    ) -> list[FoldScores]:
        """Fit further alphas where the mean does not say that a path is over.

        Parameters
        ----------
        scores : sequence of FoldScores
            Of all folds.
        grids : array (n_structures, n_alphas)
            Decreasing.
        mean : callable
            From the scores of all folds to their means (n_structures, n_alphas), NaN
            where one is missing.
        """
        scores = list(scores)
        while np.any(needed := still_needed(scores, mean(scores), grids, self.largest)):
            missing = [needed & ~one.fitted for one in scores]
            lacking = [k for k, some in enumerate(missing) if np.any(some)]
            further = self.of(lacking, [missing[k] for k in lacking])
            for k, more in zip(lacking, further, strict=True):
                scores[k] = scores[k].with_more(more)
        return scores


def still_needed(
    scores: Sequence[FoldScores],
    means: np.ndarray,
    grids: np.ndarray,
    largest: np.ndarray,
) -> np.ndarray:
    """Tell which alphas all folds need before paths are over by their mean.

    Parameters
    ----------
    scores : sequence of FoldScores
    means, grids : array (n_structures, n_alphas)
        As `FoldFits.to_the_end` has them.
    largest : array (n_structures,)
        Alphas at which models are hardly more than constants.

    Returns
    -------
    bool array (n_structures, n_alphas)
        False for what was dropped.
    """
    by_all = np.all([one.fitted for one in scores], axis=0)
    dropped = np.any([one.dropped for one in scores], axis=0)
    needed = np.zeros(grids.shape, dtype=bool)
    for row in np.flatnonzero(by_all.any(axis=1)):
        there, alphas = by_all[row], grids[row]
        below = alphas <= end_of_path(means[row, there], alphas[there], largest[row])
        # no alpha is needed below one that was dropped as clearly behind
        below |= dropped[row] & (alphas < alphas[there].min())
        until = int(np.argmax(below)) + 1 if np.any(below) else len(alphas)
        needed[row, :until] = ~(there | dropped[row])[:until]
    return needed
