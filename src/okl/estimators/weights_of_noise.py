"""A warning where weights make the noise of standard deviations and intervals unlikely.

The noise of a target has the variance alpha / weight, and standard deviations and
intervals have the noise of a target of weight one. Where all weights are far from one,
such as weights that sum to one, no target that was seen has such noise.
"""

from __future__ import annotations

import warnings

import numpy as np

from okl.coding.tasks import Tasks

# By which factor all weights may be above one, or below, without a warning.
_FAR = 2.0


def warn_of_weights(
    weights: np.ndarray | None, tasks: Tasks | None, depth: int
) -> None:
    """Warn where noise of weight one is that of no target seen, ``depth`` calls up.

    Parameters
    ----------
    weights : array (n_samples, n_outputs) or (n_samples, 1), or None
    tasks : Tasks or None
        The task of each row, in long form.
    depth : int
    """
    if weights is None:
        return
    groups = (
        weights.T if tasks is None else [weights[rows] for _, rows in tasks.groups()]
    )
    seen = [group[group > 0] for group in groups]
    ends = [(group.min(), group.max()) for group in seen if group.size]
    far = [(low, high) for low, high in ends if low > _FAR or high < 1 / _FAR]
    if far:
        low, high = far[0]
        which = "" if len(far) == len(ends) else f" of {len(far)} of the outputs"
        warnings.warn(
            "The estimated noise is that of a target of weight one, but the weights in "
            f"fit{which} were from {low:.3g} to {high:.3g}: intervals and standard "
            "deviations with noise are not valid for targets with such weights. Fit "
            "with weights around one, dividing weights and alpha by the same number.",
            UserWarning,
            stacklevel=depth + 1,
        )
