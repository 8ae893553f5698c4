"""What a tree can be made of: parents, edges, a graph, paths."""

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
            The names of the nodes, all text or all integers, none twice; None for
            their numbers.
        classes : array-like, optional
            The names of the leaves, to be checked: an inner node without a leaf below
            it looks like a leaf.
        separator : str, default="/"
            What full paths are joined by.

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
            From child to parent; the root may be there with the parent None.
        classes, separator
            As in `from_parents`.

        Raises
        ------
        ValueError
            As `from_parents`; a parent without a parent is a root.
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
            As `from_parents`, and for a node with two parents.
        """
        edges = edges_of(graph)
        return cls.from_dict(edges, classes=classes, separator=separator)

    @classmethod
    def from_paths(cls, paths: Any, separator: str = "/") -> Self:
        """Make a tree of the paths to its nodes.

        Parameters
        ----------
        paths : list of str, or table
            The full path of each leaf, such as ``"animal/dog/poodle"``; some may be
            there many times, such as labels. Or a row of names for each, as a list
            of lists, an array or a DataFrame with a column for each level: missing
            values at the end of a row say that its path is shorter. The path of an
            inner node may be there too. The root is above all paths, and not on them.
        separator : str, default="/"
            What is between the names.

        Raises
        ------
        ValueError
            If a path has an empty name; the message has the path.
        """
        nodes, parents = nodes_of(parts_of_paths(paths, separator), separator)
        return cls(parents, nodes, separator=separator, by_path=True)
