"""How near to each other two nodes of a tree are."""

from __future__ import annotations

import numpy as np

from okl.trees.class_tree import ClassTree


def common_depths(tree: ClassTree, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the depth of the nearest common ancestor of each two nodes.

    It is the number of ancestors that they share, the root excluded, where a node is
    one of its own.

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
        # a node as deep as this is no common ancestor, unless both are there
        apart = first != second
        for nodes in (first, second):
            deep = apart & (tree.depths[nodes] == depth)
            nodes[deep] = tree.parents[nodes[deep]]
    return tree.depths[first]


def are_below(tree: ClassTree, nodes: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Tell of each node (n,) whether it is another one, or below that."""
    found: np.ndarray = common_depths(tree, nodes, above) == tree.depths[above]
    return found


def path_lengths(tree: ClassTree, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the number of edges between each two nodes (n,)."""
    apart = tree.depths[first] + tree.depths[second]
    return apart - 2 * common_depths(tree, first, second)
