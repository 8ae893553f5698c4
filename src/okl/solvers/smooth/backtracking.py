"""Backtracking: a step is shortened until the objective is lower.

Where a trial has to find the best f for another L it costs up to hundreds of Newton
steps, so trials should be few. After one that failed the next share of the step is the
minimum of the parabola with both values and the slope at the beginning. Dennis &
Schnabel (1983), *Numerical methods for unconstrained optimization and nonlinear
equations*, section 6.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Self, TypeVar

# The next share is at least, and at most, these parts of the last one.
_SHORTEST, _LONGEST = 0.1, 0.5


class _Judged(Protocol):
    @property
    def objective(self) -> float: ...

    def is_better_than(self, other: Self) -> bool: ...


Model = TypeVar("Model", bound=_Judged)


def first_lower(
    model: Model,
    at: Callable[[float], Model],
    slope: float,
    *,
    trials: int,
    first: float = 1.0,
) -> tuple[Model, float]:
    """Return the first better model along a step and its share, or the model and 0.

    The step begins at the model, and ``at`` returns the model at a share of it. For
    small shares the objective falls by ``slope`` times the share. The first share to
    be tried may be given.
    """
    share = first
    for _ in range(trials):
        trial = at(share)
        if trial.is_better_than(model):
            return trial, share
        fall = share * slope
        bend = trial.objective - model.objective + fall
        least = fall / (2 * bend) if bend > 0 else _LONGEST
        share *= min(max(least, _SHORTEST), _LONGEST)
    return model, 0.0
