"""Lists of components as parameters, whose entries have names in ``set_params``.

scikit-learn finds parameters in components, but not in lists of components. Here the
entries of ``kernel=[k1, k2]`` are the parameters ``kernel__0`` and ``kernel__1``, and
their own parameters ``kernel__0__gamma`` and so on. Entries of a mapping are named by
its keys.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

from okl.parameters.names import NamedParameters


class ListedParameters(NamedParameters):
    """Base of classes with parameters that may be lists, or mappings, of components.

    Attributes
    ----------
    listed : tuple of str
        The names of these parameters.
    """

    listed: ClassVar[tuple[str, ...]] = ()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; if deep, also ``kernel__0``, ``kernel__0__gamma``.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return the parameters of components, also of those in lists.
        """
        params = super().get_params(deep=deep)
        if deep:
            for name in self.listed:
                if isinstance(params.get(name), list | tuple | Mapping):
                    params |= _of_entries(name, params[name])
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those in a list, such as ``kernel__0__gamma``.

        Parameters
        ----------
        **params : dict
            The parameters. A list is replaced by a new one, not changed in place.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For unknown parameters, or entries that a list or mapping does not have.
        """
        own = self.get_params(deep=False)
        further: list[tuple[Any, dict[str, Any]]] = []
        for name in self.listed:
            entries = params.get(name, own.get(name))
            keys = [key for key in params if key.startswith(f"{name}__")]
            if not keys or not isinstance(entries, list | tuple | Mapping):
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
        """Return the list with new entries, and the parameters to set in entries."""
        changed = _by_key(entries)
        names = {str(key): key for key in changed}
        of_entries: dict[Any, dict[str, Any]] = defaultdict(dict)
        for parameter, value in changes.items():
            rest = parameter.removeprefix(f"{name}__")
            # the longest that fits is taken: names of nodes may have underscores
            found = [n for n in names if rest == n or rest.startswith(f"{n}__")]
            if not found:
                raise ValueError(
                    f"Invalid parameter {parameter!r} for {type(self).__name__}: "
                    + _description(name, entries)
                )
            entry = max(found, key=len)
            if rest == entry:
                changed[names[entry]] = value
            else:
                inner = rest.removeprefix(f"{entry}__")
                of_entries[names[entry]][inner] = value
        further = []
        for key, values in of_entries.items():
            changed[key] = self._with_parameters(name, changed[key], values)
            known = changed[key].get_params() if _is_component(changed[key]) else {}
            unknown = [inner for inner in values if inner not in known]
            if unknown:
                raise ValueError(
                    f"Invalid parameter '{name}__{key}__{unknown[0]}' for "
                    f"{type(self).__name__}: {changed[key]!r} has the parameters "
                    f"{sorted(known)}."
                )
            further.append((changed[key], values))
        if isinstance(entries, Mapping):
            return changed, further
        return type(entries)(changed.values()), further

    def _with_parameters(self, name: str, entry: Any, values: dict[str, Any]) -> Any:
        """Return the component whose parameters are set for an entry of a list."""
        return entry


def _of_entries(name: str, entries: Any) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a list, and their parameters, with their names."""
    for key, entry in _by_key(entries).items():
        yield f"{name}__{key}", entry
        if _is_component(entry):
            for inner, value in entry.get_params().items():
                yield f"{name}__{key}__{inner}", value


def _by_key(entries: Any) -> dict[Any, Any]:
    """Return the entries of a mapping by key, those of a list by number."""
    return dict(entries) if isinstance(entries, Mapping) else dict(enumerate(entries))


def _description(name: str, entries: Any) -> str:
    """Say how entries are named."""
    if isinstance(entries, Mapping):
        return (
            f"{name} is a mapping from {', '.join(map(repr, entries)) or 'nothing'}, "
            f"whose parameters are set as {name}__KEY__NAME=value."
        )
    return (
        f"{name} is a list of {len(entries)}. Its entries are numbered from 0, and "
        f"their parameters are set as {name}__0__NAME=value."
    )


def _is_component(entry: Any) -> bool:
    return hasattr(entry, "get_params") and not isinstance(entry, type)
