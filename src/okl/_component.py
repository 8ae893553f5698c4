"""What kernels, structures, losses and solvers have in common.

A *component* is a small object that holds parameters, never data. It is a
scikit-learn estimator as far as parameters go (``get_params``, ``set_params``,
``clone``, ``repr``), so a component nested in an estimator is tuned as
``kernel__gamma`` or ``structure__rank``.

A component may have a *name*, the string that stands for its default object
(``"rbf"`` for ``Gaussian()``). The folder of each axis builds its table of names from
the classes that its ``__init__.py`` exports: exporting a component is registering it.
A few have parameters without a default; their names are for the command line, where
parameters are set besides.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from sklearn.base import BaseEstimator

T = TypeVar("T", bound="Component")


class Component(BaseEstimator):
    """A nameable bundle of parameters.

    Attributes
    ----------
    name : str or None
        The string that stands for the default object, None for a component made of
        matrices, functions or other components.
    """

    name: ClassVar[str | None] = None


def names_of(namespace: Mapping[str, Any], kind: type[T]) -> dict[str, type[T]]:
    """Collect the named components of one kind that a namespace exports.

    Parameters
    ----------
    namespace : mapping
        Usually ``globals()`` of the folder's ``__init__.py``.
    kind : type
        The base class of the axis.

    Returns
    -------
    dict of str to type
        From each name to its class, sorted by name.
    """
    named = {
        value.name: value
        for value in namespace.values()
        if isinstance(value, type) and issubclass(value, kind) and value.name
    }
    return dict(sorted(named.items()))


def required_parameters(cls: type[Component]) -> list[str]:
    """Return the parameters of a component that have no default."""
    parameters = inspect.signature(cls).parameters.values()
    return [p.name for p in parameters if p.default is inspect.Parameter.empty]


def from_name(spec: str | T, table: Mapping[str, type[T]], kind: type[T]) -> T:
    """Turn a name into its default object; pass an object through.

    Parameters
    ----------
    spec : str or component
        What the user gave.
    table : mapping
        The names of the axis, from `names_of`.
    kind : type
        The base class of the axis; its name in lower case goes into messages.

    Raises
    ------
    ValueError
        For an unknown name, the message lists the known ones; or for the name of a
        component that has parameters without a default.
    TypeError
        For anything else that is not a component of this kind.
    """
    noun = kind.__name__.lower()
    if isinstance(spec, kind):
        return spec
    if isinstance(spec, str):
        if spec in table:
            cls = table[spec]
            required = required_parameters(cls)
            if required:
                raise ValueError(
                    f"The {noun} {spec!r} has no default for {', '.join(required)}: "
                    f"pass {cls.__name__}({required[0]}=...)."
                )
            return cls()
        raise ValueError(
            f"Unknown {noun} {spec!r}. Known names: {', '.join(map(repr, table))}. "
            f"Choose one of them or pass an object of okl.{noun_folder(noun)}."
        )
    raise TypeError(
        f"The {noun} must be a name ({', '.join(map(repr, table))}) or an object of "
        f"okl.{noun_folder(noun)}, got {spec!r}"
        + (f"; did you mean {spec.__name__}()?" if isinstance(spec, type) else ".")
    )


def noun_folder(noun: str) -> str:
    """Return the folder of an axis: ``"loss"`` lives in ``losses``."""
    return noun + ("es" if noun.endswith("s") else "s")
