"""Newton's method for a smooth convex function of a few numbers.

Where the second derivative is nearly singular its steps are far too long: they are cut
at a length that doubles while they succeed. Steps whose decrease is below the rounding
of the value are taken on trust, as long as they get smaller.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from okl.numerics.arrays import Array, inner, namespace

_STEPS, _HALVINGS = 200, 60  # Newton steps, and how often one is halved
_REACH = 1.0  # how long a step may be at first
_ARMIJO = 1e-4  # the part of its promise that a step must gain
_NOTHING = 1e-28  # a promise below this part of the value is the end
# Of promises that rounding hides each is at most this part of the last one; from the
# second part on no step is left.
_SMALLER, _SUDDEN = 0.5, 1e-6

Point = TypeVar("Point")


class SmoothVector(Protocol[Point]):
    """A smooth convex function of a vector b (m,)."""

    def at(self, b: Array) -> tuple[float, Point]:
        """Return the value, and what the derivatives there need."""

    def newton(self, point: Point) -> tuple[Array, Array]:
        """Return minus the gradient, and the inverse second derivative times it."""

    def rounding(self, b: Array) -> float:
        """Return what is not seen in the value."""


def minimise(function: SmoothVector[Point], b: Array) -> Array:
    """Return where a function is least, from a first b (m,)."""
    xp = namespace(b)
    value, point = function.at(b)
    reach, last = _REACH, float("inf")
    for _ in range(_STEPS):
        slope, step = function.newton(point)
        if not inner(slope, step) > 0:
            step = slope
        promise = inner(slope, step)
        unseen = function.rounding(b)
        trusted = promise <= unseen
        if promise <= _NOTHING * max(abs(value), 1.0) or (
            trusted and promise >= _SMALLER * last
        ):
            break
        if trusted and promise <= _SUDDEN * last:
            # quadratic convergence: nothing is left after this step
            return b + step
        last = promise
        longest = float(xp.max(xp.abs(step)))
        length = min(1.0, reach / longest)
        slack = unseen if trusted else 0.0
        for _ in range(_HALVINGS):
            trial, point = function.at(b + length * step)
            if trial <= value - _ARMIJO * length * promise + slack:
                break
            length /= 2
        else:
            break
        b, value = b + length * step, trial
        reach = max(2 * length * longest, _REACH)
    return b
