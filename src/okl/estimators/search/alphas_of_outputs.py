"""The alphas of outputs in a search: their ratios, and the grid of a common factor.

With independent outputs each output has its own best alpha of a grid: the one of the
least loss of rows that were held out. For the squared loss these are left out one by
one in closed form where that is exact; else they are those of the folds, each of which
takes a fit for each alpha of the grid. The ratios of these alphas are kept for every
structure, and one factor for all of them is chosen with the structure, as one alpha is.

If one alpha has to do for all, an output that is nearly free of noise, beside others
that are little else, is predicted far worse than it could be. But where outputs are
alike, alphas of their own differ by chance, and predict worse. By default an output
therefore leaves the alpha of the others only where that is clearly better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t

from okl.kernels import KernelTerms
from okl.losses import Loss
from okl.problems import Observed, OutputAlphas, check_sum_over_outputs
from okl.selection.left_out_residuals import LeftOutResiduals
from okl.structures import Structure
from okl.structures.scaled import is_scalable

AUTO = "auto"
# What an alpha of its own has to be worth to an output: a rise of the log likelihood
# of the errors of rows left out, and a fall of their squares, or of their sizes, that
# chance hardly ever gives to any of the outputs.
_LIKELIER, _CHANCE = 3.0, 0.025
# An output with fewer rows never leaves the alpha of the others.
_FEWEST = 6.0
# The most outputs that have alphas of their own where L is learned and targets are
# missing.
_FEW_OUTPUTS = 10


def check_alpha_per_output(alpha_per_output: Any, loss: Loss) -> None:
    """Raise ValueError for what is no flag nor "auto", or does not suit the loss."""
    if isinstance(alpha_per_output, str) and alpha_per_output == AUTO:
        return
    if not isinstance(alpha_per_output, bool | np.bool_):
        raise ValueError(
            f"alpha_per_output must be True, False or 'auto', got {alpha_per_output!r}."
        )
    if alpha_per_output:
        check_sum_over_outputs(loss)


def is_for_each(alpha_per_output: Any) -> bool:
    """Tell whether each output has an alpha of its own, clearly better or not."""
    return bool(alpha_per_output) and alpha_per_output != AUTO


def seeks_alphas(
    alpha_per_output: Any, structures: Sequence[Structure], observed: Observed
) -> bool:
    """Tell whether outputs may have alphas of their own, with all of these structures.

    By default they may where units of their own cost outputs little. They do cost where
    L is learned and there are more outputs than rows: without them these are reduced to
    as many as rows. Where targets are missing they cost more the more outputs there
    are.
    """
    if is_for_each(alpha_per_output):
        return True
    if not (alpha_per_output and all(map(is_scalable, structures))):
        return False
    n_rows, n_outputs = observed.targets.shape
    known = all("known" in structure.capabilities for structure in structures)
    return known or n_outputs <= (n_rows if observed.complete else _FEW_OUTPUTS)


def check_one_kernel(kernel: Any) -> None:
    """Raise ValueError for a model of several kernels."""
    if isinstance(kernel, KernelTerms):
        raise ValueError(
            "alpha_per_output=True needs one kernel for each output, and here each has "
            f"several: {kernel!r}. Leave it out, or give one kernel."
        )


@dataclass(frozen=True)
class OutputLosses:
    """Minus the loss of each output on held-out rows, as a judge of them.

    Attributes
    ----------
    observed : Observed
        Of all rows, of a loss that is a sum over outputs.
    """

    observed: Observed

    def __call__(self, predictions: np.ndarray, test: np.ndarray) -> np.ndarray:
        """Return minus the losses (n_outputs,), zero where nothing was held out."""
        some = self.observed.restrict(test)
        if some.tasks is not None:
            groups = dict(some.tasks.groups())
            none = np.arange(0)
            parts = [(groups.get(j, none), slice(None)) for j in range(some.n_outputs)]
        else:
            every = np.arange(len(test))
            parts = [(every, slice(j, j + 1)) for j in range(some.n_outputs)]
        weights = some.weights
        if weights is not None:
            weights = np.broadcast_to(weights, some.targets.shape)
        return np.array(
            [
                -some.loss.value(
                    some.targets[rows, column],
                    predictions[rows, column],
                    None if weights is None else weights[rows, column],
                )
                for rows, column in parts
            ],
            dtype=np.float64,
        )


def clear_alphas(
    observed: Observed, left_out: LeftOutResiduals, grid: np.ndarray
) -> OutputAlphas | None:
    """Return an alpha for each output, None if no output is clearly better off so.

    An output has one of its own where with it the errors of rows left out one by one,
    squared or not, are lower by more than chance, and their log likelihood, at their
    best variance, is higher by `_LIKELIER`. (By the likelihood alone outputs that are
    alike would often differ. Where some errors are gross, their squares hide that all
    others are lower.) The others have the alpha of the least sum of their losses.

    Parameters
    ----------
    observed : Observed
        The targets.
    left_out : LeftOutResiduals
        Of independent outputs, at the alphas of the grid.
    grid : array (n_alphas,)
    """
    losses, weights = left_out.losses, left_out.weights
    own, every = np.argmin(losses, axis=0), np.arange(losses.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        # as many rows of equal weights have means that are as sure (Kish 1965)
        n_rows = weights.sum(axis=0) ** 2 / (weights**2).sum(axis=0)
    errors = t.isf(_CHANCE / 2 / len(own), np.maximum(n_rows - 1, 1))
    alike, leaving = np.full((2, len(own)), True)
    while np.any(alike) and np.any(leaving):
        # those that left have moved the alpha of the others
        common = int(np.argmin(losses[:, alike].sum(axis=1)))
        with np.errstate(divide="ignore", invalid="ignore"):
            gains = n_rows / 2 * np.log(losses[common] / losses[own, every])
        leaving = alike & (gains > _LIKELIER) & (n_rows >= _FEWEST)
        last, best = left_out.at(common), left_out.best
        falls = last**2 - best**2, np.abs(last) - np.abs(best)
        surest = np.fmax(*(_means_in_errors(f, weights, n_rows) for f in falls))
        leaving &= surest > errors
        alike &= ~leaving
    if np.all(alike):
        return None
    return OutputAlphas.of(np.where(alike, grid[common], grid[own]), observed)


def _means_in_errors(
    rows: np.ndarray, weights: np.ndarray, n_rows: np.ndarray
) -> np.ndarray:
    """Return the means of the columns over their standard errors."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = weights / weights.sum(axis=0)
        means = np.sum(shares * rows, axis=0)
        variances = np.sum(shares * (rows - means) ** 2, axis=0)
        return means / np.sqrt(variances / np.maximum(n_rows - 1, 1))


def around(grid: np.ndarray, alpha: float) -> np.ndarray:
    """Return a decreasing grid with an alpha in the place of its nearest."""
    nearest = np.argmin(np.abs(np.log(grid / alpha)))
    moved = grid.copy()
    moved[nearest] = alpha
    return moved
