r"""Leave-one-out log predictive probability of the Gaussian process.

Each row is predicted from all others, with the variance sigma^2 / p of its prediction
and its noise. sigma^2 is set to its best value: one for each output where L couples
none, s_j = mean_i r_ij^2 p_ij, one for all where it does. Up to constants

.. math:: J = \tfrac12 \sum_j \left[n_j \log s_j - \sum_i \log p_{ij}\right].

With weights p has them, as the noise of a row has the variance sigma^2 / weight. Each
row counts once, as in the restricted likelihood.

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
        residuals, precisions = left_out
        seen = (model.weights > 0).astype(np.float64)
        counts = np.maximum(seen.sum(axis=0), 1.0)
        sums = (seen * precisions * residuals**2).sum(axis=0)
        # the floors are those of targets of weight one
        mean_weights = model.weights.sum(axis=0) / counts
        scored = np.full(len(counts), True)
        if model.couples:
            sums = np.full_like(sums, sums.mean())
            variances = sums / counts + self.floors.mean() * mean_weights
        else:
            scored = ~self.constant
            floored = sums / counts + self.floors * mean_weights
            variances = np.where(scored, floored, 1.0)
        logs = seen * np.log(precisions)
        value = float(np.sum((counts * np.log(variances))[scored]))
        value -= float(np.sum(logs[:, scored]))
        of_dual = seen * residuals / variances
        # targets that are multiplied by D have another density
        own = np.broadcast_to((self._weights > 0).sum(axis=0), self.totals.shape)
        value = value / 2 - float(own @ np.log(model.scales))
        of_variance = seen / (2 * precisions)
        return Judgement(value, of_dual, 0.5, of_variance, own)
