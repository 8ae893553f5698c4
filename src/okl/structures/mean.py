"""Outputs that are close to their average.

The simplest assumption about related outputs is that they resemble each other: no
graph, no groups, every f_t is near the average of all. It takes one number, the weight
of the spread around that average.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from okl.numerics.validation import check_positive
from okl.parameters.hyperparameter import Hyperparameter
from okl.structures.given import Given, both_factors, weight_around_one


class Mean(Given):
    r"""Outputs are close to their average.

    .. math:: L^{-1} = I + \gamma (I - U), \qquad L = \frac{I + \gamma U}{1 + \gamma},
              \qquad U = 11' / m,

    for m outputs, so that the squared norm of the predictor is ``sum_t ||f_t||^2 +
    gamma sum_t ||f_t - mean||^2``. The average of the outputs is regularised by
    alpha, and their spread around it by ``alpha (1 + gamma)``: gamma near 0 is
    `Identity`, a large gamma is one predictor for all outputs. It is also the
    `Graph` that joins any two outputs with weight ``gamma / m``. The regressors
    normalise outputs first, and then it is normalised outputs that are close to their
    average; for outputs that are alike in the unit they share, such as one task at
    many sites, pass ``normalize_y=False``, or ``fit_intercept="shared"`` in long form.
    Two outputs have the correlation ``gamma / (m + gamma)``.

    Evgeniou, Micchelli & Pontil (2005), *Learning multiple tasks with kernel
    methods*; Ciliberto, Rosasco & Villa (2015), *Learning multiple visual tasks while
    discovering their structure*, section 2.1.1. The matrix printed there,
    ``L^-1 = I + gamma U``, penalises the average instead of the spread.

    Parameters
    ----------
    gamma : float, default=1.0
        Weight of the spread around the average, > 0.
    """

    name: ClassVar[str | None] = "mean"

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def validate(self, n_outputs: int) -> None:
        """Check gamma; any number of outputs will do."""
        check_positive(self.gamma, "gamma")

    def matrix(self, n_outputs: int) -> np.ndarray:
        """Return ``(I + gamma U) / (1 + gamma)``, without an inverse."""
        spread = 1 / (1 + float(self.gamma))  # eigenvalue of L; 1 for the average
        average = (1 - spread) / n_outputs
        return spread * np.eye(n_outputs) + average

    def hyperparameters(self, n_outputs: int) -> list[Hyperparameter]:
        """Return gamma."""
        return [weight_around_one("gamma", self.gamma)]

    def gradient(
        self, left: np.ndarray, right: np.ndarray | None = None
    ) -> dict[str, float]:
        """Return the derivative by log gamma: dL = -gamma / (1 + gamma)^2 (I - U)."""
        rate = -float(self.gamma) / (1 + float(self.gamma)) ** 2
        left, right = both_factors(left, right)
        average = float(left.sum(axis=1) @ right.sum(axis=1)) / left.shape[1]
        return {"gamma": rate * (float(np.vdot(left, right)) - average)}
