"""The scales on which parameters are learned: what an optimiser moves.

A positive parameter is learned by its logarithm: a step is then a factor, and no bound
is needed to keep the value positive. One of either sign, such as the entries of a
matrix, is learned by its value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class Scale(Protocol):
    """The map between values of a parameter and coordinates that an optimiser moves.

    Attributes
    ----------
    domain : str
        Which finite values are allowed, as errors say it: "" for all.
    """

    domain: str

    def admits(self, values: np.ndarray) -> bool:
        """Tell whether all of some finite values are allowed."""

    def coordinates(self, values: Any) -> np.ndarray:
        """Return the coordinates of values."""

    def values(self, coordinates: np.ndarray) -> np.ndarray:
        """Return the values of coordinates."""


@dataclass(frozen=True)
class LogScale:
    """Positive values, with their logarithms as coordinates."""

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
    """Values of any sign, as coordinates themselves."""

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
