"""An output kernel from a graph on the outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import laplacian

from okl._validation import check_positive
from okl.structures.given import Given


class Graph(Given):
    r"""Outputs joined by an edge are close to each other.

    .. math:: L = (\Delta + \gamma I)^{-1}, \qquad
              \Delta = \operatorname{diag}(A 1) - A,

    so that the squared norm of the predictor is ``sum_t gamma ||f_t||^2 +
    sum_{s<t} A_st ||f_s - f_t||^2``, each edge counted once (Evgeniou, Micchelli &
    Pontil 2005, whose sum over ordered pairs counts it twice).

    Parameters
    ----------
    adjacency : array-like or sparse matrix (n_outputs, n_outputs)
        Symmetric weights of the edges, not negative; the diagonal does not matter.
    gamma : float, default=1.0
        Weight of each output's own norm, > 0.
    """

    def __init__(self, adjacency: Any, gamma: float = 1.0) -> None:
        self.adjacency = adjacency
        self.gamma = gamma

    def validate(self, n_outputs: int) -> None:
        """Check the adjacency matrix against the outputs, and gamma."""
        adjacency = self._weights()
        if adjacency.shape != (n_outputs, n_outputs):
            raise ValueError(
                f"The adjacency matrix must have one row and one column per output, "
                f"({n_outputs}, {n_outputs}); got an array of shape {adjacency.shape}."
            )
        if not np.all(np.isfinite(adjacency)) or np.any(adjacency < 0):
            raise ValueError(
                "The weights of the graph must be finite and not negative, the "
                f"smallest is {np.min(adjacency)}; set missing edges to 0."
            )
        if not np.array_equal(adjacency, adjacency.T):
            raise ValueError(
                "The adjacency matrix is not symmetric; pass (A + A.T) / 2."
            )
        # without it the Laplacian of a graph has no inverse
        check_positive(self.gamma, "gamma")

    def _weights(self) -> np.ndarray:
        matrix = self.adjacency
        if scipy.sparse.issparse(matrix):
            matrix = matrix.toarray()
        return np.asarray(matrix, dtype=np.float64)

    def matrix(self, n_outputs: int) -> np.ndarray:
        """Return the inverse of the shifted Laplacian."""
        delta = laplacian(self._weights())
        inverse = np.linalg.inv(delta + self.gamma * np.eye(delta.shape[0]))
        return (inverse + inverse.T) / 2
