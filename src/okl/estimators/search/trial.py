"""The result for one kernel that was tried."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from okl.estimators.search.judge import Calibration
from okl.estimators.targets import TrainingTargets
from okl.estimators.training import Training
from okl.problems import Formulation
from okl.selection.cautious_alpha import cautious_alpha


@dataclass(frozen=True)
class Trial:
    """The held-out scores of one kernel.

    Attributes
    ----------
    kernel : Kernel, PerOutput or "precomputed"
        As it was given, resolved.
    training : Training
        The kernel on the training rows.
    formulations : list of Formulation
        One per structure, of all training rows.
    alphas : array (n_structures, n_alphas)
        Decreasing.
    scores : array (n_structures, n_alphas, n_folds)
        One fold where rows are left out one by one.
    largest_gap : float
        The largest relative gap among the fits that ended at ``max_iter``, else 0.
    targets : TrainingTargets
        As they were fitted.
    ratios : array (n_outputs,) or None
        Of the alpha of each output to that of the grid, None for ones.
    calibrations : array (n_structures, n_alphas), of outputs with an axis more, or None
        Those that were scored at, where they were chosen.
    race : array (n_structures, n_alphas, 1 + n_parts) or None
        What candidates were compared by on the first fold, where they were.
    n_likely : float or None
        How many rows the scores are mean log likelihoods of, if they are, and alphas
        are evenly spaced.
    """

    kernel: Any
    training: Training
    formulations: list[Formulation]
    alphas: np.ndarray
    scores: np.ndarray
    largest_gap: float
    targets: TrainingTargets
    ratios: np.ndarray | None = None
    calibrations: np.ndarray | None = None
    race: np.ndarray | None = None
    n_likely: float | None = None

    def alpha(self, overall: float) -> Any:
        """Return the alpha, or that of each output, at one of the grid."""
        return float(overall) if self.ratios is None else overall * self.ratios

    @property
    def calibration(self) -> Calibration | None:
        """The calibration of the structure and alpha chosen, None if there are none."""
        if self.calibrations is None:
            return None
        found = self.calibrations[self.chosen]
        return found if np.ndim(found) else float(found)

    @property
    def means(self) -> np.ndarray:
        """The mean scores (n_structures, n_alphas)."""
        return self.scores.mean(axis=-1)

    @property
    def columns(self) -> list[int]:
        """Which alpha each structure would have, -1 where all its scores are NaN.

        The alpha of the best mean score, or where scores are log likelihoods perhaps a
        larger one (`cautious_alpha`).
        """
        columns = []
        for alphas, means in zip(self.alphas, self.means, strict=True):
            if np.all(np.isnan(means)):
                columns.append(-1)
            elif self.n_likely is None:
                columns.append(int(np.nanargmax(means)))
            else:
                columns.append(cautious_alpha(alphas, means, self.n_likely))
        return columns

    @property
    def chosen(self) -> tuple[int, int]:
        """Structure of the best mean score, and its alpha; there must be one."""
        row = int(np.nanargmax(self.means)) // self.means.shape[1]
        return row, self.columns[row]

    @property
    def score(self) -> float:
        """The mean score of the structure and alpha chosen."""
        return float(self.means[self.chosen])

    def next_alphas(self, n_more: int) -> np.ndarray:
        """Return so many alphas below the smallest of each structure."""
        ratios = self.alphas[:, -1:] / self.alphas[:, -2:-1]
        return self.alphas[:, -1:] * ratios ** np.arange(1, n_more + 1)

    def continued(self, row: int, further: Trial) -> Trial:
        """Return the trial with the next alphas, tried with one structure alone."""
        n_structures, n_more = len(self.alphas), further.alphas.shape[1]
        further = further.as_row(row, n_structures)

        def joined(mine: np.ndarray | None, more: np.ndarray | None) -> Any:
            if mine is None or more is None:
                return None
            return np.concatenate([mine, more], axis=1)

        return replace(
            self,
            alphas=joined(self.alphas, self.next_alphas(n_more)),
            scores=joined(self.scores, further.scores),
            largest_gap=max(self.largest_gap, further.largest_gap),
            calibrations=joined(self.calibrations, further.calibrations),
            race=joined(self.race, further.race),
        )

    def as_row(self, row: int, n_structures: int) -> Trial:
        """Return a trial of one structure as one of several, of which it is a row.

        The others have no scores, and the alphas of this one.
        """

        def placed(mine: np.ndarray | None) -> Any:
            if mine is None:
                return None
            whole = np.full((n_structures, *mine.shape[1:]), np.nan)
            whole[row] = mine[0]
            return whole

        return replace(
            self,
            formulations=self.formulations * n_structures,
            alphas=np.repeat(self.alphas, n_structures, axis=0),
            scores=placed(self.scores),
            calibrations=placed(self.calibrations),
            race=placed(self.race),
        )

    @property
    def rival(self) -> np.ndarray | None:
        """The scores on the first fold that the next kernel has to come near to."""
        if self.race is None:
            return None
        # of alphas that the first fold was fitted at afterwards it said no more
        known = ~np.isnan(self.means) & ~np.isnan(self.race[..., 0])
        if not np.any(known):
            return None
        means = np.where(known, self.means, -np.inf)
        return self.race[np.unravel_index(np.argmax(means), means.shape)]

    @property
    def best(self) -> float:
        """The best mean score of all, minus infinity where all are NaN."""
        means = self.means
        return -float("inf") if np.all(np.isnan(means)) else float(np.nanmax(means))
