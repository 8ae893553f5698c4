r"""Probabilities of labels that hardly a row of the fit has, or that all but one have.

A label whose rows are all on one side has an infinite intercept. Its score is replaced
by the log odds with half a row added on each side (`okl.selection.one_sided`).

A label with a single row on one side has a finite one. But wherever that row is held
out the label is of one side, so that nothing shows how sure a fit may be of it, and an
alpha that suits the other labels may leave it next to no probability. The least
probability is therefore drawn half way to the rate, and the largest half way to one
half. With r the share of such rows, half a row added on each side, the probability p of
that side becomes

.. math:: \tfrac{r}{2} + (1 - r)\, p \quad (p \le \tfrac12), \qquad
          \tfrac14 + \tfrac{p}{2} \quad (p > \tfrac12).

The order of rows stays, and so does the side that is more probable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from okl.problems import Observed
from okl.selection.one_sided import log_odds, one_row


@dataclass(frozen=True)
class RareLabels:
    """Labels, or tasks of two classes, with at most one row on a side.

    Attributes
    ----------
    odds : array (n_outputs,)
        Log odds with half a row added on each side, NaN for outputs with rows on both.
    side : array (n_outputs,)
        1 where a single row has the label, -1 where a single row has not, else 0.
    rate : array (n_outputs,)
        r, the share of rows on that side.
    """

    odds: np.ndarray
    side: np.ndarray
    rate: np.ndarray

    @classmethod
    def of(cls, observed: Observed) -> RareLabels:
        """Find them in the rows of a fit."""
        return cls(log_odds(observed), *one_row(observed))

    def scores(
        self,
        scores: np.ndarray,
        temperature: float | np.ndarray,
        own: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return scores that become these probabilities at the temperature.

        Parameters
        ----------
        scores : array (n, n_outputs), or (n,) of the task of each row
        temperature : float or array (n_outputs,)
        own : array of int (n,), optional
            The number of the task of each row.
        """
        odds, side, rate = (
            of if own is None else of[own] for of in (self.odds, self.side, self.rate)
        )
        scores = np.where(np.isnan(odds), scores, odds)
        if not np.any(side):
            return scores
        p = expit(side * scores / temperature)
        drawn = np.where(p <= 0.5, rate / 2 + (1 - rate) * p, 0.25 + p / 2)
        return np.where(side == 0, scores, side * temperature * logit(drawn))
