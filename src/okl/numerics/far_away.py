"""Numbers far away from all others, and what is nearer in their place."""

from __future__ import annotations

from okl.numerics.arrays import Array, namespace
from okl.numerics.quantiles import NINE_TENTHS, weighted_quantile

# A number is far away beyond so many times the distance within which nine tenths of all
# are; normal numbers never are, and a tenth of all may be.
_TIMES = 10.0


def brought_near(numbers: Array, weights: Array | None = None) -> Array:
    """Return numbers about zero, those of a column that are far away nearer.

    They stay on their side of zero. Without any the array itself is returned. Of a
    column that is mostly zero nothing is typical, and none is far away.

    Parameters
    ----------
    numbers : array (n_samples, n_outputs)
    weights : array (n_samples, n_outputs) or (n_samples, 1), optional
        What weighs nothing does not count.
    """
    xp = namespace(numbers)
    distances = xp.abs(numbers)
    most = _TIMES * weighted_quantile(distances, NINE_TENTHS, weights) + 0.0 * distances
    far = (distances > most) & (most > 0)
    if weights is not None:
        far = far & (weights > 0)
    if not bool(xp.any(far)):
        return numbers
    return xp.where(far, xp.sign(numbers) * most, numbers)
