"""Roots of monotone functions of one variable."""

from __future__ import annotations

from collections.abc import Callable

from scipy.optimize import brentq

from okl.numerics.arrays import Array, namespace

# The most trials. Until one of them lies beyond the root, each is longer than the one
# before by a factor between these two.
_TRIALS, _LEAST_GROWTH, _MOST_GROWTH = 60, 1.5, 10.0


def crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a monotone function crosses zero, or the end nearest to it."""
    at_low, at_high = function(low), function(high)
    if at_low * at_high >= 0:
        return low if abs(at_low) <= abs(at_high) else high
    return float(brentq(function, low, high, xtol=1e-300, rtol=1e-15))


def increasing_root(
    value: Callable[[Array], Array], first: Array, *, flat: float
) -> Array:
    """Return zeros of increasing functions that are negative at zero.

    The method is regula falsi, as the Illinois variant has it: the value at an end that
    has been kept is halved (Dowell and Jarratt 1971).

    ``value`` maps an array of lengths, one for each function, to the values there;
    ``first`` are those at zero. A length x is a zero if abs(value(x)) is at most
    ``flat`` * abs(first).
    """
    xp = namespace(first)
    zero, one = xp.zeros_like(first), xp.ones_like(first)
    infinite = xp.full_like(first, float("inf"))
    low, below, high, above = zero, first, infinite, -first
    last, length = zero, one
    for _ in range(_TRIALS):
        here = value(length)
        done = xp.abs(here) <= flat * xp.abs(first)
        if bool(xp.all(done)):
            break
        short, kept = here < 0, xp.where(xp.sign(here) == last, one / 2, one)
        low, high = xp.where(short, length, low), xp.where(short, high, length)
        below = xp.where(short, here, below * kept)
        above = xp.where(short, above * kept, here)
        last = xp.sign(here)
        bracketed = high < infinite
        width = xp.where(bracketed, high - low, zero)
        between = low - width * below / xp.where(above > below, above - below, one)
        # no end beyond the root yet: go on along the line from the value at zero
        rise = here - first
        ahead = xp.where(rise > 0, -first / xp.where(rise > 0, rise, one), infinite)
        beyond = length * xp.clip(ahead, _LEAST_GROWTH, _MOST_GROWTH)
        length = xp.where(done, length, xp.where(bracketed, between, beyond))
    return length
