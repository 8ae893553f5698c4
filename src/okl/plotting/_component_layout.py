"""Where to put the nodes of one connected component, as points.

Distances in the plane should be like distances in the graph, counted in edges (d_ij).
The criterion is that of Kamada and Kawai, the stress:

    sum over i < j of (|x_i - x_j| / d_ij - 1)^2.

Each step of majorization [1]_ decreases it, by solving a linear system whose matrix is
always the same. That takes a fraction of the time of networkx's L-BFGS for the same
criterion, which takes many seconds for a chain of 250 nodes.

If a component has most of its possible edges, distances are all alike, and the
criterion puts nodes in the middle of edges between others. The nodes of such a
component are put on a circle, where no edge runs behind a third node.

References
----------
.. [1] Gansner, Koren and North, "Graph drawing by stress majorization", Graph Drawing,
   2004.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.csgraph import shortest_path

from okl.plotting._drawing import require

N_STEPS = 100  # the stress stops decreasing long before


def component_layout(graph: Any, nodes: list[int], seed: int) -> np.ndarray:
    """Place the nodes of a connected component.

    Parameters
    ----------
    graph : networkx.Graph
        The whole graph.
    nodes : list of int
        The nodes of the component.
    seed : int
        Seed of the order on the circle, or of the noise at the start of majorization.

    Returns
    -------
    ndarray of shape (n_nodes, 2)
        Positions where neighbours are about one apart.
    """
    nx = require("networkx", "OutputGraphDisplay.plot")
    component, random = graph.subgraph(nodes), np.random.RandomState(seed)
    if len(nodes) == 1 or nx.density(component) > 0.5:
        angles = np.pi * (0.5 + 2 * random.permutation(len(nodes)) / len(nodes))
        circle = np.column_stack([np.cos(angles), np.sin(angles)])
        return circle * len(nodes) / 5  # neighbours are a little more than 1 apart
    edges = nx.to_scipy_sparse_array(component, nodes, weight=None)
    distances = shortest_path(edges, unweighted=True)
    start = classical_scaling(distances)
    return majorize(start + random.uniform(-0.5, 0.5, size=start.shape), distances)


def classical_scaling(distances: np.ndarray) -> np.ndarray:
    """Place points in the plane by the leading eigenvectors of their distances.

    This start is near the optimum: it unfolds long chains, where steps from random
    positions get stuck.

    Parameters
    ----------
    distances : ndarray of shape (n_points, n_points)
        The distances between points.

    Returns
    -------
    ndarray of shape (n_points, 2)
        The positions of the points.
    """
    squares = distances**2
    squares -= squares.mean(axis=0)
    squares -= squares.mean(axis=1, keepdims=True)
    eigenvalues, vectors = np.linalg.eigh(-squares / 2)
    # The largest eigenvalue comes last, and is the horizontal axis: pictures are wider
    # than high.
    return (vectors * np.sqrt(np.maximum(eigenvalues, 0)))[:, :-3:-1]


def majorize(positions: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Decrease the stress of positions.

    Parameters
    ----------
    positions : ndarray of shape (n_points, 2)
        The start.
    distances : ndarray of shape (n_points, n_points)
        The distances to follow, zero on the diagonal only.

    Returns
    -------
    ndarray of shape (n_points, 2)
        Positions with lower stress.
    """
    apart = distances + np.eye(len(distances))  # no division by zero on the diagonal
    inverse = np.linalg.pinv(_laplacian(apart**-2.0), hermitian=True)
    for _ in range(N_STEPS):
        lengths = np.linalg.norm(positions[:, np.newaxis] - positions, axis=2)
        attraction = _laplacian(1 / (apart * np.maximum(lengths, 1e-9)))
        positions = inverse @ (attraction @ positions)
    return positions


def _laplacian(weights: np.ndarray) -> np.ndarray:
    """Laplacian of a weighted graph; the diagonal of the weights is ignored."""
    weights = weights - np.diag(np.diag(weights))
    return np.diag(weights.sum(axis=1)) - weights
