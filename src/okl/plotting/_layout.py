"""Where to put the nodes of a graph so that their labels can be read.

A label is a box, and two boxes must not overlap. Nodes are therefore placed as boxes,
in three simple steps:

1. the nodes of a connected component are placed as points (`_component_layout.py`);
2. boxes that overlap are pushed apart; the component grows a little each time, so that
   this comes to an end;
3. components, now rectangles, are added one by one where the whole stays smallest.

Lengths are in points, the unit of fonts: boxes that do not overlap at the size planned
here do not overlap at any scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import KDTree

from okl.plotting._component_layout import component_layout
from okl.plotting._drawing import require

# With more components than this they are put in rows.
_MANY = 200


def layout_components(
    graph: Any, sizes: dict[int, np.ndarray], *, gap: float, aspect: float, seed: int
) -> tuple[dict[int, np.ndarray], np.ndarray]:
    """Place the nodes of a graph, no two boxes and no two components overlapping.

    Parameters
    ----------
    graph : networkx.Graph
        Any graph with at least one node.
    sizes : dict of node to ndarray of shape (2,)
        Width and height of each node.
    gap : float
        Space between two boxes, in which edges can be seen.
    aspect : float
        The ratio of width to height to aim for.
    seed : int
        Seed of the order on circles, and of the noise at the start of other layouts.

    Returns
    -------
    centers : dict of node to ndarray of shape (2,)
        The middle of each box.
    extent : ndarray of shape (2,)
        Width and height of the rectangle with its corner at (0, 0) around all boxes.
    """
    nx = require("networkx", "OutputGraphDisplay.plot")
    components = [sorted(nodes) for nodes in nx.connected_components(graph)]
    placed, rectangles = [], []
    for nodes in components:
        boxes = np.array([sizes[node] for node in nodes]) + gap
        points = component_layout(graph, nodes, seed)
        centers = push_apart(points * boxes.mean(axis=0), boxes)
        corner = (centers - boxes / 2).min(axis=0)
        placed.append(centers - corner)
        rectangles.append((centers + boxes / 2).max(axis=0) - corner)
    corners = pack(np.array(rectangles), aspect)
    positions = {
        node: center + corner
        for nodes, centers, corner in zip(components, placed, corners, strict=True)
        for node, center in zip(nodes, centers, strict=True)
    }
    return positions, (corners + rectangles).max(axis=0)


def push_apart(centers: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Move boxes about as little as possible so that no two of them overlap.

    Parameters
    ----------
    centers, boxes : ndarray of shape (n_boxes, 2)
        The middle of each box, and its width and height.

    Returns
    -------
    ndarray of shape (n_boxes, 2)
        The new centers.
    """
    farthest = np.hypot(*boxes.max(axis=0))  # beyond this no two boxes overlap
    while True:
        pairs = KDTree(centers).query_pairs(farthest, output_type="ndarray")
        reach = boxes[pairs].mean(axis=1)
        offset = centers[pairs[:, 1]] - centers[pairs[:, 0]]
        overlap = reach - np.abs(offset)
        colliding = (overlap > 1e-9 * reach).all(axis=1)
        if not colliding.any():
            return centers
        (first, second), offset = pairs[colliding].T, offset[colliding]
        overlap = overlap[colliding]
        # Each pair is separated along the axis where that is the shorter way.
        sideways = overlap[:, 0] < overlap[:, 1]
        along = np.stack([sideways, ~sideways], axis=1)
        # with equal centers the second box goes up, or to the right
        push = along * np.where(offset == 0, 1.0, np.sign(offset)) * overlap / 4
        moved = np.zeros_like(centers)
        np.add.at(moved, second, push)
        np.add.at(moved, first, -push)
        centers = 1.005 * centers + moved


def pack(rectangles: np.ndarray, aspect: float) -> np.ndarray:
    """Put rectangles side by side in little space, the tallest first.

    To find a place for each takes the cube of their number: many are put in rows.

    Parameters
    ----------
    rectangles : ndarray of shape (n_rectangles, 2)
        Widths and heights.
    aspect : float
        The ratio of width to height to aim for.

    Returns
    -------
    ndarray of shape (n_rectangles, 2)
        The lower left corner of each rectangle.
    """
    corners = np.zeros_like(rectangles)
    order = np.lexsort([-rectangles[:, 0], -rectangles[:, 1]])
    if len(rectangles) > _MANY:
        return _in_rows(rectangles, order, aspect)
    for count, current in enumerate(order[1:], start=1):
        low = corners[order[:count]]
        high = low + rectangles[order[:count]]
        # A corner of the new rectangle touches a corner of an old one, to its right or
        # above.
        spots = np.vstack(
            [
                np.column_stack([high[:, 0], low[:, 1]]),
                np.column_stack([low[:, 0], high[:, 1]]),
            ]
        )
        ends = spots + rectangles[current]
        overlaps = (
            (spots[:, np.newaxis] < high - 1e-9) & (ends[:, np.newaxis] > low + 1e-9)
        ).all(axis=2)
        spots, ends = spots[~overlaps.any(axis=1)], ends[~overlaps.any(axis=1)]
        width, height = np.maximum(ends, high.max(axis=0)).T
        # The smallest whole is chosen; among equals, the spot nearest to the corner.
        size = np.maximum(width / aspect, height)
        nearness = np.maximum(ends[:, 0] / aspect, ends[:, 1])
        corners[current] = spots[np.lexsort([nearness, size])[0]]
    return corners


def _in_rows(rectangles: np.ndarray, order: np.ndarray, aspect: float) -> np.ndarray:
    """Return the corners of rectangles in rows from the bottom, in this order."""
    area = np.prod(rectangles, axis=1).sum()
    width = max((area * aspect) ** 0.5, rectangles[:, 0].max())
    corners = np.zeros_like(rectangles)
    left = bottom = height = 0.0
    for current in order:
        own_width, own_height = rectangles[current]
        if left + own_width > width * (1 + 1e-9):
            left, bottom, height = 0.0, bottom + height, 0.0
        corners[current] = left, bottom
        left, height = left + own_width, max(height, own_height)
    return corners
