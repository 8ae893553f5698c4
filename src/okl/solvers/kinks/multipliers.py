"""Multipliers of a loss with kinks: their bounds, and sums of zero within these."""

from __future__ import annotations

from okl.losses.separable import weighted
from okl.numerics.arrays import Array, namespace
from okl.problems import Problem


def multiplier_bounds(problem: Problem) -> tuple[Array, Array]:
    """Return the least and the largest multiplier of each entry."""
    low, high = problem.loss.slope_bounds(problem.targets)
    return weighted(low, problem.weights), weighted(high, problem.weights)


def balanced(problem: Problem, multipliers: Array) -> Array:
    """Return a with sums of zero, entries between bounds moved, but not past one.

    Without an intercept sums are free, and a is returned as it is.

    What rounding left of a sum is subtracted from the entries in proportion to their
    distance from a bound. Where nothing but zeros sums to zero, as for a label that all
    rows have, they become zeros.
    """
    if not problem.centered:
        return multipliers
    xp = namespace(multipliers)
    low, high = multiplier_bounds(problem)
    excess = problem.entries.sums(multipliers)
    room = xp.where(
        problem.entries.spread(excess) > 0, multipliers - low, high - multipliers
    )
    # where there is no bound the room is the largest absolute entry
    room = xp.clip(room, None, float(xp.max(xp.abs(multipliers))))
    between = (multipliers > low) & (multipliers < high)
    room = xp.where(between, room, xp.zeros_like(room))
    total = problem.entries.sums(room)
    safe = xp.where(total > 0, total, xp.ones_like(total))
    share = xp.clip(excess / safe, -1.0, 1.0)
    return multipliers - problem.entries.spread(share) * room
