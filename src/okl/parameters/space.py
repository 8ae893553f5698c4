"""Hyperparameters as one vector, for a numerical optimiser.

An optimiser moves a vector theta; a component has named parameters, some of them
arrays, some of them to stay fixed or equal. The space is the translation: theta holds
the logarithms of what is learned, each of them once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from okl.parameters.hyperparameter import Hyperparameter
from okl.parameters.priors import Flat, Prior
from okl.parameters.ways import Tied, adapted, read_ways


class _Part(NamedTuple):
    """A learned parameter and the entries of theta that are its logarithms."""

    name: str
    shape: tuple[int, ...]
    entries: np.ndarray
    prior: Prior


class HyperparameterSpace:
    """The learned ones of a list of hyperparameters, as a vector of logarithms.

    Parameters
    ----------
    hyperparameters : iterable of Hyperparameter
        Those there are, with names that differ.
    parameters : mapping, iterable of str, or None, default=None
        Which of them are learned, and how. None: all of them, as their own bounds and
        priors say. Names: these only. A mapping from names changes how some of all
        are learned:

        - None: as its own bounds and prior say;
        - ``"fixed"``: not at all;
        - ``(low, high)``: between these bounds;
        - ``"tied"``: as one number for all entries of an array;
        - a prior, such as `LogNormal`; ``Flat()`` for none;
        - ``Tied("other name")``: equal to another one;
        - `Learn`: several of these.

    Attributes
    ----------
    names : list of str
        What is learned.
    start : array (size,)
        The logarithms of the present values, moved into the bounds; values that are
        tied start at their geometric mean.
    bounds : array (size, 2)
        Bounds of theta.

    Raises
    ------
    ValueError
        For a name that none of the hyperparameters has, for bounds that are reversed,
        not positive or of another shape, for a prior of another length, and for a tie
        to what is not learned or has another shape.
    TypeError
        For a way of learning that is none of the above.

    Examples
    --------
    >>> from okl.parameters.hyperparameter import Hyperparameter
    >>> scales = Hyperparameter("scales", [1.0, 4.0], (1e-3, 1e3))
    >>> alpha = Hyperparameter("alpha", 1.0, (1e-5, 1e5))
    >>> space = HyperparameterSpace([scales, alpha], {"scales": "tied"})
    >>> space.size
    2
    >>> space.unpack(space.start)
    {'scales': array([2., 2.]), 'alpha': 1.0}
    """

    def __init__(
        self,
        hyperparameters: Iterable[Hyperparameter],
        parameters: Mapping[str, Any] | Iterable[str] | None = None,
    ) -> None:
        known = _by_name(hyperparameters)
        ways = read_ways(known, parameters)
        self._parts: list[_Part] = []
        starts: list[np.ndarray] = []
        bounds: list[np.ndarray] = []
        size = 0
        for name, way in ways.items():
            if isinstance(way, Tied):
                continue
            one = adapted(known[name], way)
            n = max(1, int(np.prod(one.shape)))
            groups = np.zeros(n, dtype=np.intp) if way.tied else np.arange(n)
            low, high = (np.ravel(b) for b in one.log_bounds())
            if way.tied:
                low, high = low.min(keepdims=True), high.max(keepdims=True)
            start = _averages(np.log(np.ravel(one.value)), groups, low.size)
            starts.append(np.clip(start, low, high))
            bounds.append(np.stack([low, high], axis=1))
            self._parts.append(_Part(name, one.shape, size + groups, one.prior))
            size += low.size
        learned = {part.name: part for part in self._parts}
        for name, way in ways.items():
            if isinstance(way, Tied):
                other = _target(known[name], way, learned)
                # the prior counts once
                self._parts.append(_Part(name, other.shape, other.entries, Flat()))
        self.names = [part.name for part in self._parts]
        self.start = np.concatenate(starts) if starts else np.zeros(0)
        self.bounds = np.concatenate(bounds) if bounds else np.zeros((0, 2))

    @property
    def size(self) -> int:
        """The length of theta."""
        return self.start.size

    def unpack(self, theta: np.ndarray) -> dict[str, Any]:
        """Return the values that theta stands for, as ``set_params`` takes them."""
        values = np.exp(np.asarray(theta, dtype=np.float64))
        return {
            part.name: values[part.entries].reshape(part.shape)
            if part.shape
            else float(values[part.entries[0]])
            for part in self._parts
        }

    def pack(self, values: Mapping[str, Any]) -> np.ndarray:
        """Return the theta of some values, by name; of tied ones the geometric mean.

        Raises
        ------
        ValueError
            If a value is missing, not positive, or of another shape.
        """
        entries, logs = [], []
        for part in self._parts:
            value = np.asarray(values.get(part.name, np.nan), dtype=np.float64)
            if value.shape != part.shape or not np.all(
                (value > 0) & np.isfinite(value)
            ):
                raise ValueError(
                    f"The value of {part.name!r} must be finite, > 0 and of the shape "
                    f"{part.shape}, got {values.get(part.name)!r}."
                )
            entries.append(part.entries)
            logs.append(np.log(np.ravel(value)))
        if not entries:
            return np.zeros(0)
        return _averages(np.concatenate(logs), np.concatenate(entries), self.size)

    def gradient(self, derivatives: Mapping[str, Any]) -> np.ndarray:
        """Return the derivative by theta, given those by the log of each parameter.

        Parameters
        ----------
        derivatives : mapping
            From names to numbers, or arrays in the shape of the parameter, as
            `okl.kernels.Kernel.gradient` has them. Those of fixed parameters are
            ignored.
        """
        result = np.zeros(self.size)
        for part in self._parts:
            np.add.at(result, part.entries, np.ravel(derivatives[part.name]))
        return result

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Draw a theta from the priors, within the bounds.

        Where a prior draws none, as `Flat` does not, it is uniform between the bounds.
        """
        theta = np.empty(self.size)
        low, high = self.bounds.T
        # what others are tied to comes first among the parts, and has the prior
        for part in reversed(self._parts):
            if hasattr(part.prior, "draw"):
                logs = np.ravel(part.prior.draw(rng, part.shape))
            else:
                logs = rng.uniform(low[part.entries], high[part.entries])
            own, groups = np.unique(part.entries, return_inverse=True)
            theta[own] = _averages(logs, groups, len(own))
        return np.clip(theta, low, high)

    def log_prior(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the log density of the priors, and its derivative by theta."""
        theta = np.asarray(theta, dtype=np.float64)
        logs = {p.name: theta[p.entries].reshape(p.shape) for p in self._parts}
        total = sum(p.prior.log_density(logs[p.name]) for p in self._parts)
        slopes = {p.name: p.prior.gradient(logs[p.name]) for p in self._parts}
        return float(total), self.gradient(slopes)


def _by_name(hyperparameters: Iterable[Hyperparameter]) -> dict[str, Hyperparameter]:
    known: dict[str, Hyperparameter] = {}
    for one in hyperparameters:
        if one.name in known:
            raise ValueError(f"Two hyperparameters have the name {one.name!r}.")
        known[one.name] = one
    return known


def _target(one: Hyperparameter, way: Tied, learned: Mapping[str, _Part]) -> _Part:
    """Return what a parameter is tied to."""
    if way.to not in learned:
        raise ValueError(
            f"{one.name!r} is tied to {way.to!r}, which is not learned or tied itself. "
            f"These are learned: {', '.join(map(repr, learned)) or 'none'}."
        )
    if learned[way.to].shape != one.shape:
        raise ValueError(
            f"{one.name!r} of shape {one.shape} is tied to {way.to!r} of shape "
            f"{learned[way.to].shape}; the shapes must be equal."
        )
    return learned[way.to]


def _averages(values: np.ndarray, groups: np.ndarray, size: int) -> np.ndarray:
    """Return the mean of the values of each group."""
    counts = np.bincount(groups, minlength=size)
    return np.bincount(groups, weights=values, minlength=size) / counts
