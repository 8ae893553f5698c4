"""How near two nodes of a tree are to each other."""

from __future__ import annotations

import numpy as np

from okl.trees.class_tree import ClassTree


def common_depths(tree: ClassTree, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the depth of the nearest common ancestor of each pair of nodes.

    It is the number of ancestors that they share, without the root; a node counts as an
    ancestor of itself.

    Parameters
    ----------
    tree : ClassTree
    first, second : array of int (n,)
        Numbers of nodes.

    Returns
    -------
    array of int (n,)
    """
    first, second = np.array(first, dtype=np.intp), np.array(second, dtype=np.intp)
    for depth in range(tree.depth, 0, -1):
        # a node at this depth is a common ancestor only if both are the same
        apart = first != second
        for nodes in (first, second):
            deep = apart & (tree.depths[nodes] == depth)
            nodes[deep] = tree.parents[nodes[deep]]
    return tree.depths[first]


def are_below(tree: ClassTree, nodes: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Tell for each node (n,) whether it is the given one of ``above``, or below it."""
    found: np.ndarray = common_depths(tree, nodes, above) == tree.depths[above]
    return found


def path_lengths(tree: ClassTree, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the number of edges between the two nodes of each pair (n,)."""
    apart = tree.depths[first] + tree.depths[second]
    return apart - 2 * common_depths(tree, first, second)
