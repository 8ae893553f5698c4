"""The best length of a step where a loss bends at many points along it.

The derivative of the objective in the length is increasing, and made of straight lines
for a piecewise quadratic loss: its zero is found from values alone. An output that no
other depends on has a length of its own.
"""

from __future__ import annotations

from typing import NamedTuple

from okl.numerics.arrays import Array, namespace
from okl.optimization.crossing import increasing_root
from okl.solvers.predictor.approximation import Prepared

# What is left of the slope.
_FLAT = 1e-3


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

    return increasing_root(slope, slope(xp.zeros_like(constant)), flat=_FLAT)
