"""A continuous parameter of a component: its name, value, bounds and prior.

Most such parameters are positive numbers, or arrays of them, and are learned by their
logarithms: a step is then a factor, and no bound is needed to keep the value positive.
Parameters of either sign are learned by their values (`scale`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from okl.parameters.priors import Flat, Prior
from okl.parameters.scales import LogScale, Scale


@dataclass(frozen=True, eq=False)
class Hyperparameter:
    """A parameter that can be learned.

    Parameters
    ----------
    name : str
        The name in ``set_params``, nested ones with two underscores (``left__gamma``).
    value : float or array
        The current value, > 0 if it is learned by its logarithm.
    bounds : pair of float or of arrays
        The least and the largest value, not their logarithms; numbers, or arrays in the
        shape of the value.
    prior : Prior, default=Flat()
        Density of the logarithms, or of the values if these are learned.
    n_features : int, optional
        The number of features, if the parameter may be one number or one for each
        feature; None if its shape is fixed.
    scale : Scale, default=LogScale()
        Whether it is learned by its logarithm or, with `LinearScale`, by its value.

    Raises
    ------
    ValueError
        If the value or the bounds are not finite, or not positive where they must be,
        or the bounds reversed or of another shape.
    """

    name: str
    value: Any
    bounds: tuple[Any, Any]
    prior: Prior = field(default_factory=Flat)
    n_features: int | None = None
    scale: Scale = field(default_factory=LogScale)

    def __post_init__(self) -> None:
        if not self._admits(self.value):
            domain = self.scale.domain
            also = f" and {domain} to be learned by its logarithm" if domain else ""
            raise ValueError(
                f"The value of {self.name!r} must be finite{also}, got {self.value!r}."
            )
        self.coordinate_bounds()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value, () for a number."""
        return np.shape(self.value)

    def coordinates(self) -> np.ndarray:
        """Return what an optimiser moves, the logarithm or the value, in its shape."""
        return self.scale.coordinates(self.value)

    def coordinate_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinates of the bounds, each in the shape of the value."""
        above = "0 < " if self.scale.domain else ""
        shown = (
            f"bounds of {self.name!r} must be a pair (low, high) with {above}low < high"
        )
        if not isinstance(self.bounds, tuple | list) or len(self.bounds) != 2:
            raise ValueError(f"{shown}, got {self.bounds!r}.")
        low, high = self.bounds
        for bound in (low, high):
            if not self._admits(bound):
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
            np.broadcast_to(self.scale.coordinates(low), self.shape),
            np.broadcast_to(self.scale.coordinates(high), self.shape),
        )

    def within(self, part: str) -> Hyperparameter:
        """Return the parameter with the name ``part__name``, for a larger component."""
        return replace(self, name=f"{part}__{self.name}")

    def _admits(self, value: Any) -> bool:
        """Tell whether a value, or a bound, is finite and can be learned."""
        try:
            array = np.asarray(value)
        except ValueError:  # a ragged list
            return False
        if array.dtype.kind not in "iuf" or not array.size:
            return False
        return bool(np.all(np.isfinite(array))) and self.scale.admits(array)
