"""Checks that parents make a tree, with errors that name the node in question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from okl.trees.names import listed
from okl.trees.reading import plain


def check_nodes(
    parents: np.ndarray, names: Sequence[Any], classes: Any, *, unique: bool
) -> None:
    """Raise unless nodes have one root, valid names, and the classes as leaves.

    Parameters
    ----------
    parents : array of int (n_nodes,)
        -1 for the root.
    names : sequence (n_nodes,)
        The own name of each node.
    classes : array-like or None
        The expected leaves; None for any.
    unique : bool
        Whether names must be unique.
    """
    if len(names) == 0:
        raise ValueError("The tree has no nodes; give at least a root and its leaves.")
    _check_names(names, unique=unique)
    _check_one_root(parents, names)
    if len(names) == 1:
        raise ValueError(f"The tree is its root {names[0]!r} alone; it needs leaves.")
    if classes is not None:
        childless = np.bincount(parents[parents >= 0], minlength=len(names)) == 0
        _check_leaves(names, childless, [plain(name) for name in classes])


def _check_one_root(parents: np.ndarray, names: Sequence[Any]) -> None:
    """Raise ValueError unless one node has no parent (-1)."""
    roots = np.flatnonzero(parents < 0).tolist()
    if len(roots) == 0:
        raise ValueError(
            "The tree has no root: every node has a parent, and so "
            f"{_on_cycle(parents, names)}. Give one node no parent."
        )
    if len(roots) > 1:
        raise ValueError(
            f"A tree has one root, but {len(roots)} nodes have no parent: "
            f"{listed([names[i] for i in roots])}. Give all but one of them a parent, "
            "or join them under a new root."
        )


def breadth_first(
    parents: np.ndarray, names: Sequence[Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Return a numbering level by level, with the children of each node in order.

    Returns
    -------
    parents : array of int (n_nodes,)
        The parent of each node by the new numbers; they never decrease.
    order : array of int (n_nodes,)
        The nodes in their new order.

    Raises
    ------
    ValueError
        If nodes do not hang from the root, because they are on a cycle or below one.
    """
    children = np.argsort(parents, kind="stable")
    first = np.searchsorted(parents[children], np.arange(len(parents) + 1))
    order, above = [int(children[0])], [-1]
    for number, node in enumerate(order):  # the list grows meanwhile
        found = children[first[node] : first[node + 1]].tolist()
        order += found
        above += [number] * len(found)
    if len(order) < len(parents):
        rest = np.setdiff1d(np.arange(len(parents)), order)
        raise ValueError(
            f"The tree has a cycle, {_on_cycle(parents, names, rest[0])}: {len(rest)} "
            f"of its {len(parents)} nodes do not hang from the root."
        )
    return np.array(above), np.array(order)


def _check_leaves(names: Sequence[Any], childless: np.ndarray, classes: Any) -> None:
    """Raise ValueError unless the nodes without children are exactly the classes."""
    given, position = set(classes), {name: i for i, name in enumerate(names)}
    unknown = [name for name in classes if name not in position]
    if unknown:
        raise ValueError(f"The class {unknown[0]!r} is not a node of the tree.")
    inner = [name for name in classes if not childless[position[name]]]
    if inner:
        raise ValueError(
            f"The class {inner[0]!r} has children in the tree; classes are its leaves."
        )
    empty = [
        names[i] for i in np.flatnonzero(childless).tolist() if names[i] not in given
    ]
    if empty:
        raise ValueError(
            f"The inner node {empty[0]!r} has no leaf below it"
            + (f", as {len(empty) - 1} more" if len(empty) > 1 else "")
            + "; drop it, or list it among the classes."
        )


def _check_names(names: Sequence[Any], *, unique: bool) -> None:
    """Raise unless the names are all text or all integers and, if asked, unique."""
    kinds = {type(name) for name in names}
    if kinds not in ({str}, {int}):
        raise TypeError(
            "The names of nodes must be all text or all integers, to be sorted; got "
            f"{listed(sorted(kind.__name__ for kind in kinds))}."
        )
    seen: set[Any] = set()
    for name in names if unique else ():
        if name in seen:
            raise ValueError(f"The node {name!r} is there twice; names are unique.")
        seen.add(name)


def _on_cycle(parents: np.ndarray, names: Sequence[Any], start: int = 0) -> str:
    """Return a sentence about a cycle above a node that does not hang from a root."""
    above = int(start)
    for _ in range(len(parents)):  # after so many steps it is on the cycle
        above = int(parents[above])
    cycle = [above]
    while parents[cycle[-1]] != above:
        cycle.append(int(parents[cycle[-1]]))
    path = [repr(names[i]) for i in (*cycle[:4], *([above] if len(cycle) < 5 else []))]
    return f"{' is below '.join(path)}{'' if len(cycle) < 5 else ' is below ...'}"
