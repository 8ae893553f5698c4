r"""The inverse that all closed forms are written in.

Outputs of one eigenvalue l of L, and of the same weights, share

.. math:: A = \tfrac{l}{\alpha} K + W^{-1}, \qquad
          P = A^{-1} - A^{-1} H (H' A^{-1} H)^{-1} H' A^{-1},

the second term only with free intercepts: H has a column for each, ones for the rows
that share it. One output has one intercept, H = 1; targets of several outputs in one
column (`joined.py`) have one for each output. The dual variables of the best model,
times alpha, are C = P Y; the variance of the noise of row i is that of the model over
w_i. Along a change of K, dP = -(l / alpha) P dK P.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri

# Where K adds less than this part to the noise, products are taken, not differences.
_NOTHING = 1e-6
# Rows of a triangle that are mirrored at once, and stay in the cache.
_BLOCK = 64


class Part(NamedTuple):
    """own P, or P diag(variances) P, less sym(left right'), not formed.

    Attributes
    ----------
    own : float
        Zero where there are variances.
    variances : array (k,) or None
    left, right : array (k, p)
    """

    own: float
    variances: np.ndarray | None
    left: np.ndarray
    right: np.ndarray


@dataclass(frozen=True)
class ProjectedInverse:
    """P, for some outputs.

    Attributes
    ----------
    outputs : array of int
        Which, as columns of Y V, V the eigenvectors of L.
    rows : array of int (k,)
        The rows whose weight is not zero.
    weights : array (k,)
        Theirs.
    kernel : array (k, k)
        K, centred if the intercept is free, which does not change P.
    ratio : float
        l / alpha.
    n_free : int
        The number of free intercepts.
    matrix : array (k, k)
        P.
    log_determinant : float
        log|A|, plus log|H'A^-1 H| with free intercepts.
    dual : array (k, len(outputs))
        C.
    """

    outputs: np.ndarray
    rows: np.ndarray
    weights: np.ndarray
    kernel: np.ndarray
    ratio: float
    n_free: int
    matrix: np.ndarray
    log_determinant: float
    dual: np.ndarray

    @classmethod
    def of(
        cls,
        outputs: np.ndarray,
        rows: np.ndarray,
        weights: np.ndarray,
        kernel: np.ndarray,
        ratio: float,
        targets: np.ndarray,
        intercepts: np.ndarray | None,
    ) -> ProjectedInverse:
        """Factorise and invert.

        Targets (k, len(outputs)) are those of the rows, intercepts (k,) the number of
        the free intercept of each, from zero without a gap; None if none is free.

        Raises
        ------
        numpy.linalg.LinAlgError
            If A is not numerically positive definite.
        """
        matrix, log_determinant = _inverse(ratio * kernel, 1.0 / weights)
        n_free = 0
        if intercepts is not None:
            log_determinant += _project(matrix, intercepts)
            n_free = int(intercepts.max()) + 1
        return cls(
            outputs,
            rows,
            weights,
            kernel,
            ratio,
            n_free,
            matrix,
            log_determinant,
            matrix @ targets,
        )

    def times(self, right: np.ndarray) -> np.ndarray:
        """Return P times an array (k, p)."""
        return self.matrix @ right

    def kernel_times(self, right: np.ndarray) -> np.ndarray:
        """Return K times an array (k, p)."""
        return self.kernel @ right

    def times_rows(self, rows: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the columns of P of some rows times an array (len(rows), p)."""
        return self.matrix[:, rows] @ right

    def among(self, rows: np.ndarray) -> np.ndarray:
        """Return P between some rows."""
        return self.matrix[np.ix_(rows, rows)]

    def formed(self, part: Part) -> np.ndarray:
        """Return ratio times what a part stands for (k, k)."""
        variances = part.variances
        if variances is None:
            matrix = part.own * self.matrix
        elif np.all(variances >= 0):
            # a matrix times its own transpose takes half of the multiplications
            half = self.matrix * np.sqrt(variances)
            matrix = half @ half.T
        else:
            matrix = (self.matrix * variances) @ self.matrix
        both = np.hstack([part.left, part.right])
        matrix -= both @ (np.hstack([part.right, part.left]).T / 2)
        matrix *= self.ratio
        return matrix

    @property
    def freedom(self) -> int:
        """The number of rows, less that of free intercepts."""
        return len(self.rows) - self.n_free

    @cached_property
    def diagonal(self) -> np.ndarray:
        """The diagonal of P (k,)."""
        return np.diagonal(self.matrix).copy()

    @cached_property
    def kernel_diagonal(self) -> np.ndarray:
        """The diagonal of P K P (k,), by l / alpha P K P = P - P W^-1 P."""
        if self.subtracts:
            squares = np.einsum(
                "ij,ij,j->i", self.matrix, self.matrix, 1 / self.weights
            )
            return (self.diagonal - squares) / self.ratio
        return np.einsum("ij,ij->i", self.matrix @ self.kernel, self.matrix)

    @property
    def subtracts(self) -> bool:
        """Whether A is far enough from W^-1 for differences to keep their digits."""
        largest = float(np.max(self.weights * np.diagonal(self.kernel)))
        return self.ratio * largest > _NOTHING

    @property
    def kernel_trace(self) -> float:
        """The trace of P K, by l / alpha K P = I - W^-1 P but for the intercept."""
        if self.subtracts:
            return (
                float(self.freedom - np.sum(self.diagonal / self.weights)) / self.ratio
            )
        return float(np.vdot(self.matrix, self.kernel))


def _project(inverse: np.ndarray, intercepts: np.ndarray) -> float:
    """Take the part of the intercepts out of A^-1, in place; return log|H'A^-1 H|."""
    sums = group_sums(inverse, intercepts)
    factor, _ = cho_factor(group_sums(sums, intercepts, axis=1), lower=True)
    inside = solve_triangular(factor, sums, lower=True)
    inverse -= inside.T @ inside
    return 2.0 * float(np.sum(np.log(np.diagonal(factor))))


def group_sums(matrix: np.ndarray, groups: np.ndarray, axis: int = 0) -> np.ndarray:
    """Return the sums over rows, or columns, of each group, numbered without a gap."""
    if np.any(np.diff(groups) < 0):
        order = np.argsort(groups, kind="stable")
        matrix, groups = np.take(matrix, order, axis=axis), groups[order]
    first = np.flatnonzero(np.diff(groups, prepend=-1))
    return np.add.reduceat(matrix, first, axis=axis)


def _inverse(matrix: np.ndarray, diagonal: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the inverse of matrix + diagonal, and log determinant, in its memory."""
    n = len(diagonal)
    matrix.reshape(-1)[:: n + 1] += diagonal
    # the transpose is the same matrix in the order of LAPACK
    factor, info = dpotrf(matrix.T, lower=True, overwrite_a=True, clean=False)
    if info != 0:
        raise np.linalg.LinAlgError(
            "The kernel matrix plus alpha is not positive definite up to rounding "
            "errors. Use a larger alpha, or a kernel that is positive semi-definite."
        )
    log_determinant = 2.0 * float(np.sum(np.log(np.diagonal(factor))))
    inverse, _ = dpotri(factor, lower=True, overwrite_c=True)
    full = inverse.T
    for start in range(0, n, _BLOCK):  # what is above the diagonal, below it
        stop = min(start + _BLOCK, n)
        corner = full[start:stop, start:stop]
        full[start:stop, start:stop] = np.triu(corner) + np.triu(corner, 1).T
        full[stop:, start:stop] = full[start:stop, stop:].T
    return full, log_determinant
