"""From the forms of a tree that users have (paths, tables, edges) to its parents."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from okl.numerics.missing import is_missing


def plain(name: Any) -> Any:
    """Return a name as Python text or integer if it is NumPy's."""
    return name.item() if isinstance(name, np.generic) else name


def numbered(parents: Any, names: Any) -> tuple[list[Any], np.ndarray]:
    """Return the names of nodes, their numbers by default, and their parents.

    Raises
    ------
    TypeError
        If parents are no integers.
    ValueError
        If there is not a name for each node, or a parent is no node.
    """
    parents = np.asarray(parents)
    if parents.ndim != 1 or not np.issubdtype(parents.dtype, np.integer):
        raise TypeError(
            "parents must be one integer for each node, -1 for the root; got an array "
            f"of shape {parents.shape} and type {parents.dtype}."
        )
    nodes = [plain(n) for n in (range(len(parents)) if names is None else names)]
    if len(nodes) != len(parents):
        raise ValueError(
            f"There must be a name for each of the {len(parents)} nodes; got "
            f"{len(nodes)}."
        )
    wrong = np.flatnonzero((parents < -1) | (parents >= len(parents)))
    if len(wrong):
        raise ValueError(
            f"The node {nodes[wrong[0]]!r} is an orphan: its parent is "
            f"{parents[wrong[0]]}, and nodes are numbered from 0 to {len(parents) - 1} "
            "(-1: the root)."
        )
    return nodes, parents


def edges_of(graph: Any) -> dict[Any, Any]:
    """Return the parent of each node of a networkx.DiGraph, None for a root.

    Raises
    ------
    TypeError
        If ``graph`` is no graph.
    ValueError
        If edges have no direction, or a node has two parents.
    """
    if not hasattr(graph, "is_directed"):
        raise TypeError(f"graph must be a networkx.DiGraph, got {graph!r}.")
    if not graph.is_directed():
        raise ValueError(
            "The graph has no directions; pass a networkx.DiGraph with edges from "
            "parent to child."
        )
    edges: dict[Any, Any] = dict.fromkeys(graph.nodes)
    for parent, child in graph.edges():
        if edges[child] is not None:
            raise ValueError(
                f"The node {child!r} has two parents, {edges[child]!r} and "
                f"{parent!r}; in a tree it has one."
            )
        edges[child] = parent
    return edges


def nodes_of(
    paths: Iterable[tuple[str, ...]], root: str
) -> tuple[list[str], np.ndarray]:
    """Return the own names of all nodes on some paths, and their parents."""
    number: dict[tuple[str, ...], int] = {(): 0}
    parents = [-1]
    for parts in dict.fromkeys(paths):
        for length in range(1, len(parts) + 1):
            if parts[:length] not in number:
                number[parts[:length]] = len(parents)
                parents.append(number[parts[: length - 1]])
    return [parts[-1] if parts else root for parts in number], np.array(parents)


def parents_of(edges: Mapping[Any, Any]) -> tuple[list[Any], np.ndarray]:
    """Return the nodes of a mapping from child to parent, and their parents.

    The root may be a key with parent None, or only appear as a parent.

    Raises
    ------
    TypeError
        If there is no mapping, or one from a parent to its children.
    ValueError
        If a child has no name.
    """
    _check_mapping(edges)
    pairs = {_or_none(child): _or_none(parent) for child, parent in edges.items()}
    if None in pairs:
        raise ValueError(
            f"A child of {pairs[None]!r} has no name (None or NaN); give each node "
            "one. Only the parent of the root may be missing."
        )
    nodes = list(
        dict.fromkeys(
            name
            for child, parent in pairs.items()
            for name in (child, parent)
            if name is not None
        )
    )
    number = {name: i for i, name in enumerate(nodes)}
    parents = np.full(len(nodes), -1)
    for child, parent in pairs.items():
        if parent is not None:
            parents[number[child]] = number[parent]
    return nodes, parents


def _check_mapping(edges: Any) -> None:
    """Raise TypeError unless edges map names to names."""
    expected = 'a mapping from child to parent, such as {"dog": "animal"}'
    if not hasattr(edges, "items"):
        raise TypeError(
            f"edges must be {expected}; got {edges!r}, of type {type(edges).__name__}."
        )
    for key, value in edges.items():
        if not isinstance(value, Hashable) or isinstance(value, tuple):
            raise TypeError(
                f"edges must be {expected}; got {value!r}, of type "
                f"{type(value).__name__}, for {key!r}. If these are the children of "
                f"{key!r}, turn the mapping around: {{child: parent for parent, "
                "children in edges.items() for child in children}."
            )


def _or_none(parent: Any) -> Any:
    """Return a name; None for None, NaN and the missing values of pandas.

    A whole float becomes an integer: pandas has floats in columns with missing values.
    """
    name = plain(parent)
    if is_missing(name):
        return None
    whole = isinstance(name, float) and name.is_integer()
    return int(name) if whole else name


def parts_of_paths(paths: Any, separator: str) -> list[tuple[str, ...]]:
    """Return each path as the names along it, the root left out.

    Raises
    ------
    TypeError
        If a path is no text.
    ValueError
        If a name on a path is empty, or missing before another name.
    """
    if isinstance(paths, str):
        raise TypeError(
            f"paths must be a list of paths or a table, got one text, {paths!r}; pass "
            "[path]."
        )
    if not separator or not isinstance(separator, str):
        raise ValueError(
            f"separator must be text that is not empty, got {separator!r}."
        )
    rows = _rows(paths)
    found = []
    for i, row in enumerate(rows):
        if isinstance(row, str):
            names = row.split(separator)
            if "" in names:
                raise ValueError(
                    f"The path {row!r} has an empty name: a path is made of names "
                    f"with one {separator!r} between any two, and none around them."
                )
        else:
            names = _names_of_row(row, i, separator)
        found.append(tuple(names))
    return found


def _rows(paths: Any) -> Iterable[Any]:
    """Return the list of paths: texts, or rows of a table."""
    if hasattr(paths, "to_numpy"):
        paths = paths.to_numpy(dtype=object)
    if isinstance(paths, np.ndarray):
        if paths.ndim not in (1, 2):
            raise ValueError(
                "paths must be a list of texts, or a table with a row for each path; "
                f"got an array of shape {paths.shape}."
            )
        return list(paths.tolist())
    return list(paths)


def _names_of_row(row: Any, number: int, separator: str) -> list[str]:
    """Return the names in one row of a table, of which the last ones may be missing."""
    if not isinstance(row, list | tuple | np.ndarray):
        raise TypeError(
            f"A path is a text or a row of texts; path {number} is {row!r}, of type "
            f"{type(row).__name__}."
        )
    there = [_or_none(name) not in (None, "") for name in row]
    length = sum(there)
    if not all(there[:length]) or length == 0:
        raise ValueError(
            f"Row {number} of the table, {list(row)!r}, has no name at level "
            f"{there.index(False) + 1 if there else 1}; only the last levels may be "
            "missing."
        )
    names = [str(_or_none(name)) for name in row[:length]]
    for name in names:
        if separator in names or separator in name:
            raise ValueError(
                f"The name {name!r} in row {number} of the table contains the "
                f"separator {separator!r}; give another separator."
            )
    return names
