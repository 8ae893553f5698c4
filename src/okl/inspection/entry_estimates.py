"""The entries of a matrix that was estimated, and how far they move.

Refits to resampled rows say how large the standard error of an entry is, not where the
entry is: a copy of a row brings its noise a second time, a row less its signal once
less, so that refits as a whole lie beside the fit to all rows. An interval is therefore
that of the fit, plus and minus a quantile of Student's distribution times the standard
error, which is itself estimated from few refits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student


@dataclass(frozen=True, eq=False)
class EntryEstimates:
    """The entries of a symmetric matrix, each with its uncertainty.

    Attributes
    ----------
    estimate : ndarray of shape (n_outputs, n_outputs)
        Those of the fit to all rows.
    mean : ndarray of shape (n_outputs, n_outputs)
        The mean over the refits.
    std : ndarray of shape (n_outputs, n_outputs)
        Standard errors of the estimates.
    lower, upper : ndarray of shape (n_outputs, n_outputs)
        Intervals around the estimates, of each entry by itself.
    draws : ndarray of shape (n_resamples, n_outputs, n_outputs)
        Those of the refits.
    """

    estimate: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    draws: np.ndarray

    @classmethod
    def of(
        cls,
        estimate: np.ndarray,
        draws: np.ndarray,
        *,
        inflation: float,
        level: float,
        largest: float,
    ) -> EntryEstimates:
        """Summarise refits.

        Parameters
        ----------
        estimate : array (m, m)
        draws : array (n_resamples, m, m)
        inflation : float
            What their standard deviation is multiplied by to be the standard error.
        level : float
            Coverage of the intervals.
        largest : float
            What no entry exceeds in absolute value; intervals end there.
        """
        # of deviations from the estimate: entries that never move are of no spread
        moved = draws - estimate
        std = inflation * moved.std(axis=0, ddof=1)
        width = student.ppf((1 + level) / 2, len(draws) - 1) * std
        lower = np.maximum(estimate - width, -largest)
        upper = np.minimum(estimate + width, largest)
        return cls(estimate, draws.mean(axis=0), std, lower, upper, draws)

    def stable_signs(self, level: float) -> np.ndarray:
        """Return the entries whose sign is sure, all of them at once (m, m).

        With P pairs of outputs an entry is if it is beyond the quantile of Student's
        distribution at 1 - (1 - level) / (2 P), after Bonferroni: with probability
        ``level`` no entry that is zero is among them, however many pairs there are.
        """
        m, n_resamples = len(self.estimate), len(self.draws)
        n_pairs = m * (m - 1) // 2
        beyond = student.isf((1 - level) / (2 * n_pairs), n_resamples - 1)
        sure: np.ndarray = np.abs(self.estimate) > beyond * self.std
        return sure
