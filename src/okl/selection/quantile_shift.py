"""What is added to predictions of a quantile, by rows that were held out.

The intercept of a fit sees to it that the part q of its own targets is below what it
predicts. Of new targets it is another part: a fit is nearer to the targets that it was
fitted to than to others, so that the quantile of nine tenths is mostly too low, and
that of one tenth too high. The errors of rows that were held out say by how much. Their
own quantile is the shift that makes the quantile loss of these rows least, and has the
part q of them below the predictions (conformal prediction moves limits in the same way:
Romano, Patterson & Candès, 2019).

References
----------
Romano, Patterson & Candès (2019), Conformalized quantile regression. NeurIPS.
"""

from __future__ import annotations

import numpy as np

from okl.numerics.quantiles import weighted_quantile
from okl.problems import Observed


def quantile_shift(
    observed: Observed, scores: np.ndarray, quantile: float
) -> np.ndarray:
    """Return the quantile of the errors of each output (n_outputs,).

    An output with too few targets for one of them to be beyond that quantile has the
    shift of all outputs together, and so have all tasks, of which each has few: (1,).

    Parameters
    ----------
    observed : Observed
        Of rows that were held out; their weights count.
    scores : array (n_samples, n_outputs)
        In long form (n_samples, 1).
    quantile : float
        The part of the targets that is to be below the predictions.
    """
    errors = observed.targets - scores
    weights = np.ones((len(errors), 1))
    if observed.weights is not None:
        weights = observed.weights
    weights = np.broadcast_to(weights, errors.shape)
    if not np.all(np.isfinite(errors[weights > 0])):
        return np.zeros(errors.shape[1])  # of a fit that failed
    every = np.reshape(errors, (-1, 1)), np.reshape(weights, (-1, 1))
    shared = weighted_quantile(every[0], quantile, every[1])
    counts = np.sum(weights > 0, axis=0)
    few = counts * min(quantile, 1.0 - quantile) < 1
    own = weighted_quantile(errors, quantile, weights)
    return np.asarray(np.where(few, shared, own))
