"""The ways to make a tree: from parents, edges, a graph or paths."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

from okl.trees.reading import (
    edges_of,
    nodes_of,
    numbered,
    parents_of,
    parts_of_paths,
)


class TreeSources(ABC):
    """The ways to make a tree; each ends in the parents and names of its nodes."""

    @abstractmethod
    def __init__(
        self,
        parents: Any,
        names: Any,
        *,
        classes: Any = None,
        separator: str = "/",
        by_path: bool = False,
    ) -> None:
        """Make the tree of nodes in any order, after checks."""

    @classmethod
    def from_parents(
        cls,
        parents: Any,
        names: Any = None,
        *,
        classes: Any = None,
        separator: str = "/",
    ) -> Self:
        """Make a tree of the parent of each node.

        Parameters
        ----------
        parents : array-like of int (n_nodes,)
            The number of the parent of each node, from 0; -1 for the root.
        names : array-like (n_nodes,), optional
            The names of the nodes, all text or all integers, unique; None for their
            numbers.
        classes : array-like, optional
            The expected names of the leaves, for a check: an inner node without a leaf
            below it would be taken for a leaf.
        separator : str, default="/"
            The text between the names in full paths.

        Raises
        ------
        ValueError
            If there is no root or more than one, a cycle, a parent that is no node, a
            name twice, or the leaves are not the ``classes``. The message names the
            node.
        """
        nodes, numbers = numbered(parents, names)
        return cls(numbers, nodes, classes=classes, separator=separator)

    @classmethod
    def from_dict(
        cls, edges: Mapping[Any, Any], *, classes: Any = None, separator: str = "/"
    ) -> Self:
        """Make a tree of a mapping from each node to its parent.

        Parameters
        ----------
        edges : dict
            From child to parent; the root may be a key with the parent None.
        classes, separator
            As in `from_parents`.

        Raises
        ------
        ValueError
            As in `from_parents`; a node without a parent is a root.
        """
        nodes, parents = parents_of(edges)
        return cls(parents, nodes, classes=classes, separator=separator)

    @classmethod
    def from_networkx(
        cls, graph: Any, *, classes: Any = None, separator: str = "/"
    ) -> Self:
        """Make a tree of a directed graph with edges from parent to child.

        Parameters
        ----------
        graph : networkx.DiGraph
            Its nodes are the names.
        classes, separator
            As in `from_parents`.

        Raises
        ------
        ValueError
            As in `from_parents`, and for a node with two parents.
        """
        edges = edges_of(graph)
        return cls.from_dict(edges, classes=classes, separator=separator)

    @classmethod
    def from_paths(cls, paths: Any, separator: str = "/") -> Self:
        """Make a tree of the paths to its nodes.

        Parameters
        ----------
        paths : list of str, or table
            The full path of each leaf, such as ``"animal/dog/poodle"``; paths may occur
            more than once, as labels do. Or a row of names for each path, in a list of
            lists, an array or a DataFrame with a column for each level: a shorter path
            has missing values at the end of its row. Paths of inner nodes may be
            included. The root is above all paths, and not on them.
        separator : str, default="/"
            The text between the names.

        Raises
        ------
        ValueError
            If a path has an empty name; the message shows the path.
        """
        nodes, parents = nodes_of(parts_of_paths(paths, separator), separator)
        return cls(parents, nodes, separator=separator, by_path=True)
