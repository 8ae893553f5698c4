"""What scores are divided by before they stand for probabilities.

The loss of a fit is that of the rows it was fitted to, where scores are as sure as the
penalty lets them be: too sure of other rows where alpha is small, not sure enough where
it is large. The temperature that makes rows that were held out likeliest repairs
that, and changes no order of the scores (Guo et al., 2017; Platt, 1999). Minus the log
likelihood is convex in one over the temperature.

Of several labels some are told by the inputs better than others, and one temperature is
too high for some and too low for others. Each has its own, near to what suits all.

References
----------
Guo, Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks. ICML.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy.optimize import brentq

from okl.problems import Observed

# The standard deviation of the logarithm of a temperature, as a prior has it: without
# one the probabilities of scores that make no error would be zero and one.
_DEVIATION = 0.25
# How exactly the logarithm of that of one label is found.
_CLOSE = 1e-4
# How far its logarithm may be from zero, where it is looked for first, and how exactly.
_FARTHEST, _FIRST, _EXACT = 10.0, 0.5, 1e-8


def best_temperature(
    observed: Observed, scores: np.ndarray, exact: float = _EXACT
) -> float:
    """Return the temperature that is likeliest for rows that were held out.

    The product of their likelihood and of that of the temperature, whose logarithm is
    normal with mean zero and standard deviation 0.25, is largest.

    Parameters
    ----------
    observed : Observed
        Of those rows, of a loss with probabilities; their weights count.
    scores : array (n_samples, n_outputs)
        In long form (n_samples, 1).
    exact : float
        How exactly its logarithm is found.
    """
    if not np.all(np.isfinite(scores)):
        return 1.0  # of a fit that failed

    @cache
    def slope(log: float) -> float:
        """Return the derivative of minus the log of the product in the log of 1 / T."""
        scaled = math.exp(log) * scores
        gradient = observed.downhill(scaled)
        return log / _DEVIATION**2 - float(np.sum(gradient * scaled))

    # most temperatures are near to one: the ends go out from there
    start = slope(0.0)
    if start == 0:
        return 1.0
    near, far = 0.0, math.copysign(_FIRST, -start)
    while slope(far) * start > 0:
        if abs(far) >= _FARTHEST:
            return math.exp(-far)
        near, far = far, math.copysign(min(2 * abs(far), _FARTHEST), far)
    return math.exp(-brentq(slope, near, far, xtol=exact))


def temperature_of_each(observed: Observed, scores: np.ndarray) -> np.ndarray:
    """Return the temperatures of labels (n_outputs,), each by its own held-out rows.

    The logarithm of each is normal around that of the temperature that suits all best,
    with standard deviation 0.25.

    Parameters
    ----------
    observed, scores
        As above, not in long form.
    """
    shared = best_temperature(observed, scores)
    scores = scores / shared
    labels = np.arange(scores.shape[1])[:, None]
    of_each = [
        best_temperature(observed.of_outputs(label), scores[:, label], _CLOSE)
        for label in labels
    ]
    return shared * np.array(of_each)
