"""A tree whose leaves are the classes.

Many classes with few examples each are hard to tell apart; it is easier where related
classes share what they have in common. A tree says which classes are related: the
leaves are the classes, and an inner node stands for what its descendants have in
common. The tree here translates names, from a label to its class, and computes sums
over the leaves below each node and along the path to each leaf.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from numbers import Integral
from typing import Any, Self

import numpy as np

from okl.numerics.arrays import Array
from okl.trees.checks import breadth_first, check_nodes
from okl.trees.drawing import drawn
from okl.trees.levels import Levels
from okl.trees.names import NodeNames, listed
from okl.trees.reading import plain
from okl.trees.sources import TreeSources


class ClassTree(TreeSources):
    """A rooted tree; its leaves are the classes.

    Made by `from_paths`, `from_dict`, `from_parents` or `from_networkx`. Every node has
    a full path, the names from below the root down to its own, joined by a separator;
    it can be called by its full path everywhere, and by its own name if no other node
    has that name. The tree itself uses full paths if it was made by `from_paths`, and
    else own names, which are then unique. The path of the root is the separator alone
    after `from_paths`, else the name of the root.

    Nodes are numbered level by level from the root, 0, siblings sorted by name.

    Attributes
    ----------
    classes_ : array (n_classes,)
        The names of all leaves, sorted.
    names : array (n_nodes,)
        The names of all nodes.
    node_names : NodeNames
        The own names and full paths of all nodes.
    parents : array of int (n_nodes,)
        The parent of each node, -1 for the root.
    leaves : array of int (n_classes,)
        The node of each class.
    depths : array of int (n_nodes,)
        The number of edges from the root to each node.
    n_nodes, n_classes, depth : int
        The number of all nodes, root and leaves included; the number of leaves; the
        largest depth.
    levels : Levels
        The tree as numbers.

    References
    ----------
    Seeger (2006), Cross-validation optimization for structured Hessian kernel methods,
    section 4.

    Examples
    --------
    >>> from okl import ClassTree
    >>> tree = ClassTree.from_paths(["animal/dog", "animal/cat", "plant"])
    >>> tree.classes_.tolist()
    ['animal/cat', 'animal/dog', 'plant']
    >>> tree.nodes(1).tolist()
    ['animal', 'plant']
    >>> tree.class_numbers(["dog", "plant"]).tolist()
    [1, 2]
    >>> print(tree.to_text())
    /
    |-- animal
    |   |-- cat
    |   `-- dog
    `-- plant
    """

    def __init__(
        self,
        parents: np.ndarray,
        names: Sequence[Any],
        *,
        classes: Any = None,
        separator: str = "/",
        by_path: bool = False,
    ) -> None:
        # nodes may be in any order; users call the methods of `TreeSources`
        check_nodes(parents, names, classes, unique=not by_path)
        by_name = np.argsort(np.array(names), kind="stable")
        renumbered = np.append(np.argsort(by_name), -1)
        own = [names[i] for i in by_name]
        parents, order = breadth_first(renumbered[parents[by_name]], own)
        own = [own[i] for i in order]
        childless = np.bincount(parents[1:], minlength=len(own)) == 0
        self.separator = separator
        self.node_names = NodeNames.of(parents, own, separator, by_path=by_path)
        self.names = self.node_names.used
        leaves = np.flatnonzero(childless)
        leaves = leaves[np.argsort(self.names[leaves])]
        self.levels = Levels(parents, leaves)
        self.parents, self.leaves = parents, leaves
        self.classes_ = self.names[leaves]
        self.depths = self.levels.depths
        self.depth = int(self.depths[-1])
        self.n_nodes, self.n_classes = len(parents), len(leaves)

    def __repr__(self) -> str:
        """Return the numbers of classes and nodes, and the depth."""
        return (
            f"ClassTree({self.n_classes} classes, {self.n_nodes} nodes, "
            f"depth {self.depth})"
        )

    def nodes(self, level: int) -> np.ndarray:
        """Return the names of the nodes of a level, sorted.

        Parameters
        ----------
        level : int
            1 for the children of the root, `depth` for all leaves. Leaves above the
            level belong to it, so that every leaf is below one of its nodes.

        Raises
        ------
        ValueError
            If the tree has no such level.
        """
        return self.names[self.level_numbers(level)]

    def level_numbers(self, level: int) -> np.ndarray:
        """Return the numbers of the nodes of a level, in the order of `nodes`."""
        if not isinstance(level, Integral) or not 0 <= level <= self.depth:
            raise ValueError(
                f"The levels of this tree are 0 (the root) to {self.depth}; got "
                f"{level!r}."
            )
        is_leaf = np.isin(np.arange(self.n_nodes), self.leaves)
        there = (self.depths == level) | (is_leaf & (self.depths < level))
        numbers = np.flatnonzero(there)
        return numbers[np.argsort(self.names[numbers])]

    def node_numbers(self, labels: Any) -> np.ndarray:
        """Return the number of the node that each label (n,) stands for.

        Raises
        ------
        ValueError
            For a label that is not in the tree, or the own name of several nodes.
        """
        return self.node_names.numbers(labels)

    def class_numbers(self, labels: Any) -> np.ndarray:
        """Return the position in `classes_` of the class of each label (n,).

        Raises
        ------
        ValueError
            For a label that is not in the tree, stands for several nodes, or for an
            inner node.
        """
        columns = np.full(self.n_nodes, -1)
        columns[self.leaves] = np.arange(self.n_classes)
        nodes = self.node_numbers(labels)
        found = columns[nodes]
        if np.any(found < 0):
            inner = self.names[np.ravel(nodes)[np.argmin(found)]]
            raise ValueError(
                f"The label {plain(inner)!r} is an inner node of the tree; the classes "
                "are its leaves."
            )
        return found

    def called_as(self, labels: Any) -> Self:
        """Return this tree with classes named, and sorted, in the way of labels (n,).

        That is by own names or by full paths. The tree is unchanged if labels are of
        both kinds, or are own names where those of the leaves are not unique.
        """
        given = set(np.asarray(labels).tolist())
        for names in (self.classes_, *self.node_names.both(self.leaves)):
            distinct = np.unique(names)
            if len(distinct) == self.n_classes and given <= set(distinct.tolist()):
                return self if names is self.classes_ else self.ordered_as(distinct)
        return self

    def ordered_as(self, labels: Any) -> Self:
        """Return this tree with these labels as `classes_`, in their order.

        Parameters
        ----------
        labels : array (n_classes,)
            Each class once, by full path or own name.

        Raises
        ------
        ValueError
            If a label is no class, or a class is missing.
        """
        labels = np.asarray(labels)
        numbers = self.class_numbers(labels)
        missing = np.setdiff1d(np.arange(self.n_classes), numbers)
        if len(missing) or len(numbers) != self.n_classes:
            raise ValueError(
                f"There must be one output for each of the {self.n_classes} leaves of "
                f"the tree; got {len(labels)}, and none for "
                f"{listed(self.classes_[missing]) or 'no other'}."
            )
        tree = copy(self)
        tree.leaves, tree.classes_ = self.leaves[numbers], labels
        tree.levels = Levels(self.parents, tree.leaves)
        return tree

    def below(self, rows: Array) -> Array:
        """Return the sums over the leaves below each node, ``rows Phi_L``.

        Parameters
        ----------
        rows : array (n, n_classes)
            For example probabilities of the classes, whose sums are those of the nodes.

        Returns
        -------
        array (n, n_nodes)
        """
        return self.levels.below(rows)

    def along(self, values: Array) -> Array:
        """Return the sums along the path to each leaf, ``values Phi_L'``.

        Parameters
        ----------
        values : array (n, n_nodes)

        Returns
        -------
        array (n, n_classes)
        """
        return self.levels.along(values)

    def to_networkx(self) -> Any:
        """Return a networkx.DiGraph with edges from parent to child."""
        import networkx

        names = self.names.tolist()
        graph = networkx.DiGraph()
        graph.add_nodes_from(names)
        parents = self.parents.tolist()
        graph.add_edges_from((names[p], names[i]) for i, p in enumerate(parents) if i)
        return graph

    def to_text(self, notes: Sequence[str] | None = None) -> str:
        """Return a drawing of the tree, a line for each node.

        Parameters
        ----------
        notes : sequence of str (n_nodes,), optional
            Text after the own name of each node, in the order of `names`.

        Raises
        ------
        ValueError
            If there is not one note for each node.
        """
        texts = [str(name) for name in self.node_names.own]
        if notes is not None:
            if len(notes) != self.n_nodes:
                raise ValueError(
                    f"There must be a note for each of the {self.n_nodes} nodes, in "
                    f"the order of names; got {len(notes)}."
                )
            texts = [f"{text} {note}" for text, note in zip(texts, notes, strict=True)]
        return drawn(self.parents, texts)


def check_class_tree(value: Any, name: str = "class_tree") -> ClassTree:
    """Return a value that is a tree, else raise TypeError with the argument's name."""
    if not isinstance(value, ClassTree):
        raise TypeError(
            f"{name} must be an okl.ClassTree, such as "
            f"ClassTree.from_paths(paths); got {value!r}."
        )
    return value
