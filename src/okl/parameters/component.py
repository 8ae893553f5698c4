"""What kernels, structures, losses and solvers have in common.

A *component* is a small object that holds parameters, never data. It handles parameters
as a scikit-learn estimator does (``get_params``, ``set_params``, ``clone``, ``repr``):
in an estimator that holds it they are tuned as ``kernel__gamma`` or
``structure__rank``.

A component may have a *name*, the string that stands for its default object
(``"rbf"`` for ``Gaussian()``). The folder of each axis builds its table of names from
the classes that its ``__init__.py`` exports: exporting a component is registering it.
A few have parameters without a default. Their names can be used where parameters are
given with them: on the command line, and in ``set_params(structure="cluster",
structure__n_clusters=3)``. A component may have *aliases*, further strings that can be
used for its name, and are not listed among the names.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from okl.parameters.names import NamedParameters

T = TypeVar("T", bound="Component")


class Component(NamedParameters):
    """Base of the components: parameters, and perhaps a name.

    Attributes
    ----------
    name : str or None
        The string that stands for the default object, None for a component made of
        matrices, functions or other components.
    aliases : tuple of str
        Other strings that stand for it.
    """

    name: ClassVar[str | None] = None
    aliases: ClassVar[tuple[str, ...]] = ()


class Names(Mapping[str, type[T]], Generic[T]):
    """The named components of one kind: from each name to its class, sorted by name.

    Looking up an alias finds the class as well, but only names are listed.
    """

    def __init__(self, classes: Iterable[type[T]]) -> None:
        named = {cls.name: cls for cls in classes if cls.name is not None}
        self._classes = dict(sorted(named.items()))

    def __getitem__(self, name: str) -> type[T]:
        if name in self._classes:
            return self._classes[name]
        for cls in self._classes.values():
            if name in cls.aliases:
                return cls
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self._classes)})"


def names_of(namespace: Mapping[str, Any], kind: type[T]) -> Names[T]:
    """Collect the named components of one kind that a namespace exports.

    Parameters
    ----------
    namespace : mapping
        Usually ``globals()`` of the folder's ``__init__.py``.
    kind : type
        The base class of the axis.

    Returns
    -------
    Names
    """
    return Names(
        value
        for value in namespace.values()
        if isinstance(value, type) and issubclass(value, kind)
    )


def have_same_parameters(one: Any, other: Any) -> bool:
    """Tell whether two components, or two of their parameters, are equal."""
    if one is other:
        return True
    if isinstance(one, Component):
        return type(one) is type(other) and have_same_parameters(
            list(one.get_params(deep=False).values()),
            list(other.get_params(deep=False).values()),
        )
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(have_same_parameters, one, other))
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other)


@cache
def required_parameters(cls: type[Component]) -> tuple[str, ...]:
    """Return the parameters of a component that have no default.

    The result is cached: each fit needs it, and reading a signature is slow.
    """
    parameters = inspect.signature(cls).parameters.values()
    return tuple(p.name for p in parameters if p.default is inspect.Parameter.empty)


def from_name(
    spec: str | T,
    table: Mapping[str, type[T]],
    kind: type[T],
    *,
    also: Iterable[str] = (),
    parameters: Mapping[str, Any] | None = None,
) -> T:
    """Turn a name into its object; pass an object through.

    Parameters
    ----------
    spec : str or component
        What the user gave.
    table : mapping
        The names of the axis, from `names_of`.
    kind : type
        The base class of the axis; its name in lower case goes into messages.
    also : iterable of str
        Strings that name no component, but that messages list as well.
    parameters : mapping, optional
        The values of parameters that differ from the defaults, nested ones included
        (``left__gamma``), if ``spec`` is a name; None for the default object.

    Raises
    ------
    ValueError
        For an unknown name (the message lists the known ones), for a parameter without
        a default that is not given, or for an unknown parameter.
    TypeError
        For anything else that is not a component of this kind.
    """
    noun = kind.__name__.lower()
    known = ", ".join(map(repr, (*table, *also)))
    if isinstance(spec, kind):
        return spec
    if not isinstance(spec, str):
        raise TypeError(
            f"The {noun} must be a name ({known}) or an object of "
            f"okl.{noun_folder(noun)}, got {spec!r}"
            + (f"; did you mean {spec.__name__}()?" if isinstance(spec, type) else ".")
        )
    if spec not in table:
        raise ValueError(
            f"Unknown {noun} {spec!r}. Known names: {known}. Choose one of them or "
            f"pass an object of okl.{noun_folder(noun)}."
        )
    cls, given = table[spec], parameters or {}
    required = required_parameters(cls)  # type: ignore[arg-type]
    missing = [name for name in required if name not in given]
    if missing:
        raise ValueError(
            f"The {noun} {spec!r} has no default for {', '.join(missing)}: "
            f"pass {cls.__name__}({missing[0]}=...)."
        )
    component = cls(**{name: given[name] for name in required})
    return component.set_params(**given)


def noun_folder(noun: str) -> str:
    """Return the folder of an axis: that of ``"loss"`` is ``losses``."""
    return noun + ("es" if noun.endswith("s") else "s")
