"""Parameters of components: where they are set, and where they belong.

An estimator is made of components, a kernel, a structure, a loss and a solver, and a
component may be given by its name: ``kernel="rbf"``. scikit-learn's nested parameters
(``kernel__gamma``) can be set on objects only, not on a string. Here the name is
replaced by the object that it stands for, with the parameters that are to be set:
``set_params(kernel__gamma=0.1)`` makes ``kernel="rbf"`` the kernel ``Gaussian(0.1)``.
Until then the constructor keeps what it was given.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from inspect import Signature, signature
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

from sklearn.base import BaseEstimator

from okl.kernels import KERNELS, Gaussian, Kernel, as_kernel
from okl.losses import LOSSES, Loss
from okl.parameters.component import Component, from_name
from okl.parameters.listed import ListedParameters
from okl.solvers import SOLVERS, Solver
from okl.structures import STRUCTURES, Structure


class _Axis(NamedTuple):
    """Which components a parameter takes."""

    kind: type[Component]
    names: Mapping[str, type[Component]]
    # which of several with the same parameter a message proposes
    usual: type[Component] | None = None


_STRUCTURE = _Axis(Structure, STRUCTURES)
# By the parameters of estimators.
_AXES = {
    "kernel": _Axis(Kernel, KERNELS, Gaussian),
    "structure": _STRUCTURE,
    "structures": _STRUCTURE,
    "loss": _Axis(Loss, LOSSES),
    "solver": _Axis(Solver, SOLVERS),
}
# Strings that stand for no object, and why.
_NO_OBJECT = {
    "precomputed": "X is the kernel matrix itself",
    "auto": "the choice is left to the fit",
    None: "the choice is left to the fit",
}


class ComponentParameters(ListedParameters):
    """Base of what has components as parameters."""

    listed: ClassVar[tuple[str, ...]] = ("kernel", "structure", "structures", "kernels")

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Refuse unknown parameters in the name of the class that was called.

        Raises
        ------
        TypeError
            For arguments that the constructor does not take; for a parameter of a
            component the message says where it goes.
        """
        if args or kwargs:
            try:
                _constructor(cls).bind(None, *args, **kwargs)  # type: ignore[arg-type]
            except TypeError as error:
                unknown = [k for k in kwargs if k not in cls._get_param_names()]
                advice = _advice(cls, unknown[0], kwargs[unknown[0]]) if unknown else ""
                raise TypeError(f"{cls.__name__}: {error}.{advice}") from None
        return super().__new__(cls)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of components, such as ``kernel__gamma``.

        In a list of kernels, or structures, ``kernel__0__gamma`` is a parameter of the
        first kernel, and ``kernel__0`` that kernel itself. A component that was given
        by its name is replaced by its object first.

        Parameters
        ----------
        **params : dict
            The parameters, as in scikit-learn.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For unknown parameters, entries that a list does not have, and parameters of
            what has none, such as ``kernel="precomputed"``.
        """
        nested: dict[str, dict[str, Any]] = defaultdict(dict)
        for key, value in params.items():
            name, delimiter, inner = key.partition("__")
            if delimiter:
                nested[name][inner] = value
        own = self.get_params(deep=False)
        for name, inner_params in nested.items():
            if name not in own:
                continue  # scikit-learn raises the error
            given = params.get(name, own[name])
            if name in self.listed and isinstance(given, list | tuple):
                continue  # its entries have names of their own
            if hasattr(given, "set_params") and not isinstance(given, type):
                params[name] = _with_kernel_objects(given, inner_params)
                continue
            params = {k: v for k, v in params.items() if k.partition("__")[0] != name}
            params[name] = self._object_of(name, given, inner_params)
        return super().set_params(**params)

    def _with_parameters(self, name: str, entry: Any, values: dict[str, Any]) -> Any:
        """Return the object that an entry of a list stands for."""
        if not isinstance(entry, str):
            return _with_kernel_objects(entry, values)
        return self._object_of(name.removesuffix("s"), entry, values)

    def _object_of(self, name: str, given: Any, parameters: dict[str, Any]) -> Any:
        """Return the object that a string stands for, with these parameters."""
        if isinstance(given, str) and name in _AXES and given not in _NO_OBJECT:
            kind, names, _ = _AXES[name]
            return from_name(given, names, kind, parameters=parameters)
        inner, value = next(iter(parameters.items()))
        reason = None
        if isinstance(given, str) or (given is None and name == "kernel"):
            reason = _NO_OBJECT.get(given)
        owner = _owner(name, inner, value)
        raise ValueError(
            f"{name}={given!r} has no parameters to set"
            + (f", {reason}" if reason else "")
            + f": got {name}__{inner}. "
            + (
                f"Set {name}={owner} instead."
                if owner
                else f"First set {name} to an object that has this parameter, such as "
                f"the {name}_ of a fitted estimator."
            )
        )


@cache
def _constructor(cls: type[BaseEstimator]) -> Signature:
    """Read the signature of a constructor once: searches make many estimators."""
    return signature(cls.__init__)


def _with_kernel_objects(component: Any, parameters: dict[str, Any]) -> Any:
    """Return a structure whose kernels have parameters, where some are to be set."""
    of_kernels = any(name.startswith("kernels__") for name in parameters)
    if not of_kernels or not isinstance(component, Structure):
        return component
    return component.with_kernels(
        lambda kernel: as_kernel(kernel) if isinstance(kernel, str) else kernel
    )


def _advice(estimator: type[BaseEstimator], unknown: str, value: Any) -> str:
    """Say where a parameter that the estimator does not have belongs."""
    for name in signature(estimator).parameters:
        owner = _owner(name, unknown, value)
        if owner:
            return f" It is a parameter of the {name}: pass {name}={owner}."
    return f" The parameters are {', '.join(estimator._get_param_names())}."


def _owner(name: str, inner: str, value: Any) -> str | None:
    """Write a component for the parameter ``name`` that has the parameter ``inner``."""
    if name not in _AXES:
        return None
    _, names, usual = _AXES[name]
    owners = [cls for cls in names.values() if inner in cls._get_param_names()]
    if not owners:
        return None
    cls = usual if usual in owners else owners[0]
    shown = repr(value) if isinstance(value, Real | str) else "..."
    return f"{cls.__name__}({inner}={shown})"
