"""An output kernel from a graph on the outputs."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import laplacian

from okl.numerics.arrays import Array
from okl.numerics.validation import check_positive
from okl.output_kernels import OutputKernel
from okl.parameters.hyperparameter import Hyperparameter
from okl.structures.diagonal import Diagonal
from okl.structures.given import Given, both_factors, weight_around_one

_TOLERANCE = 1e-10  # of the largest entry: what rounding leaves in a Laplacian


class Graph(Given):
    r"""Outputs joined by an edge are close to each other.

    .. math:: L = (\Delta + \gamma I)^{-1}, \qquad
              \Delta = \operatorname{diag}(A 1) - A,

    so that the squared norm of the predictor is ``sum_t gamma ||f_t||^2 +
    sum_{s<t} A_st ||f_s - f_t||^2``, each edge counted once. The regressors normalise
    outputs first, and then edges join normalised outputs; ``normalize_y=False`` joins
    outputs as they are.

    Evgeniou, Micchelli & Pontil (2005), *Learning multiple tasks with kernel methods*;
    Ciliberto, Rosasco & Villa (2015), *Learning multiple visual tasks while discovering
    their structure*, section 2.1.1, where the sum is over ordered pairs, and so counts
    each edge twice.

    Parameters
    ----------
    adjacency : array-like or sparse matrix (n_outputs, n_outputs)
        Symmetric weights of the edges, not negative; the diagonal does not matter.
        Labels of a data frame are names of outputs.
    gamma : float, default=1.0
        Weight of each output's own norm, > 0.
    """

    parameters_of_outputs: ClassVar[dict[str, int]] = {"adjacency": 2}

    def __init__(self, adjacency: Any, gamma: float = 1.0) -> None:
        self.adjacency = adjacency
        self.gamma = gamma

    @classmethod
    def from_laplacian(cls, laplacian: Any, gamma: float = 1.0) -> Self:
        """Make the structure from the Laplacian of the graph.

        Parameters
        ----------
        laplacian : array-like or sparse matrix (n_outputs, n_outputs)
            ``diag(A 1) - A``: symmetric, with rows that sum to zero and no positive
            entry off the diagonal, up to rounding.
        gamma : float, default=1.0
            As in the constructor.

        Returns
        -------
        Graph
            With the adjacency matrix of that Laplacian as a parameter.

        Raises
        ------
        ValueError
            If the matrix is not the Laplacian of a graph with weights that are not
            negative.
        """
        delta = _dense(laplacian)
        _check_laplacian(delta)
        # exactly symmetric and not negative, not only up to rounding; the diagonal
        # becomes 0, as that of a Laplacian is not negative
        adjacency = np.maximum(-(delta + delta.T) / 2, 0)
        if hasattr(laplacian, "iloc"):  # a data frame keeps its labels
            labels = {"index": laplacian.index, "columns": laplacian.columns}
            adjacency = type(laplacian)(adjacency, **labels)
        return cls(adjacency, gamma)

    def validate(self, n_outputs: int) -> None:
        """Check the adjacency matrix against the outputs, and gamma."""
        adjacency = _dense(self.adjacency)
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
        # without gamma, the Laplacian of a graph has no inverse
        check_positive(self.gamma, "gamma")

    def matrix(self, n_outputs: int) -> np.ndarray:
        """Return the inverse of the shifted Laplacian."""
        delta = laplacian(_dense(self.adjacency))
        n_outputs = delta.shape[0]
        if self.gamma <= n_outputs * np.finfo(np.float64).eps * np.max(delta):
            raise ValueError(
                f"gamma={self.gamma!r} is negligible compared with the weights of the "
                f"graph, which are up to {np.max(_dense(self.adjacency)):.3g}: the "
                "Laplacian plus gamma is singular up to rounding. Choose a larger "
                "gamma, or divide the weights."
            )
        inverse = np.linalg.inv(delta + self.gamma * np.eye(n_outputs))
        return (inverse + inverse.T) / 2

    def known(self, like: Array) -> OutputKernel:
        """Return the decomposed matrix; without edges it is I / gamma."""
        n_outputs = like.shape[1]
        adjacency = _dense(self.adjacency)
        if np.any(adjacency != np.diag(np.diagonal(adjacency))):
            return super().known(like)
        return Diagonal(np.full(n_outputs, 1 / float(self.gamma))).known(like)

    def hyperparameters(self, n_outputs: int) -> list[Hyperparameter]:
        """Return gamma."""
        return [weight_around_one("gamma", self.gamma)]

    def gradient(
        self, left: np.ndarray, right: np.ndarray | None = None
    ) -> dict[str, float]:
        """Return the derivative by log gamma: dL = -gamma L^2."""
        left, right = both_factors(left, right)
        L = self.matrix(left.shape[1])
        return {"gamma": -float(self.gamma) * float(np.vdot(left @ L, right @ L))}


def _dense(matrix: Any) -> np.ndarray:
    if scipy.sparse.issparse(matrix):
        matrix = matrix.toarray()
    return np.asarray(matrix, dtype=np.float64)


def _check_laplacian(delta: np.ndarray) -> None:
    """Raise ValueError unless this is the Laplacian of a graph."""
    if delta.ndim != 2 or delta.shape[0] != delta.shape[1] or delta.size == 0:
        raise ValueError(
            "The Laplacian must have one row and one column per output; got an array "
            f"of shape {delta.shape}."
        )
    if not np.all(np.isfinite(delta)):
        raise ValueError(
            "The Laplacian has NaN or infinite entries; set missing edges to 0."
        )
    rounding = _TOLERANCE * np.max(np.abs(delta))
    if np.max(np.abs(delta - delta.T)) > rounding:
        raise ValueError(
            "The Laplacian is not symmetric; pass (Laplacian + Laplacian.T) / 2."
        )
    sums = delta.sum(axis=1)
    worst = int(np.argmax(np.abs(sums)))
    if abs(sums[worst]) > rounding * len(delta):
        raise ValueError(
            f"The rows of a Laplacian, diag(A 1) - A, sum to zero; row {worst} sums "
            f"to {sums[worst]:.6g}. Pass Graph(A) for an adjacency matrix A; for a "
            "normalised or shifted Laplacian N pass Fixed(inv(N + gamma I))."
        )
    off_diagonal = delta - np.diag(np.diag(delta))
    if np.max(off_diagonal) > rounding:
        raise ValueError(
            "Off its diagonal a Laplacian, diag(A 1) - A, is not positive; the largest "
            f"such entry is {np.max(off_diagonal):.6g}, an edge of negative weight. "
            "Drop such edges; for the matrix N with them pass Fixed(inv(N + gamma I)) "
            "if that is positive semi-definite."
        )
