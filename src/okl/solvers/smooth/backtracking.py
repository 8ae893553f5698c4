"""Steps along a given way that are shortened until the objective is lower.

Where each trial takes the best f for another L it costs up to hundreds of Newton steps.
So a trial that failed says how short the next one is to be: where the parabola is least
that has both values and the slope at the beginning. Dennis & Schnabel (1983),
*Numerical methods for unconstrained optimization and nonlinear equations*, section 6.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Self, TypeVar

# The part of a share that the next one is at least, and at most.
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
    """Return the first better model along a way and its share of it, or the model, 0.

    The way begins at the model, and ``at`` has the one at a share of it; the objective
    falls by the slope times small shares. The first share of all trials may be given.
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
