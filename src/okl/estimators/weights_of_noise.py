"""Weights that say nothing of the noise that standard deviations and intervals have.

They have that of a target of weight one, alpha over the weight being the variance of
its noise. Where all weights are far from one, as those that sum to one are, no target
that was seen is like that.
"""

from __future__ import annotations

import warnings

import numpy as np

# By which factor all weights may be above one, or below, without a word.
_FAR = 2.0


def warn_of_weights(weights: np.ndarray | None, depth: int) -> None:
    """Warn where noise of weight one is that of no target seen, ``depth`` calls up."""
    if weights is None:
        return
    counted = weights[weights > 0]
    low, high = float(counted.min()), float(counted.max())
    if low > _FAR or high < 1 / _FAR:
        warnings.warn(
            "The noise is that of a target of weight one, and weights in fit were from "
            f"{low:.3g} to {high:.3g}: intervals and standard deviations with noise "
            "are not those of targets like these. Fit with weights around one, and "
            "alpha divided by as much as they are.",
            UserWarning,
            stacklevel=depth + 1,
        )
