"""The scales on which parameters are learned: what an optimiser moves.

A positive parameter is learned by its logarithm: a step then is a factor, and no bound
keeps the value positive. One that has signs, as the entries of a matrix, is learned by
its value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class Scale(Protocol):
    """How values of a parameter and its coordinates are turned into each other.

    Attributes
    ----------
    domain : str
        Which finite values there are, as an error says it: "" for all.
    """

    domain: str

    def admits(self, values: np.ndarray) -> bool:
        """Tell whether all finite values can be learned."""

    def coordinates(self, values: Any) -> np.ndarray:
        """Return what an optimiser moves."""

    def values(self, coordinates: np.ndarray) -> np.ndarray:
        """Return what it stands for."""


@dataclass(frozen=True)
class LogScale:
    """Positive values, by their logarithms."""

    domain = "> 0"

    def admits(self, values: np.ndarray) -> bool:
        """Tell whether all are positive."""
        return bool(np.all(values > 0))

    def coordinates(self, values: Any) -> np.ndarray:
        """Return the logarithms."""
        return np.log(values)

    def values(self, coordinates: np.ndarray) -> np.ndarray:
        """Return the exponentials."""
        return np.exp(coordinates)


@dataclass(frozen=True)
class LinearScale:
    """Values of any sign, as they are."""

    domain = ""

    def admits(self, values: np.ndarray) -> bool:
        """Return True."""
        return True

    def coordinates(self, values: Any) -> np.ndarray:
        """Return the values."""
        return np.asarray(values, dtype=np.float64)

    def values(self, coordinates: np.ndarray) -> np.ndarray:
        """Return the coordinates."""
        return coordinates
