"""Probabilities of the nodes of a tree, and answers that are nodes.

The probability of a node is the sum of those of the classes below it. Where no class is
probable enough to be the answer, a node above the likely classes may be.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from okl.decisions.checks import checked_probabilities
from okl.trees import ClassTree, check_class_tree


def node_probabilities(
    probabilities: Any,
    *,
    classes: Any,
    tree: ClassTree,
    level: int | None = None,
    nodes: Any = None,
) -> np.ndarray:
    """Return the probabilities of nodes: the sums over the classes below them.

    Parameters
    ----------
    probabilities : array (n_samples, n_classes)
        Class probabilities, as ``predict_proba`` of any classifier returns them.
    classes : array (n_classes,)
        In the order of the columns, all leaves of the tree or some.
    tree : ClassTree
    level : int, optional
        For the nodes ``tree.nodes(level)``, whose probabilities sum to 1.
    nodes : array (n,), optional
        For the nodes with these names. Without ``level`` and ``nodes``, for all nodes
        of the tree, in the order of ``tree.names``.

    Returns
    -------
    array (n_samples, n_nodes)

    Raises
    ------
    ValueError
        If shapes do not match, a class is no leaf, the tree has no such level or node,
        or both are given.

    Examples
    --------
    >>> from okl import ClassTree
    >>> from okl.decisions import node_probabilities
    >>> tree = ClassTree.from_paths(["animal/cat", "animal/dog", "plant"])
    >>> p = [[0.5, 0.25, 0.25]]
    >>> node_probabilities(p, classes=tree.classes_, tree=tree, level=1).tolist()
    [[0.75, 0.25]]
    """
    check_class_tree(tree, "tree")
    classes = np.asarray(classes)
    columns, numbers = columns_of(tree, classes), numbers_of(tree, level, nodes)
    checked = checked_probabilities(probabilities, len(classes))
    return sums_of_nodes(tree, checked, columns)[:, numbers]


def deepest_nodes(
    probabilities: Any, min_probability: float, *, classes: Any, tree: ClassTree
) -> np.ndarray:
    """Return the deepest node that is probable enough for each row of probabilities.

    Parameters
    ----------
    probabilities : array (n_samples, n_classes)
    min_probability : float
        In (0, 1]. Above 1/2 all nodes that are so probable lie on one path; else
        several of the deepest may be, and the most probable of these is the answer.
    classes : array (n_classes,)
        In the order of the columns, all leaves of the tree or some.
    tree : ClassTree

    Returns
    -------
    array (n_samples,)
        A class, by its name in ``classes``, if it is probable enough; else the name of
        an inner node, or of the root if no other node is.

    Raises
    ------
    ValueError
        If shapes do not match, a class is no leaf, or ``min_probability`` is out of
        range.

    Examples
    --------
    >>> from okl import ClassTree
    >>> from okl.decisions import deepest_nodes
    >>> tree = ClassTree.from_paths(["animal/cat", "animal/dog", "plant"])
    >>> p = [[0.5, 0.4, 0.1], [0.95, 0.03, 0.02], [0.4, 0.2, 0.4]]
    >>> deepest_nodes(p, 0.8, classes=tree.classes_, tree=tree).tolist()
    ['animal', 'animal/cat', '/']
    """
    check_class_tree(tree, "tree")
    check_min_probability(min_probability)
    classes = np.asarray(classes)
    probabilities = checked_probabilities(probabilities, len(classes))
    found = sums_of_nodes(tree, probabilities, columns_of(tree, classes))
    # by depth, then by probability, which is at most 1 up to rounding
    ranks = np.where(found >= min_probability, 2.0 * tree.depths + found, -1.0)
    ranks[:, 0] = 0  # the root always has the probability 1
    names = tree.names.astype(object)
    names[tree.node_numbers(classes)] = classes
    return np.array(names[np.argmax(ranks, axis=1)].tolist())


def check_min_probability(min_probability: Any) -> None:
    """Raise ValueError unless the number is above 0 and at most 1."""
    if not isinstance(min_probability, Real) or not 0 < float(min_probability) <= 1:
        raise ValueError(
            "min_probability must be a number above 0 and at most 1; got "
            f"{min_probability!r}."
        )


def numbers_of(tree: ClassTree, level: int | None, nodes: Any) -> Any:
    """Return an index of the nodes of a level, or of these names, among all."""
    if level is not None and nodes is not None:
        raise ValueError("Give level or nodes, not both: each says which nodes.")
    if level is not None:
        return tree.level_numbers(level)
    if nodes is None:
        return slice(None)
    names = np.atleast_1d(nodes)
    if names.ndim > 1:
        raise ValueError(
            "nodes must be the names of nodes, one after the other; got an array of "
            f"shape {names.shape}."
        )
    return tree.node_numbers(names)


def columns_of(tree: ClassTree, classes: np.ndarray) -> np.ndarray | None:
    """Return the number of the leaf of each class; None for all leaves, in order.

    Raises
    ------
    ValueError
        If two classes are the same leaf.
    """
    columns = tree.class_numbers(classes)
    names, counts = np.unique(columns, return_counts=True)
    if len(names) < len(columns):
        twice = np.flatnonzero(columns == names[counts > 1][0])
        raise ValueError(
            f"The classes {classes[twice].tolist()} are one leaf of the tree; each "
            "column of the probabilities has a class of its own."
        )
    every = np.arange(tree.n_classes)
    return None if np.array_equal(columns, every) else columns


def sums_of_nodes(
    tree: ClassTree, probabilities: np.ndarray, columns: np.ndarray | None
) -> np.ndarray:
    """Return the sums over the classes below each node.

    Parameters
    ----------
    tree : ClassTree
    probabilities : array (n_samples, n_classes)
    columns : array of int (n_classes,) or None
        The numbers of leaves that `columns_of` returns.

    Returns
    -------
    array (n_samples, n_nodes)
    """
    if columns is not None:
        every = np.zeros((len(probabilities), tree.n_classes))
        every[:, columns] = probabilities
        probabilities = every
    return tree.below(probabilities)
