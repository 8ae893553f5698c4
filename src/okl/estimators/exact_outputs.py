"""Outputs that are constant, and fitted but for rounding.

What rounding, or the tolerance of the fit, leaves of these is no noise: taken for it,
any other value of such an output would move the other outputs without bounds.
"""

from __future__ import annotations

import numpy as np

from okl.coding.tasks import COLUMNS, Tasks
from okl.estimators.units import Units

# Residuals of a constant output up to this part of those of others count as zero.
_REMAINS = 1e-4


def without_remains(
    residuals: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray | None,
    tasks: Tasks | None,
) -> np.ndarray:
    """Return residuals, zero for constant outputs that are fitted but for rounding."""
    outputs = COLUMNS if tasks is None else tasks
    units = Units.of(targets, weights, tasks, free_intercept=True)
    squares = outputs.sums(np.nan_to_num(residuals**2))
    rounding = np.finfo(np.float64).eps * np.abs(units.mean)
    least = np.maximum(_REMAINS**2 * squares.max(), len(residuals) * rounding**2)
    exact = outputs.spread(units.constant & (squares <= least))
    return np.where(exact & ~np.isnan(residuals), 0.0, residuals)
