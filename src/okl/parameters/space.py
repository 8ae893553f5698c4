"""Hyperparameters as one vector, for a numerical optimiser.

An optimiser moves a vector theta. A component has named parameters: some are arrays,
some stay fixed, some are tied to be equal. The space translates between the two. Theta
holds the coordinates of the parameters that are learned, each once: the logarithms of
positive parameters, and the values of those of either sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from okl.parameters.hyperparameter import Hyperparameter
from okl.parameters.priors import Flat, Prior
from okl.parameters.scales import Scale
from okl.parameters.ways import Tied, adapted, read_ways


class _Part(NamedTuple):
    """A learned parameter and the entries of theta that are its coordinates.

    Values are cut to the limits, since bounds in coordinates hold only up to rounding.
    """

    name: str
    shape: tuple[int, ...]
    entries: np.ndarray
    prior: Prior
    scale: Scale
    limits: tuple[np.ndarray, np.ndarray]


class HyperparameterSpace:
    """The hyperparameters of a list that are learned, as a vector of coordinates.

    A coordinate is the logarithm of a value, or with `LinearScale` the value.

    Parameters
    ----------
    hyperparameters : iterable of Hyperparameter
        All hyperparameters, with different names.
    parameters : mapping, iterable of str, or None, default=None
        Which of them are learned, and how. None: all, with their own bounds and priors.
        Names: only these. A mapping from names: all, some of them in another way, where
        the way is

        - None: with its own bounds and prior;
        - ``"fixed"``: not learned;
        - ``(low, high)``: between these bounds;
        - ``"tied"``: as one number for all entries of an array;
        - a prior, such as `LogNormal`; ``Flat()`` for none;
        - ``Tied("other name")``: equal to another one;
        - `Learn`: several of these.

    Attributes
    ----------
    names : list of str
        Names of the parameters that are learned.
    start : array (size,)
        The coordinates of the current values, moved into the bounds; entries that are
        tied start at their mean, positive ones at their geometric mean.
    bounds : array (size, 2)
        Bounds of theta.

    Raises
    ------
    ValueError
        For a name that none of the hyperparameters has; for bounds that are reversed,
        not positive or of another shape; for a prior of another length or scale; and
        for a tie to a parameter that is not learned or has another shape or scale.
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
            low, high = (np.ravel(b) for b in one.coordinate_bounds())
            least, most = (np.broadcast_to(b, one.shape).ravel() for b in one.bounds)
            if way.tied:
                low, high = low.min(keepdims=True), high.max(keepdims=True)
                least, most = least.min(keepdims=True), most.max(keepdims=True)
            start = _averages(np.ravel(one.coordinates()), groups, low.size)
            starts.append(np.clip(start, low, high))
            bounds.append(np.stack([low, high], axis=1))
            entries = size + groups
            self._parts.append(
                _Part(name, one.shape, entries, one.prior, one.scale, (least, most))
            )
            size += low.size
        learned = {part.name: part for part in self._parts}
        for name, way in ways.items():
            if isinstance(way, Tied):
                other = _target(known[name], way, learned)
                # the prior counts only once
                self._parts.append(other._replace(name=name, prior=Flat()))
        self.names = [part.name for part in self._parts]
        self.start = np.concatenate(starts) if starts else np.zeros(0)
        self.bounds = np.concatenate(bounds) if bounds else np.zeros((0, 2))

    @property
    def size(self) -> int:
        """The length of theta."""
        return self.start.size

    def unpack(self, theta: np.ndarray) -> dict[str, Any]:
        """Return the values of parameters at theta, as ``set_params`` takes them."""
        theta = np.asarray(theta, dtype=np.float64)
        values = {
            p.name: np.clip(p.scale.values(theta[p.entries]), *p.limits)
            for p in self._parts
        }
        return {
            part.name: values[part.name].reshape(part.shape)
            if part.shape
            else float(values[part.name][0])
            for part in self._parts
        }

    def pack(self, values: Mapping[str, Any]) -> np.ndarray:
        """Return the theta of given values, by name; of tied ones, their mean.

        For positive values it is the geometric mean.

        Raises
        ------
        ValueError
            If a value is missing, not finite or positive, or of another shape.
        """
        entries, coordinates = [], []
        for part in self._parts:
            value = np.asarray(values.get(part.name, np.nan), dtype=np.float64)
            fine = value.shape == part.shape and np.all(np.isfinite(value))
            if not fine or not part.scale.admits(value):
                domain = f", {part.scale.domain}" if part.scale.domain else ""
                raise ValueError(
                    f"The value of {part.name!r} must be finite{domain} and of the "
                    f"shape {part.shape}, got {values.get(part.name)!r}."
                )
            entries.append(part.entries)
            coordinates.append(np.ravel(part.scale.coordinates(value)))
        if not entries:
            return np.zeros(0)
        return _averages(
            np.concatenate(coordinates), np.concatenate(entries), self.size
        )

    def gradient(self, derivatives: Mapping[str, Any]) -> np.ndarray:
        """Return the derivative by theta, given those by the parameters' coordinates.

        Parameters
        ----------
        derivatives : mapping
            From names to numbers, or arrays in the shape of the parameter, as
            `okl.kernels.Kernel.gradient` returns them: by logarithms, or by the values
            of parameters that are learned by these. Those of fixed parameters are
            ignored.
        """
        result = np.zeros(self.size)
        for part in self._parts:
            np.add.at(result, part.entries, np.ravel(derivatives[part.name]))
        return result

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Draw a theta from the priors, within the bounds.

        Where a prior has no ``draw``, such as `Flat`, the draw is uniform between the
        bounds.
        """
        theta = np.empty(self.size)
        low, high = self.bounds.T
        # the parameter that others are tied to comes before them, and has the prior
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
        at = {p.name: theta[p.entries].reshape(p.shape) for p in self._parts}
        total = sum(p.prior.log_density(at[p.name]) for p in self._parts)
        slopes = {p.name: p.prior.gradient(at[p.name]) for p in self._parts}
        return float(total), self.gradient(slopes)


def _by_name(hyperparameters: Iterable[Hyperparameter]) -> dict[str, Hyperparameter]:
    known: dict[str, Hyperparameter] = {}
    for one in hyperparameters:
        if one.name in known:
            raise ValueError(f"Two hyperparameters have the name {one.name!r}.")
        known[one.name] = one
    return known


def _target(one: Hyperparameter, way: Tied, learned: Mapping[str, _Part]) -> _Part:
    """Return the parameter that another one is tied to."""
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
    if learned[way.to].scale != one.scale:
        raise ValueError(
            f"{one.name!r} is tied to {way.to!r}, and one of them is learned by its "
            "logarithm, the other by its value. Tie parameters that are alike."
        )
    return learned[way.to]


def _averages(values: np.ndarray, groups: np.ndarray, size: int) -> np.ndarray:
    """Return the mean of the values of each group."""
    counts = np.bincount(groups, minlength=size)
    return np.bincount(groups, weights=values, minlength=size) / counts
