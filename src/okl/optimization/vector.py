"""Newton's method for a smooth convex function of a few numbers.

Where the second derivative is nearly singular, Newton steps are far too long. They are
cut at a length that doubles while steps succeed. Steps whose decrease is below the
rounding of the value are taken on trust, as long as they get smaller.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from okl.numerics.arrays import Array, inner, namespace

_STEPS, _HALVINGS = 200, 60  # Newton steps, and how often one is halved
_REACH = 1.0  # how long a step may be at first
_ARMIJO = 1e-4  # the part of the promised decrease that a step must achieve
_NOTHING = 1e-28  # a promised decrease below this part of the value is the end
# A promised decrease that rounding hides must be below the first part of the last one;
# a step that promises at most the second part is the last step.
_SMALLER, _SUDDEN = 0.5, 1e-6

Point = TypeVar("Point")


class SmoothVector(Protocol[Point]):
    """A smooth convex function of a vector b (m,)."""

    def at(self, b: Array) -> tuple[float, Point]:
        """Return the value, and what the derivatives there need."""

    def newton(self, point: Point) -> tuple[Array, Array]:
        """Return minus the gradient, and the inverse second derivative times it."""

    def rounding(self, b: Array) -> float:
        """Return what rounding hides of the value."""


def minimise(function: SmoothVector[Point], b: Array) -> Array:
    """Return the minimiser of a function, starting from b (m,)."""
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
