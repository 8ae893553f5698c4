"""The best length of a step where a loss bends at many points along it.

The derivative of the objective in the length is increasing, and made of straight lines
for a piecewise quadratic loss: its zero is found from values alone. An output that no
other depends on has a length of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from okl.numerics.arrays import Array, namespace
from okl.solvers.predictor.approximation import Prepared

# What is left of the slope, and most trials; and how much longer a length is tried
# where none is too long.
_FLAT, _TRIALS = 1e-3, 60
_LEAST_GROWTH, _MOST_GROWTH = 1.5, 10.0


class StepDirection(NamedTuple):
    """A change of C, J times it, and changes of b and of the scores."""

    change: Array
    predictions: Array
    intercept: Array
    scores: Array


def best_length(
    prepared: Prepared,
    dual: Array,
    scores: Array,
    direction: StepDirection,
    alpha: float,
) -> Array:
    """Return one number, or one for each output.

    Parameters
    ----------
    prepared : Prepared
    dual, scores : array (n_samples, n_outputs)
        C, and the scores there.
    direction : StepDirection
        Its change of both.
    alpha : float
    """
    problem, couples = prepared.problem, prepared.joint.couples
    loss, targets, weights = problem.loss, problem.targets, problem.weights
    moved = direction.scores
    xp = namespace(scores)

    def total(entries: Array) -> Array:
        sums = xp.sum(entries, axis=0)
        return xp.sum(sums, keepdims=True) if couples else sums

    image = alpha * direction.predictions
    constant, linear = total(dual * image), total(direction.change * image)

    def slope(length: Array) -> Array:
        there = loss.negative_gradient(targets, scores + length * moved, weights)
        return constant + length * linear - total(there * moved)

    return _increasing_root(slope, xp.zeros_like(constant))


def _increasing_root(value: Callable[[Array], Array], zero: Array) -> Array:
    """Return zeros of increasing functions that are negative at zero.

    A zero is looked for between two lengths where the straight line between their
    values has its own, and of an end that stays half of the value counts (the Illinois
    method: Dowell and Jarratt 1971).
    """
    xp = namespace(zero)
    one, infinite = xp.ones_like(zero), xp.full_like(zero, float("inf"))
    first = value(zero)
    low, below, high, above = zero, first, infinite, -first
    last, length = zero, one
    for _ in range(_TRIALS):
        here = value(length)
        done = xp.abs(here) <= _FLAT * xp.abs(first)
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
        # without an end beyond the zero: on the line from the beginning
        rise = here - first
        ahead = xp.where(rise > 0, -first / xp.where(rise > 0, rise, one), infinite)
        beyond = length * xp.clip(ahead, _LEAST_GROWTH, _MOST_GROWTH)
        length = xp.where(done, length, xp.where(bracketed, between, beyond))
    return length
