"""Newton's method for a smooth convex function of a few numbers.

Where the second derivative is nearly singular its steps are far too long: they are cut
at a length that doubles while they succeed. Steps whose decrease is below the rounding
of the value are taken on trust, as long as they get smaller.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from okl.numerics.arrays import Array, inner, namespace

# Newton steps, how often one is halved, and how long it may be at first; what it must
# gain of its promise, what promise is nothing, how much smaller those that are not seen
# must get, and how much smaller is the end.
_STEPS, _HALVINGS, _REACH = 200, 60, 1.0
_ARMIJO, _NOTHING, _SMALLER, _SUDDEN = 1e-4, 1e-28, 0.5, 1e-6

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
