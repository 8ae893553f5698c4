r"""Leave-one-out error: the squared error of rows that were left out one by one.

With s_j the mean squared residual of output j,

.. math:: J = \tfrac12 \sum_j n_j \log s_j,

which does not depend on the units of an output. n_j is the sum of its weights.
"""

from __future__ import annotations

import numpy as np

from okl.selection.criteria.decoupled import Decoupled
from okl.selection.criteria.joined import Joined
from okl.selection.criteria.leave_one_out import Judgement, LeaveOneOut, LeftOut


class LeaveOneOutError(LeaveOneOut):
    """Half the logarithm of the squared leave-one-out error of each output."""

    def _judge(self, model: Decoupled | Joined, left_out: LeftOut) -> Judgement:
        residuals = model.to_outputs(left_out.residuals)
        weighted = self.weights * residuals
        sums = (weighted * residuals).sum(axis=0)
        squares = self.mean_squares(sums)
        value = float(np.sum(self.totals * np.log(squares))) / 2
        of_residuals = model.of_columns(weighted / squares)
        of_dual = of_residuals / left_out.precisions
        nothing = np.zeros_like(of_dual)
        return Judgement(value, of_dual, 1.0, nothing, sums / squares)
