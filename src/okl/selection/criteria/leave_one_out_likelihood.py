r"""Leave-one-out log predictive probability of the Gaussian process.

Each row is predicted from all others, with the variance sigma^2 / p of its prediction
and its noise. sigma^2 is set to its best value: one for each output where L couples
none, s_j = mean_i r_ij^2 p_ij, one for all where it does. Up to constants

.. math:: J = \tfrac12 \sum_j \left[n_j \log s_j - \sum_i \log p_{ij}\right].

With weights sums are over copies of rows (see `LeaveOneOut`).

Rasmussen and Williams (2006), *Gaussian processes for machine learning*, section 5.4.2.
"""

from __future__ import annotations

import numpy as np

from okl.selection.criteria.decoupled import Decoupled
from okl.selection.criteria.joined import Joined
from okl.selection.criteria.leave_one_out import Judgement, LeaveOneOut, LeftOut


class LeaveOneOutLikelihood(LeaveOneOut):
    """Minus the logarithm of the leave-one-out predictive probability."""

    def _judge(self, model: Decoupled | Joined, left_out: LeftOut) -> Judgement:
        residuals, copies, precisions = left_out
        # a copy of a row has this part of its dual variables
        weights, totals = model.weights / copies, model.weights.sum(axis=0)
        sums = (weights * precisions * residuals**2).sum(axis=0)
        scored = np.full(len(totals), True)
        if model.couples:
            sums = np.full_like(sums, sums.mean())
            variances = sums / totals + self.floors.mean()
        else:
            scored = ~self.constant
            variances = np.where(scored, sums / totals + self.floors, 1.0)
        logs = np.log(precisions / copies)
        value = float(np.sum((totals * np.log(variances))[scored]))
        value -= float(np.sum((model.weights * logs)[:, scored]))
        of_dual = weights * residuals / variances
        # targets that are multiplied by D have another density
        value = value / 2 - float(self.totals @ np.log(model.scales))
        of_variance = weights / (2 * precisions)
        return Judgement(value, of_dual, 0.5, of_variance, self.totals)
