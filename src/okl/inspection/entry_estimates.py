"""The entries of an estimated matrix, with standard errors and intervals.

Refits to resampled rows are used for the standard error of an entry only, not for its
value: a copy of a row brings its noise a second time, a row that is left out takes its
signal away, so that all refits together are biased relative to the fit to all rows. An
interval is therefore the entry of the fit to all rows, plus and minus a quantile of
Student's distribution times the standard error: of Student's, as the standard error is
estimated from few refits.
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
        The entries in the fit to all rows.
    mean : ndarray of shape (n_outputs, n_outputs)
        The means over the refits.
    std : ndarray of shape (n_outputs, n_outputs)
        Standard errors of the estimates.
    lower, upper : ndarray of shape (n_outputs, n_outputs)
        The ends of intervals around the estimates, for each entry separately.
    draws : ndarray of shape (n_resamples, n_outputs, n_outputs)
        The entries in each refit.
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
            Factor from the standard deviation of the refits to the standard error.
        level : float
            Coverage of the intervals.
        largest : float
            A bound on the absolute values of entries; intervals are cut to it.
        """
        # of deviations from the estimate: exactly zero for entries that do not vary
        moved = draws - estimate
        std = inflation * moved.std(axis=0, ddof=1)
        width = student.ppf((1 + level) / 2, len(draws) - 1) * std
        lower = np.maximum(estimate - width, -largest)
        upper = np.minimum(estimate + width, largest)
        return cls(estimate, draws.mean(axis=0), std, lower, upper, draws)

    def stable_signs(self, level: float) -> np.ndarray:
        """Return the entries whose sign is sure, simultaneously (m, m).

        With P pairs of outputs, the sign of an entry is sure if its absolute value
        exceeds the standard error times the quantile of Student's distribution at
        1 - (1 - level) / (2 P) (Bonferroni's correction). With probability ``level`` no
        entry that is in truth zero is among them, however many pairs there are.
        """
        m, n_resamples = len(self.estimate), len(self.draws)
        n_pairs = m * (m - 1) // 2
        beyond = student.isf((1 - level) / (2 * n_pairs), n_resamples - 1)
        sure: np.ndarray = np.abs(self.estimate) > beyond * self.std
        return sure
