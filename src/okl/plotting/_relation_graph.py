"""The graph of the strongest entries of a similarity matrix.

All entries together make a complete graph, which is unreadable. The strongest ones show
the structure: the k largest in absolute value, those above a threshold, or both. A zero
means that two outputs are unrelated: it is never an edge, whatever k is.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from okl.numerics.validation import check_count
from okl.plotting._drawing import require

_EQUAL = 1e-9  # relative difference of similarities that differ by rounding alone


def strongest_pairs(
    values: np.ndarray, *, top_k: int | None = None, threshold: float | None = None
) -> np.ndarray:
    """Choose the pairs of outputs with the largest similarity in absolute value.

    Parameters
    ----------
    values : ndarray of shape (n_outputs, n_outputs)
        Symmetric similarities.
    top_k : int, default=None
        The largest number of pairs. If neither it nor `threshold` is given, it is the
        number of outputs, which gives the average output two neighbours, and more if
        the next pairs are as similar as the last of these.
    threshold : float, default=None
        Pairs whose similarity is at most this in absolute value are left out.

    Returns
    -------
    ndarray of shape (n_pairs, 2)
        Outputs i < j of each pair, the strongest pair first. Equals keep their order
        in the matrix.
    """
    if top_k is not None:
        top_k = check_count(top_k, "top_k")
    if threshold is not None and not (isinstance(threshold, Real) and threshold >= 0):
        raise ValueError(
            f"threshold is {threshold!r}; expected a number that is not negative, or "
            "None: it is compared with absolute values."
        )
    rows, columns = np.triu_indices(len(values), k=1)
    strengths = np.abs(values[rows, columns])
    order = np.argsort(-strengths, kind="stable")
    if top_k is None and threshold is None:
        top_k = len(values)
        # of equals, the order of the outputs must not choose some
        last = strengths[order[:top_k]].min(initial=np.inf)
        top_k = max(top_k, int(np.sum(strengths >= (1 - _EQUAL) * last)))
    order = order[strengths[order] > (threshold or 0)][:top_k]
    return np.column_stack([rows[order], columns[order]])


def relation_graph(values: np.ndarray, pairs: np.ndarray, hide_singletons: bool) -> Any:
    """Build the graph with these pairs as edges.

    Parameters
    ----------
    values : ndarray of shape (n_outputs, n_outputs)
        Symmetric similarities.
    pairs : ndarray of shape (n_pairs, 2)
        The edges.
    hide_singletons : bool
        Leave out the outputs without an edge, so that edges are easier to see. If there
        is no edge at all, all outputs stay.

    Returns
    -------
    networkx.Graph
        Nodes are numbers of outputs, edges have a ``weight``.
    """
    nx = require("networkx", "OutputGraphDisplay.plot")
    graph = nx.Graph()
    if not hide_singletons or len(pairs) == 0:
        graph.add_nodes_from(range(len(values)))
    for i, j in pairs.tolist():
        graph.add_edge(i, j, weight=float(values[i, j]))
    return graph
