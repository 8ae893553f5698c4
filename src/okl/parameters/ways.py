"""How a parameter is learned, where a user does not want the default.

Kernels hold only the values of parameters. Which of these are fixed, bounded, tied or
have another prior is an argument of the search that learns them: a mapping from names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from okl.parameters.hyperparameter import Hyperparameter
from okl.parameters.priors import Prior


@dataclass(frozen=True, eq=False)
class Learn:
    """How a parameter is learned instead of with its own bounds and prior.

    Parameters
    ----------
    bounds : pair of float or of arrays, optional
        Least and largest value.
    prior : Prior, optional
        Density of the logarithms, or of the values if these are learned; ``Flat()`` for
        none.
    tied : bool, default=False
        Whether the entries of an array are all the same number.
    """

    bounds: Any = None
    prior: Prior | None = None
    tied: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.tied, bool | np.bool_):
            raise ValueError(
                "tied of Learn must be True or False, all entries of an array or none, "
                f"got {self.tied!r}."
            )
        if self.prior is not None and not _is_prior(self.prior):
            raise TypeError(
                "prior of Learn must be one with log_density and gradient, such as "
                f"LogNormal(...), or None, got {self.prior!r}."
            )


@dataclass(frozen=True)
class Tied:
    """A parameter that equals another one.

    Parameters
    ----------
    to : str
        Name of a parameter of the same shape that is learned. The bounds and the prior
        are those of that parameter.
    """

    to: str


def is_learned(name: str, parameters: Any) -> bool:
    """Tell whether one is learned, given ``parameters`` of `HyperparameterSpace`."""
    if parameters is None or isinstance(parameters, Mapping):
        way = (parameters or {}).get(name)
        return not isinstance(way, str) or way != "fixed"
    if not isinstance(parameters, Collection):  # an iterator can be read only once
        return True
    return name in ([parameters] if isinstance(parameters, str) else parameters)


def read_ways(
    known: Mapping[str, Hyperparameter],
    parameters: Mapping[str, Any] | Iterable[str] | None,
) -> dict[str, Learn | Tied]:
    """Return how each parameter is learned, without the fixed ones."""
    given: Mapping[str, Any]
    if parameters is None or isinstance(parameters, Mapping):
        given = parameters or {}
        names = list(known)
    elif not np.iterable(parameters):
        raise TypeError(
            "parameters must be None, names, or a mapping from names to how they are "
            f"learned; got {parameters!r}."
        )
    else:
        names = [parameters] if isinstance(parameters, str) else list(parameters)
        given = {name: None for name in names if isinstance(name, str)}
    for name in [*given, *names]:
        if not isinstance(name, str) or name not in known:
            raise ValueError(
                f"parameters has {name!r}, which is not a continuous parameter here. "
                "The continuous parameters are: "
                f"{', '.join(map(repr, known)) or 'none'}."
            )
    chosen = set(names)
    order = [name for name in known if name in chosen]
    ways = {name: _way(name, given.get(name)) for name in order}
    return {name: way for name, way in ways.items() if way is not None}


def _way(name: str, given: Any) -> Learn | Tied | None:
    """Return how a parameter is learned, None if it stays fixed."""
    if given is None:
        return Learn()
    if isinstance(given, Learn | Tied):
        return given
    if isinstance(given, str) and given in {"fixed", "tied"}:
        return Learn(tied=True) if given == "tied" else None
    if _is_prior(given):
        return Learn(prior=given)
    if isinstance(given, tuple | list | np.ndarray):
        return Learn(bounds=tuple(given))
    raise TypeError(
        f"parameters[{name!r}] must be None, 'fixed', 'tied', a pair of bounds, Tied, "
        f"Learn or a prior (with log_density and gradient), got {given!r}."
    )


def _is_prior(given: Any) -> bool:
    """Tell whether a value is a prior, not a class of priors."""
    methods = hasattr(given, "log_density") and hasattr(given, "gradient")
    return methods and not isinstance(given, type)


def adapted(one: Hyperparameter, way: Learn) -> Hyperparameter:
    """Return a hyperparameter with the bounds and the prior that the user gave."""
    if way.bounds is not None:
        one = replace(one, bounds=way.bounds)
    if way.prior is not None:
        one = replace(one, prior=way.prior)
    if getattr(one.prior, "learned_by", one.scale) != one.scale:
        by = "logarithm" if one.scale.domain else "value"
        raise ValueError(
            f"The prior of {one.name!r} does not fit: the parameter is learned by its "
            f"{by}, got {one.prior}. LogNormal is for logarithms, Normal for values, "
            "Flat for both."
        )
    try:
        slope = one.prior.gradient(one.coordinates())
    except ValueError as error:
        raise ValueError(f"The prior of {one.name!r} does not fit: {error}") from error
    if np.shape(slope) != one.shape:
        raise ValueError(
            f"The prior of {one.name!r} must have a gradient of the shape {one.shape} "
            f"of the value, got {np.shape(slope)}."
        )
    return one
