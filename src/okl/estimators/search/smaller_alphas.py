"""Smaller alphas, where the best one is the smallest that was tried.

Where the grid of alphas ends is a guess: for a kernel that was learned, from the noise
it was learned with, which is that of independent outputs. If the best alpha of a trial
is the last one, the grid goes on for the structure that has it, until one is better
than the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

import numpy as np

from okl.estimators.search.trial import Trial
from okl.estimators.search.trials import Experiment
from okl.structures import Structure

# Alphas that are added at a time, how often, and the least ratio of two of them: with
# few alphas the next ones are far below any that is of use, and fits take long.
_MORE, _TIMES, _RATIO = 5, 2, 0.2
# The part of the largest alpha below which rounding shows in a fit, and nothing else.
ROUNDED = 1e-9


def with_smaller_alphas(
    experiment: Experiment, trial: Trial, structures: Sequence[Structure]
) -> Trial:
    """Return a trial whose best alpha is not the smallest, if that can be.

    Callbacks are not told of the fits, which nobody has foretold.

    Parameters
    ----------
    experiment : Experiment
        What the kernel was tried on.
    trial : Trial
        With one alpha for all outputs, or it is returned as it is.
    structures : list of Structure
        Those of the trial.
    """
    for _ in range(_TIMES):
        few = trial.alphas.shape[1] < 2
        if few or trial.ratios is not None or not np.isfinite(trial.best):
            break
        row, column = trial.chosen
        grid = trial.alphas[row]
        if column < len(grid) - 1 or grid[-1] < _RATIO * grid[-2]:
            break
        if grid[-1] < ROUNDED * grid[0]:
            break
        smaller = replace(experiment, alphas=list(trial.next_alphas(_MORE)[row]))
        structure, kernel = structures[row], trial.kernel
        found = smaller.run(kernel, [structure], lambda name: nullcontext())
        trial = trial.continued(row, found)
    return trial
