"""Steps along a given way that are shortened until the objective is lower.

Each trial costs the best f for another L: hundreds of Newton steps for the sharp
envelope of a hinge, the more the farther L is away. So a trial that failed says how
short the next one is to be: where the parabola is least that has both values and the
slope at the beginning. Dennis & Schnabel (1983), *Numerical methods for unconstrained
optimization and nonlinear equations*, section 6.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Self, TypeVar

# The part of a share that the next one is at least, and at most.
_SHORTEST, _LONGEST = 0.1, 0.5


class Judged(Protocol):
    """A model with an objective."""

    @property
    def objective(self) -> float:
        """Its objective."""

    def is_better_than(self, other: Self) -> bool:
        """Tell whether it is to be taken instead of another."""


Model = TypeVar("Model", bound=Judged)


def first_lower(
    model: Model,
    at: Callable[[float], Model],
    slope: float,
    *,
    trials: int,
    first: float = 1.0,
) -> tuple[Model, float]:
    """Return the first lower model along a way and its share of it, or the model.

    Parameters
    ----------
    model : Judged
        Where the way begins.
    at : callable
        The model at a share of the way.
    slope : float
        By how much the objective falls in proportion to small shares.
    trials : int
        Most shares.
    first : float, default=1.0
        The first of them.
    """
    share = first
    for _ in range(trials):
        trial = at(share)
        if trial.is_better_than(model):
            return trial, share
        share = shorter(share, trial.objective - model.objective, slope)
    return model, share


def shorter(share: float, rise: float, slope: float) -> float:
    """Return the next share of a way after one with an objective higher by ``rise``."""
    fall = share * slope
    bend = rise + fall
    least = fall / (2 * bend) if bend > 0 else _LONGEST
    return share * min(max(least, _SHORTEST), _LONGEST)
