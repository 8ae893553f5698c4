"""Priors of parameters: densities of their logarithms, or of their values.

A search adds the log density to what it maximises. A prior is any object with
``log_density`` and ``gradient``, both functions of the logarithms of the values, or of
the values of a parameter that is learned by its value. If it also has ``draw``, further
starts of a search are drawn from it. If it has ``learned_by``, that is the scale of the
parameters that it is for.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Protocol

import numpy as np

from okl.parameters.scales import LinearScale, LogScale, Scale


class Prior(Protocol):
    """What a search needs of a prior; ``logs`` is a number or an array.

    For a parameter that is learned by its value, ``logs`` are the values themselves.
    """

    def log_density(self, logs: Any) -> float:
        """Return the log density at these logarithms, up to a constant."""

    def gradient(self, logs: Any) -> np.ndarray:
        """Return the derivative of the log density by each logarithm, in this shape."""


def _check_numbers(prior: Any, *names: str) -> None:
    """Raise TypeError unless the parameters named, and all means, are numbers."""
    called = type(prior).__name__
    for name in names:
        value = getattr(prior, name)
        if not isinstance(value, Real):
            raise TypeError(
                f"{name} of {called} must be a number, the same for all values, got "
                f"{value!r}; only mean may have one entry per value."
            )
    mean = np.asarray(prior.mean)
    if mean.dtype.kind not in "iuf":
        raise TypeError(
            f"mean of {called} must be a number, or an array of numbers, got "
            f"{prior.mean!r}."
        )


class Flat:
    """No preference: the log density is zero everywhere."""

    def __repr__(self) -> str:
        return "Flat()"

    def log_density(self, logs: Any) -> float:
        """Return zero."""
        return 0.0

    def gradient(self, logs: Any) -> np.ndarray:
        """Return zeros."""
        return np.zeros(np.shape(logs))


@dataclass(frozen=True, eq=False)
class LogNormal:
    r"""Logarithms that are jointly normal and vary together.

    .. math:: \log v_k = m_k + \mu + \delta_k, \quad \mu \sim N(0, s^2), \quad
              \delta_k \sim N(0, \sigma^2)

    with m the mean, sigma ``std`` and s ``shared_std``. The common level mu of the
    values is integrated out, which leaves a normal density of the logarithms with the
    covariance sigma^2 I + s^2 1 1'. As a prior of the widths of a kernel, it says that
    features count alike unless the data show otherwise (sigma small), while the common
    width is nearly unknown (s large).

    Parameters
    ----------
    mean : float or array-like of shape (n_values,), default=0.0
        Means of the logarithms: the log of the median of each value.
    std : float, default=1.0
        Standard deviation sigma of each logarithm around the common level, > 0.
    shared_std : float, default=0.0
        Standard deviation s of the common level, >= 0.
    """

    learned_by: ClassVar[Scale] = LogScale()

    mean: Any = 0.0
    std: float = 1.0
    shared_std: float = 0.0

    def __post_init__(self) -> None:
        _check_numbers(self, "std", "shared_std")
        if not (0 < self.std < np.inf and 0 <= self.shared_std < np.inf):
            raise ValueError(
                "std of LogNormal must be finite and > 0 and shared_std finite and >= "
                f"0, got {self.std!r} and {self.shared_std!r}."
            )
        if not np.all(np.isfinite(self.mean)):
            raise ValueError(f"mean of LogNormal must be finite, got {self.mean!r}.")

    def log_density(self, logs: Any) -> float:
        """Return the log of the joint density of the logarithms."""
        difference, own = self._difference(logs), self.std**2
        n = difference.size
        total = own + n * self.shared_std**2
        square = float(np.vdot(difference, self._solve(difference)))
        log_determinant = (n - 1) * np.log(own) + np.log(total)
        return -0.5 * float(square + log_determinant + n * np.log(2.0 * np.pi))

    def gradient(self, logs: Any) -> np.ndarray:
        """Return the derivative of the log density by each logarithm."""
        return -self._solve(self._difference(logs))

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Draw the logarithms of values of a given shape."""
        shared = self.shared_std * rng.standard_normal()
        own = self.std * rng.standard_normal(shape)
        return np.add(self.mean, shared + own)

    def _difference(self, logs: Any) -> np.ndarray:
        if np.ndim(self.mean) and np.shape(self.mean) != np.shape(logs):
            raise ValueError(
                "mean of LogNormal must be a number or have one entry per value, got "
                f"shape {np.shape(self.mean)} for values of shape {np.shape(logs)}."
            )
        return np.asarray(logs, dtype=np.float64) - self.mean

    def _solve(self, difference: np.ndarray) -> np.ndarray:
        """Return the covariance's inverse times a vector (Sherman and Morrison)."""
        own, shared = self.std**2, self.shared_std**2
        share = shared / (own + difference.size * shared)
        return (difference - share * difference.sum()) / own


@dataclass(frozen=True, eq=False)
class Normal:
    """Values of any sign, independent and normal.

    The log density is that of a penalty ``sum_k (v_k - m_k)^2 / (2 std^2)``.

    Parameters
    ----------
    mean : float or array-like in the shape of the values, default=0.0
        Means m of the values.
    std : float, default=1.0
        Standard deviation of each value, > 0.
    """

    learned_by: ClassVar[Scale] = LinearScale()

    mean: Any = 0.0
    std: float = 1.0

    def __post_init__(self) -> None:
        _check_numbers(self, "std")
        if not 0 < self.std < np.inf or not np.all(np.isfinite(self.mean)):
            raise ValueError(
                "std of Normal must be finite and > 0 and mean finite, got "
                f"{self.std!r} and {self.mean!r}."
            )

    def log_density(self, values: Any) -> float:
        """Return the log of the joint density of the values."""
        away = self._difference(values) / self.std
        constant = away.size * np.log(self.std * np.sqrt(2.0 * np.pi))
        return -0.5 * float(np.vdot(away, away)) - float(constant)

    def gradient(self, values: Any) -> np.ndarray:
        """Return the derivative of the log density by each value."""
        return -self._difference(values) / self.std**2

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Draw values of a given shape."""
        return np.add(self.mean, self.std * rng.standard_normal(shape))

    def _difference(self, values: Any) -> np.ndarray:
        if np.ndim(self.mean) and np.shape(self.mean) != np.shape(values):
            raise ValueError(
                "mean of Normal must be a number or have one entry per value, got "
                f"shape {np.shape(self.mean)} for values of shape {np.shape(values)}."
            )
        return np.asarray(values, dtype=np.float64) - self.mean
