"""Quantiles of columns whose entries have weights."""

from __future__ import annotations

from okl.numerics.arrays import Array, epsilon, namespace

# Three quarters of normal numbers are nearer to their mean than so many deviations:
# that quantile of distances over this number is a deviation that few outliers move.
THREE_QUARTERS, OF_NORMAL = 0.75, 1.1503493803760079
# A little less than nine tenths: where just a tenth of the numbers are outliers the
# quantile of nine tenths is half way to one of them.
NINE_TENTHS = 0.9 - 1e-5
# Rounding of a sum of weights, in machine epsilons of the sum of all.
_ROUNDING = 8.0


def weighted_quantile(
    values: Array, quantile: float, weights: Array | None = None
) -> Array:
    """Return a quantile of each column, the middle where there are several.

    Below it is a part ``quantile`` of the weights at most, above it what is left of
    them at most.

    Parameters
    ----------
    values : array (n_samples, n_outputs)
    quantile : float
        Between 0 and 1, both excluded.
    weights : array (n_samples, n_outputs) or (n_samples, 1), optional
        Not negative; one everywhere if None.

    Returns
    -------
    array (n_outputs,)
    """
    xp = namespace(values)
    order = xp.argsort(values, axis=0)
    values = xp.take_along_axis(values, order, axis=0)
    counts = xp.ones_like(values)
    if weights is not None:
        counts = xp.take_along_axis(weights * counts, order, axis=0)
    below = xp.cumulative_sum(counts, axis=0)
    wanted = float(quantile) * below[-1:, :]
    rounding = _ROUNDING * epsilon(values) * below[-1:, :]
    above = below > wanted + rounding
    first = xp.argmax(xp.astype(below >= wanted - rounding, xp.int64), axis=0)
    last = xp.argmax(xp.astype(above, xp.int64), axis=0)
    ends = xp.stack([first, xp.where(xp.any(above, axis=0), last, first)])
    return xp.mean(xp.take_along_axis(values, ends, axis=0), axis=0)
