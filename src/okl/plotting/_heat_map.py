"""What a heat map shows of a matrix: which entries, in which order and colours."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from okl.plotting._similarity import similarity

# What relations are measured by at least, relative to the largest diagonal entry.
LEAST_RELATION = 0.1


def shown_relations(stable: Any, n_outputs: int) -> np.ndarray | None:
    """Return the entries to colour, those of an output with itself among them.

    Raises
    ------
    ValueError
        Unless `stable` is None or says True or False of each pair of outputs.
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
    """Return where the colours end: at the strongest relation of two outputs.

    Parameters
    ----------
    values : ndarray of shape (n_outputs, n_outputs)
        Correlations or covariances.

    Returns
    -------
    float
        The largest absolute entry off the diagonal, but at least a tenth of the
        largest on it, beside which weaker ones are pale; 1 where all is zero.
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
    if len(L) == 1:  # linkage wants two
        return np.array([0])
    distances = squareform(1 - similarity(L, "correlation"), checks=False)
    return leaves_list(linkage(distances, method="average", optimal_ordering=True))
