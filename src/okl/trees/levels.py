"""Sums over the leaves below each node, and along the path to each leaf.

Phi_L (n_leaves, n_nodes) has a one where a node is on the path from the root to a leaf,
the leaf included. For a row of numbers, ``row Phi_L`` are the sums over the leaves
below each node, and ``row Phi_L'`` those over the nodes on the path to each leaf. Both
take one pass over the levels of the tree, for all rows at once. The nodes of a level
have consecutive numbers, with the children of one parent next to each other: a level
takes a few operations on whole arrays, and Phi_L is never formed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from okl.numerics.arrays import Array, is_numpy, namespace

Passed = Callable[[int, Array], Array]


@dataclass(frozen=True)
class _Level:
    """The nodes of one depth.

    Attributes
    ----------
    start, stop : int
        The numbers of its nodes are ``range(start, stop)``.
    leaves : array
        The columns of the leaves among its nodes.
    split, order : array or None
        The order of its nodes with inner ones first, and the position of each node in
        that order; None if all are inner nodes or all are leaves.
    first : array
        The position of the first child of each inner node in the next level.
    parent : array
        The position of each node's parent among the inner nodes of the level above.
    """

    start: int
    stop: int
    leaves: np.ndarray
    split: np.ndarray | None
    order: np.ndarray | None
    first: np.ndarray
    parent: np.ndarray


class Levels:
    """A tree as arrays of numbers, with sums level by level.

    Parameters
    ----------
    parents : array of int (n_nodes,)
        The parent of each node, -1 for the root, which is node 0. Nodes are numbered
        breadth first: parents never decrease.
    leaves : array of int (n_leaves,)
        The nodes without children, in the order of the columns of rows.
    """

    def __init__(self, parents: np.ndarray, leaves: np.ndarray) -> None:
        self.parents = parents
        self.leaves = leaves

    def __getstate__(self) -> dict[str, np.ndarray]:
        """Return what is pickled: the rest is computed from it."""
        return {"parents": self.parents, "leaves": self.leaves}

    @property
    def n_nodes(self) -> int:
        """The number of nodes, the root and the leaves included."""
        return len(self.parents)

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return len(self.leaves)

    @cached_property
    def depths(self) -> np.ndarray:
        """The depth of each node; 0 for the root."""
        depths = np.zeros(self.n_nodes, dtype=np.intp)
        above = np.maximum(self.parents, 0)
        for _ in range(self.n_nodes):
            deeper = np.where(self.parents < 0, 0, depths[above] + 1)
            if np.array_equal(deeper, depths):
                break
            depths = deeper
        return depths

    @cached_property
    def _levels(self) -> list[_Level]:
        column = np.full(self.n_nodes, -1)
        column[self.leaves] = np.arange(self.n_leaves)
        bounds = np.searchsorted(self.depths, np.arange(self.depths[-1] + 2))
        levels, inner_above = [], np.empty(0, dtype=np.intp)
        for start, stop in pairwise(bounds):
            nodes = np.arange(start, stop)
            is_leaf = column[start:stop] >= 0
            inner = nodes[~is_leaf]
            mixed = bool(is_leaf.any()) and not is_leaf.all()
            split = np.argsort(is_leaf, kind="stable") if mixed else None
            levels.append(
                _Level(
                    int(start),
                    int(stop),
                    column[start:stop][is_leaf],
                    split,
                    None if split is None else np.argsort(split),
                    np.searchsorted(self.parents, inner) - stop,
                    np.searchsorted(inner_above, self.parents[start:stop]),
                )
            )
            inner_above = inner
        return levels

    def below(self, rows: Array) -> Array:
        """Return ``rows Phi_L`` (n, n_nodes) for rows (n, n_leaves).

        These are the sums over the leaves below each node, itself included.
        """
        return _joined(self.sums(rows))

    def along(self, values: Array) -> Array:
        """Return ``values Phi_L'`` (n, n_leaves) for values (n, n_nodes).

        These are the sums over the nodes on the path from the root to each leaf.
        """
        return self.path_sums(self.by_depth(values))

    def by_depth(self, values: Array) -> list[Array]:
        """Return the columns (n, n_nodes) of the nodes of each depth."""
        return [values[:, level.start : level.stop] for level in self._levels]

    def sums(self, rows: Array, passed: Passed | None = None) -> list[Array]:
        """Return the sums over the children of each node, depth by depth.

        Parameters
        ----------
        rows : array (n, n_leaves)
            The numbers of the leaves.
        passed : callable, optional
            ``passed(depth, sums)`` returns what the nodes of a depth add to the sums of
            their parents; by default their own sums, which gives ``rows Phi_L``.
        """
        found: list[Array] = []
        children: Array | None = None
        for depth, level in reversed(list(enumerate(self._levels))):
            parts = [] if children is None else [_segment_sums(children, level.first)]
            if len(level.leaves):
                parts.append(_columns(rows, level.leaves))
            found.append(_columns(_joined(parts), level.order))
            children = found[-1] if passed is None else passed(depth, found[-1])
        return found[::-1]

    def path_sums(self, values: list[Array], passed: Passed | None = None) -> Array:
        """Return sums along the path to each leaf (n, n_leaves).

        Parameters
        ----------
        values : list of arrays (n, nodes of that depth)
            The numbers that the nodes of each depth add.
        passed : callable, optional
            ``passed(depth, sums)`` returns what replaces the sums down to the nodes of
            a depth.
        """
        inner: Array | None = None
        leaves: list[Array] = []
        for depth, level in enumerate(self._levels):
            total = values[depth]
            if inner is not None:
                total = _columns(inner, level.parent) + total
            if passed is not None:
                total = passed(depth, total)
            ordered = _columns(total, level.split)
            inner = ordered[:, : len(level.first)]
            leaves.append(ordered[:, len(level.first) :])
        return _columns(_joined(leaves), self._column_order)

    @cached_property
    def _column_order(self) -> np.ndarray | None:
        """Position of each column among the leaves, level by level; None if equal."""
        columns = np.concatenate([level.leaves for level in self._levels])
        order = np.argsort(columns)
        return None if np.array_equal(order, np.arange(len(order))) else order


def _joined(parts: list[Array]) -> Array:
    filled = [part for part in parts if part.shape[1]]
    return (
        filled[0] if len(filled) == 1 else namespace(filled[0]).concat(filled, axis=1)
    )


def _columns(rows: Array, numbers: np.ndarray | None) -> Array:
    """Return some columns; without a copy if these are all columns in their order."""
    if numbers is None or (
        len(numbers) == rows.shape[1]
        and np.array_equal(numbers, np.arange(len(numbers)))
    ):
        return rows
    xp = namespace(rows)
    return xp.take(rows, xp.asarray(numbers), axis=1)


def _segment_sums(rows: Array, first: np.ndarray) -> Array:
    """Return the sums of the columns from each of ``first`` to before the next."""
    if is_numpy(rows):
        return np.add.reduceat(rows, first, axis=1)
    # neighbours within a segment are added until each segment is one column
    sizes = np.diff(first, append=rows.shape[1])
    while sizes.max() > 1:
        halves = (sizes + 1) // 2
        starts = np.cumsum(sizes) - sizes
        within = np.arange(halves.sum()) - np.repeat(np.cumsum(halves) - halves, halves)
        left = np.repeat(starts, halves) + 2 * within
        paired = 2 * within + 1 < np.repeat(sizes, halves)
        xp = namespace(rows)
        partner = _columns(rows, np.where(paired, left + 1, left))
        kept = xp.asarray(paired.astype(np.float64), dtype=rows.dtype)
        rows = _columns(rows, left) + partner * kept
        sizes = halves
    return rows
