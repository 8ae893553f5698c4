"""Steps in weights of sparse features, of which there are far fewer than rows.

To turn them to axes would fill them. So the dual variables of weights follow from a
Cholesky factorisation in the place of a division along axes, one for all alphas. It
takes as long as hundreds of products. It pays where there are many outputs and rows,
and most at a small alpha; with few outputs, or few rows, steps with K are faster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from okl.numerics.arrays import shifted_solver
from okl.operators import CentredRows
from okl.problems import Problem

# The most that the cube of the number of features may be for each dual variable. With
# less the factorisation costs about what it saves at a large alpha.
_CUBE = 2e4
# The largest squared norm of a feature in units of the smallest, at most.
_UNITS = 1e7
# What is added to the diagonal of P'P, in units of its largest entry. With rounding
# alone, fits at an alpha of 1e-6 end early where features depend on each other.
_SHIFT = 1e-11
# The most features, and the most for each row.
_MOST, _PART = 5000, 0.5


@dataclass(frozen=True)
class SparseWeights:
    """R with K = R R', and what makes the P of `FeatureAxes` of it.

    Attributes
    ----------
    rows : CentredRows (n_samples, k)
        R.
    counted : array (n_samples, 1)
        One for a row with a weight, else zero.
    centered : bool
        Whether an intercept is free.
    mean : array (1, k)
        Of rows with a weight, zero where no intercept is free.
    solve : callable
        What multiplies arrays by the inverse of P'P, made definite.
    """

    rows: CentredRows
    counted: np.ndarray
    centered: bool
    mean: np.ndarray
    solve: Callable[[np.ndarray], np.ndarray]

    @classmethod
    def of(cls, rows: CentredRows, problem: Problem) -> SparseWeights:
        """Factorise P'P."""
        counted = np.ones((rows.shape[0], 1))
        if problem.weights is not None:
            counted = np.any(problem.weights > 0, axis=1, keepdims=True).astype(float)
        part = CentredRows(rows.sparse, rows.means).scaled(counted[:, 0])
        mean = np.zeros((1, rows.shape[1]))
        if problem.centered:
            mean = rows.adjoint(counted).T / np.sum(counted)
            means = part.sparse.T @ counted[:, 0] / np.sum(counted)
            part = replace(part, means=means)
        gram = part.gram()
        # features may all be zero
        largest = np.max(np.diagonal(gram)) + np.finfo(float).smallest_normal / _SHIFT
        solve = shifted_solver(gram, _SHIFT * largest)
        return cls(rows, counted, problem.centered, mean, solve)

    @property
    def n_features(self) -> int:
        """The number of features k."""
        return self.rows.shape[1]

    def forward(self, weights: np.ndarray) -> np.ndarray:
        """Return R times an array (k, n_outputs)."""
        return self.rows.forward(weights)

    def adjoint(self, right: np.ndarray) -> np.ndarray:
        """Return R' times an array (n_samples, n_outputs)."""
        return self.rows.adjoint(right)

    def adjoint_of_squares(self, right: np.ndarray) -> np.ndarray:
        """Return (R o R)' times an array (n_samples, n_outputs)."""
        return self.rows.adjoint_of_squares(right)

    def dual_of(self, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the C in the range of P with nearly this R'C, and R'C itself.

        What is not in the range of P' makes large weights, of which P leaves rounding:
        it is the C that was found that must have no sums.
        """
        dual = self.counted * self.forward(self.solve(inside))
        if self.centered:
            means = np.sum(dual, axis=0) / np.sum(self.counted)
            dual -= self.counted * means
        return dual, self.adjoint(dual)


def takes_weights(rows: CentredRows, n_outputs: int) -> bool:
    """Tell whether steps in weights of the features of these rows pay.

    They do not where units of features differ by much: fits would end early.
    """
    n_samples, k = rows.shape
    if rows.roots is not None or not 0 < k <= min(_PART * n_samples, _MOST):
        return False
    squares = rows.adjoint_of_squares(np.ones((n_samples, 1)))
    used = squares[squares > 0]
    if len(used) and np.max(used) > _UNITS * np.min(used):
        return False
    return bool(k**3 <= _CUBE * n_samples * n_outputs)
