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

# Below this a number of targets is rounding of that of one.
_ROUNDING = 1e-9


def quantile_shift(
    observed: Observed, scores: np.ndarray, quantile: float, constant: np.ndarray
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
    constant : array of bool (n_outputs,)
        Outputs that are constant. They have no unit to share a shift in: theirs is
        zero, and their errors say nothing of others.
    """
    errors = observed.targets - scores
    weights = np.ones_like(errors)
    if observed.weights is not None:
        weights = observed.weights * weights
    if observed.tasks is None:
        weights = np.where(constant, 0.0, weights)
    seen = weights > 0
    if not np.any(seen) or not np.all(np.isfinite(errors[seen])):
        return np.zeros(errors.shape[1])  # of a fit that failed
    column = (-1, 1)  # all outputs together
    shared = weighted_quantile(
        errors.reshape(column), quantile, weights.reshape(column)
    )
    beyond = seen.sum(axis=0) * min(quantile, 1.0 - quantile)
    own = weighted_quantile(errors, quantile, weights)
    shift: np.ndarray = np.array(np.where(beyond < 1 - _ROUNDING, shared, own))
    if observed.tasks is None:
        shift[constant] = 0.0
    return shift
