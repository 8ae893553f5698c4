"""The best length of a step where a loss bends at many points along it.

The derivative of the objective in the length is increasing, and made of straight lines
for a piecewise quadratic loss: Newton's method within a bracket finds its zero. An
output that no other depends on has a length of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from okl.numerics.arrays import Array, namespace
from okl.solvers.predictor.approximation import Prepared

# What is left of the slope, and most trials.
_FLAT, _TRIALS = 1e-3, 60


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

    def steepening(length: Array) -> Array:
        there = loss.curvature(targets, scores + length * moved, weights)
        return linear + total(there.diagonal * moved * moved)

    return _increasing_root(slope, steepening, xp.zeros_like(constant))


def _increasing_root(
    value: Callable[[Array], Array], slope: Callable[[Array], Array], zero: Array
) -> Array:
    """Return zeros of increasing functions that are negative at zero.

    By Newton's method within brackets.
    """
    xp = namespace(zero)
    infinite = xp.full_like(zero, float("inf"))
    small = _FLAT * xp.abs(value(zero))
    low, high, length = zero, infinite, xp.ones_like(zero)
    for _ in range(_TRIALS):
        here, steep = value(length), slope(length)
        done = xp.abs(here) <= small
        if bool(xp.all(done)):
            break
        low = xp.where(here < 0, length, low)
        high = xp.where(here > 0, length, high)
        middle = xp.where(high < infinite, (low + high) / 2, 2 * length)
        safe = xp.where(steep > 0, steep, xp.ones_like(steep))
        newton = length - here / safe
        inside = (steep > 0) & (newton > low) & (newton < high)
        length = xp.where(done, length, xp.where(inside, newton, middle))
    return length
