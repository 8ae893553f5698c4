"""Which node of a tree has which kernel.

Kernels are given for some nodes, or levels. A node has the kernel that is given for it,
else that of its parent: a kernel holds for the whole subtree below a node, except where
another is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Number
from typing import Any, NamedTuple

import numpy as np

from okl.parameters.component import have_same_parameters
from okl.trees import ClassTree


class NodeKernels(NamedTuple):
    """The kernels of the nodes of a tree.

    Attributes
    ----------
    kernels : list
        Each once, as given; the first is None, for the kernel of the estimator.
    keys : list
        The node or level for which each was first given; None for the first.
    of_nodes : array of int (n_nodes,)
        The number of the kernel of each node.
    """

    kernels: list[Any]
    keys: list[Any]
    of_nodes: np.ndarray

    @classmethod
    def of(cls, tree: ClassTree, given: Any, *, apart: bool = False) -> NodeKernels:
        """Return the kernels of all nodes, given ``{node or level: kernel}`` or None.

        Equal kernels become one, unless ``apart``.

        Raises
        ------
        ValueError
            For a node or a level that the tree does not have, or a node named twice.
        TypeError
            If ``given`` is not a mapping, or a key can name no node.
        """
        if given is not None and not isinstance(given, Mapping):
            raise TypeError(
                "kernels of Tree must be a mapping from nodes or levels to kernels, "
                f"such as {{1: 'linear'}}; got {given!r}."
            )
        given = given or {}
        keys = _keys_of_nodes(tree, given)
        kernels: list[Any] = [None]
        listed: list[Any] = [None]
        number_of: dict[Any, int] = {}
        for key, kernel in given.items():
            others = kernels[:1] if apart else kernels
            same = (have_same_parameters(one, kernel) for one in others)
            number = next((i for i, it_is in enumerate(same) if it_is), len(kernels))
            if number == len(kernels):
                kernels.append(kernel)
                listed.append(key)
            number_of[key] = number
        of_nodes = np.zeros(tree.n_nodes, dtype=np.intp)
        for node, parent in enumerate(tree.parents.tolist()):
            inherited = of_nodes[parent] if node else 0
            of_nodes[node] = number_of[keys[node]] if node in keys else inherited
        return cls(kernels, listed, of_nodes)


def _keys_of_nodes(tree: ClassTree, given: Mapping[Any, Any]) -> dict[int, Any]:
    """Return the key that holds for each node that is named, itself or by its level.

    The name of a node takes precedence over its level.
    """
    numbers_are_names = any(isinstance(own, Integral) for own in tree.node_names.own)
    by_level: dict[int, Any] = {}
    by_name: dict[int, Any] = {}
    for key in given:
        if isinstance(key, bool) or not isinstance(key, str | Number):
            raise TypeError(
                "The keys of kernels of Tree must be names of nodes or levels; got "
                f"{key!r}."
            )
        if isinstance(key, Integral) and not numbers_are_names:
            by_level |= dict.fromkeys(_nodes_of_level(tree, key), key)
            continue
        try:
            node = int(tree.node_numbers([key])[0])
        except ValueError as error:
            raise ValueError(
                f"kernels of Tree names the node {key!r}. {error}"
            ) from None
        if node in by_name:
            raise ValueError(
                f"kernels of Tree names one node as {by_name[node]!r} and as {key!r}; "
                "leave one of them out."
            )
        by_name[node] = key
    return by_level | by_name


def _nodes_of_level(tree: ClassTree, level: Any) -> list[int]:
    """Return the nodes of one depth."""
    if not 0 <= level <= tree.depth:
        raise ValueError(
            f"kernels of Tree names the level {level}; the levels of this tree are 0 "
            f"(the root) to {tree.depth}."
        )
    found: list[int] = np.flatnonzero(tree.depths == level).tolist()
    return found
