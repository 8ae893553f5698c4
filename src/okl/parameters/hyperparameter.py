"""A continuous parameter of a component: its name, value, bounds and prior.

Such parameters are positive numbers, or arrays of them, and are learned by their
logarithms: a step then is a factor, and no bound keeps the value positive.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from okl.parameters.priors import Flat, Prior


@dataclass(frozen=True, eq=False)
class Hyperparameter:
    """A positive parameter that can be learned.

    Parameters
    ----------
    name : str
        As ``set_params`` takes it, nested ones with two underscores (``left__gamma``).
    value : float or array
        The present value, > 0.
    bounds : pair of float or of arrays
        The least and the largest value, both > 0; an array has one bound per value.
    prior : Prior, default=Flat()
        Density of the logarithms.
    n_features : int, optional
        How many values it may have instead of one, where it may have one for each
        feature; None where its shape is what it is.

    Raises
    ------
    ValueError
        If the value or the bounds are not finite and positive, or the bounds reversed
        or of another shape.
    """

    name: str
    value: Any
    bounds: tuple[Any, Any]
    prior: Prior = field(default_factory=Flat)
    n_features: int | None = None

    def __post_init__(self) -> None:
        if not _all_positive(self.value):
            raise ValueError(
                f"The value of {self.name!r} must be finite and > 0 to be learned by "
                f"its logarithm, got {self.value!r}."
            )
        self.log_bounds()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value, () for a number."""
        return np.shape(self.value)

    def log_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the logarithms of the bounds, each in the shape of the value."""
        shown = (
            f"bounds of {self.name!r} must be a pair (low, high) with 0 < low < high"
        )
        if not isinstance(self.bounds, tuple | list) or len(self.bounds) != 2:
            raise ValueError(f"{shown}, got {self.bounds!r}.")
        low, high = self.bounds
        for bound in (low, high):
            if not _all_positive(bound):
                raise ValueError(f"{shown}, both finite, got {self.bounds!r}.")
            if np.shape(bound) not in {(), self.shape}:
                raise ValueError(
                    f"{shown}, numbers or of the shape {self.shape} of the value, got "
                    f"shape {np.shape(bound)}."
                )
        if np.any(np.asarray(low) >= np.asarray(high)):
            raise ValueError(
                f"{shown}, got {self.bounds!r}. To keep a value as it is leave it out, "
                "or say 'fixed'."
            )
        return (
            np.broadcast_to(np.log(low), self.shape),
            np.broadcast_to(np.log(high), self.shape),
        )

    def within(self, part: str) -> Hyperparameter:
        """Return the same parameter as one of a component that holds this one."""
        return replace(self, name=f"{part}__{self.name}")


def _all_positive(value: Any) -> bool:
    try:
        array = np.asarray(value)
    except ValueError:  # a ragged list
        return False
    if array.dtype.kind not in "iuf" or not array.size:
        return False
    return bool(np.all(np.isfinite(array) & (array > 0)))
