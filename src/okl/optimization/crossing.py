"""Where a function of one number is zero."""

from __future__ import annotations

from collections.abc import Callable

from scipy.optimize import brentq


def crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a monotone function crosses zero, or the end nearest to it."""
    at_low, at_high = function(low), function(high)
    if at_low * at_high >= 0:
        return low if abs(at_low) <= abs(at_high) else high
    return float(brentq(function, low, high, xtol=1e-300, rtol=1e-15))
