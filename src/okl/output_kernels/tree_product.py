"""Products with the L of a tree in NumPy, a few rows at a time.

Classes with the same parent differ only in their own variance:

    L = diag(d_leaves) + P Psi D Psi' P'

with P (n_leaves, n_parents) the parent of each leaf, Psi (n_parents, n_inner) the nodes
on the path to each parent, and D their variances. P and Psi are sparse. Whatever the
depth of the tree, a product handles each score twice: P' adds it up, and P spreads the
result. All other work is in the columns of the parents, which are few. Rows are taken a
few at a time, so that the work stays in the cache.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from okl.numerics.arrays import is_numpy
from okl.trees import Levels

# How many scores are multiplied at once: about a megabyte.
_AT_ONCE = 2**17
# Most entries of Psi for each node of the tree; deep thin trees have more.
_MOST = 8


@dataclass(frozen=True)
class TreeProduct:
    """The factors of L.

    Attributes
    ----------
    parent : array of int (n_leaves,)
        The column of P that has a one.
    collect : sparse array (n_parents, n_leaves)
        P'.
    paths : sparse array (n_parents, n_inner)
        Psi.
    inner, leaves : array
        The variances of the inner nodes and of the leaves.
    """

    parent: np.ndarray
    collect: sparse.csr_array
    paths: sparse.csr_array
    inner: np.ndarray
    leaves: np.ndarray

    @classmethod
    def of(cls, levels: Levels, variances: np.ndarray) -> TreeProduct | None:
        """Return the factors; None where paths are too long, or arrays not NumPy's."""
        if not is_numpy(variances):
            return None
        parents, parent = np.unique(levels.parents[levels.leaves], return_inverse=True)
        if np.sum(levels.depths[parents] + 1) > _MOST * levels.n_nodes:
            return None
        starts, nodes = [np.arange(len(parents))], [parents]
        while len(nodes[-1]):
            above = levels.parents[nodes[-1]]
            starts.append(starts[-1][above >= 0])
            nodes.append(above[above >= 0])
        inner, columns = np.unique(np.concatenate(nodes), return_inverse=True)
        return cls(
            parent,
            _ones(parent, np.arange(levels.n_leaves)),
            _ones(np.concatenate(starts), columns),
            variances[inner],
            variances[levels.leaves],
        )

    def multiply(self, rows: np.ndarray) -> np.ndarray:
        """Return ``rows L`` (n, n_leaves)."""
        product = rows * self.leaves
        step = max(1, _AT_ONCE // rows.shape[1])
        for start in range(0, rows.shape[0], step):
            few = slice(start, start + step)
            sums = self.paths.T @ (self.collect @ rows[few].T)
            above = self.paths @ (self.inner[:, None] * sums)
            product[few] += np.take(above.T, self.parent, axis=1)
        return product


def _ones(rows: np.ndarray, columns: np.ndarray) -> sparse.csr_array:
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)))
