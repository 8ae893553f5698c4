"""Which entries of a matrix a heat map shows, in which order and colours."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from okl.plotting._similarity import similarity

# The least limit of the colours, relative to the largest diagonal entry.
LEAST_RELATION = 0.1
# Most outputs whose groups are turned for the best order, which takes the cube of their
# number; beyond it cells are smaller than points.
_MOST_ORDERED = 500


def shown_relations(stable: Any, n_outputs: int) -> np.ndarray | None:
    """Return the entries to colour, with the diagonal; None for all.

    Raises
    ------
    ValueError
        Unless `stable` is None or an array of bool with an entry for each pair of
        outputs.
    """
    if stable is None:
        return None
    mask = np.asarray(stable)
    if mask.dtype != bool or mask.shape != (n_outputs, n_outputs):
        raise ValueError(
            f"stable must be an array of bool of shape {(n_outputs, n_outputs)}, such "
            "as that of okl.inspection.output_kernel_stability; got one of "
            f"{mask.dtype} of shape {mask.shape}."
        )
    shown: np.ndarray = mask | np.eye(n_outputs, dtype=bool)
    return shown


def side_of(n_outputs: int) -> float:
    """Return the side of a heat map in inches."""
    return float(np.clip(0.05 * n_outputs, 5.0, 10.0))


def colour_limit(values: np.ndarray) -> float:
    """Return the value where the colours end: that of the strongest relation.

    Parameters
    ----------
    values : ndarray of shape (n_outputs, n_outputs)
        Correlations or covariances.

    Returns
    -------
    float
        The largest absolute entry off the diagonal, but at least a tenth of the largest
        on it, so that weak relations are pale; 1 if all entries are zero.
    """
    diagonal = np.diag(values)
    strongest = np.abs(values - np.diag(diagonal)).max()
    return float(max(strongest, LEAST_RELATION * diagonal.max())) or 1.0


def closeness_order(L: np.ndarray) -> np.ndarray:
    """Order the outputs so that related ones are neighbours.

    Parameters
    ----------
    L : ndarray of shape (n_outputs, n_outputs)
        The output kernel.

    Returns
    -------
    ndarray of shape (n_outputs,)
        A permutation of the outputs.
    """
    if len(L) == 1:  # linkage needs two
        return np.array([0])
    distances = squareform(1 - similarity(L, "correlation"), checks=False)
    fine = len(L) <= _MOST_ORDERED
    return leaves_list(linkage(distances, method="average", optimal_ordering=fine))
