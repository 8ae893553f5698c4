"""Lists of components as parameters: what is in them has names, too.

scikit-learn looks into components but not into lists of them. Here the entries of
``kernel=[k1, k2]`` are the parameters ``kernel__0`` and ``kernel__1``, and theirs are
``kernel__0__gamma`` and so on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator


class ListedParameters(BaseEstimator):
    """Base of what has parameters that are, or may be, lists of components.

    Attributes
    ----------
    listed : tuple of str
        These parameters.
    """

    listed: ClassVar[tuple[str, ...]] = ()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; if deep, also ``kernel__0``, ``kernel__0__gamma``.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return those of components, and of components in lists, too.
        """
        params = super().get_params(deep=deep)
        if deep:
            for name in self.listed:
                if isinstance(params.get(name), list | tuple):
                    params |= _of_entries(name, params[name])
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those in a list, such as ``kernel__0__gamma``.

        Parameters
        ----------
        **params : dict
            The parameters. A list that was given is not written to.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For unknown parameters, or entries that a list does not have.
        """
        own = self.get_params(deep=False)
        further: list[tuple[Any, dict[str, Any]]] = []
        for name in self.listed:
            entries = params.get(name, own.get(name))
            keys = [key for key in params if key.startswith(f"{name}__")]
            if not keys or not isinstance(entries, list | tuple):
                continue
            changes = {key: params.pop(key) for key in keys}
            params[name], inner = self._changed(name, entries, changes)
            further += inner
        super().set_params(**params)
        for entry, values in further:
            entry.set_params(**values)
        return self

    def _changed(
        self, name: str, entries: Any, changes: dict[str, Any]
    ) -> tuple[Any, list[tuple[Any, dict[str, Any]]]]:
        """Return the list with new entries, and what is to be set of which entry."""
        changed = list(entries)
        of_entries: dict[int, dict[str, Any]] = defaultdict(dict)
        for key, value in changes.items():
            position, _, inner = key.removeprefix(f"{name}__").partition("__")
            if position not in map(str, range(len(changed))):
                raise ValueError(
                    f"Invalid parameter {key!r} for {type(self).__name__}: {name} is a "
                    f"list of {len(changed)}. Its entries are numbered from 0, and "
                    f"their parameters are set as {name}__0__NAME=value."
                )
            if inner:
                of_entries[int(position)][inner] = value
            else:
                changed[int(position)] = value
        further = []
        for i, values in of_entries.items():
            changed[i] = self._with_parameters(name, changed[i], values)
            known = changed[i].get_params() if _is_component(changed[i]) else {}
            unknown = [inner for inner in values if inner not in known]
            if unknown:
                raise ValueError(
                    f"Invalid parameter '{name}__{i}__{unknown[0]}' for "
                    f"{type(self).__name__}: {changed[i]!r} has the parameters "
                    f"{sorted(known)}."
                )
            further.append((changed[i], values))
        return type(entries)(changed), further

    def _with_parameters(self, name: str, entry: Any, values: dict[str, Any]) -> Any:
        """Return what has the parameters of an entry of a list."""
        return entry


def _of_entries(name: str, entries: Any) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a list, and their parameters, with their names."""
    for i, entry in enumerate(entries):
        yield f"{name}__{i}", entry
        if _is_component(entry):
            for inner, value in entry.get_params().items():
                yield f"{name}__{i}__{inner}", value


def _is_component(entry: Any) -> bool:
    return hasattr(entry, "get_params") and not isinstance(entry, type)
