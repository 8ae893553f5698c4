"""Trees at random, and what a path is, written node by node."""

import numpy as np

from okl import ClassTree


def random_parents(rng, n_nodes):
    """Return the parents of a random tree, nodes in a random order."""
    parents = np.array([-1, *(rng.integers(0, i) for i in range(1, n_nodes))])
    order = rng.permutation(n_nodes)
    return np.append(np.argsort(order), -1)[parents[order]]


def random_tree(rng, n_nodes):
    """Return a random tree; its nodes are called by numbers."""
    return ClassTree.from_parents(random_parents(rng, n_nodes))


def ancestors(tree, node):
    """Return a node and its ancestors without the root, as a set."""
    found = set()
    while node != 0:
        found.add(int(node))
        node = tree.parents[node]
    return found


def taxo_matrix(tree, nodes):
    """Return half the length of the path between each two of some nodes."""
    sets = [ancestors(tree, node) for node in nodes]
    return np.array([[len(a ^ b) / 2 for b in sets] for a in sets])


def parent_matrix(tree, nodes):
    """Return 1 where two nodes have different parents."""
    parents = tree.parents[nodes]
    return (parents[:, None] != parents).astype(float)
