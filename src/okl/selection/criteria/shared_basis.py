r"""One decomposition of K that replaces an inverse for each output.

Where outputs have different l / alpha but the same rows and weights, their inverses
have the same eigenvectors. With W^(1/2) K W^(1/2) = U diag(d) U', centred for a free
intercept, and B = W^(1/2) U

.. math:: P_j = B \operatorname{diag}(g_j) B', \qquad
          g_{kj} = \frac{1}{d_k l_j / \alpha_j + 1},

less w w' / sum(w) with an intercept, which is one more column of B with g = -1. No P is
formed: products, diagonals and traces are a few products of matrices for each output,
and the derivative in K is summed over outputs between B and B'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from okl.numerics.arrays import eigh, symmetric
from okl.selection.criteria.projected_inverse import Part


@dataclass(frozen=True)
class SharedBasis:
    """Eigenvectors of the kernel matrix of some rows, with their weights.

    Attributes
    ----------
    rows : array of int (k,)
        The rows whose weight is not zero.
    weights : array (k,)
        Theirs.
    kernel : array (k, k)
        K, centred if the intercept is free.
    free_intercept : bool
    eigenvalues : array (q,)
        d; zero for the column of the intercept, the last one.
    basis : array (k, q)
        B, and with an intercept w / sum(w)^(1/2).
    """

    rows: np.ndarray
    weights: np.ndarray
    kernel: np.ndarray
    free_intercept: bool
    eigenvalues: np.ndarray
    basis: np.ndarray

    @classmethod
    def of(
        cls,
        rows: np.ndarray,
        weights: np.ndarray,
        kernel: np.ndarray,
        *,
        free_intercept: bool,
    ) -> SharedBasis:
        """Decompose the matrix of the rows."""
        roots = np.sqrt(weights)
        scaled = roots[:, None] * kernel * roots
        unit = roots / np.linalg.norm(roots)
        if free_intercept:
            for _ in range(2):  # of its rows, then of its columns
                scaled = (scaled - np.outer(unit, unit @ scaled)).T
        values, vectors = eigh(symmetric(scaled))
        values, basis = np.clip(values, 0.0, None), roots[:, None] * vectors
        if free_intercept:
            values = np.append(values, 0.0)
            basis = np.column_stack([basis, roots * unit])
        return cls(rows, weights, kernel, free_intercept, values, basis)

    def inverse(
        self, outputs: np.ndarray, ratio: float, targets: np.ndarray
    ) -> RotatedInverse:
        """Return P at a ratio, for outputs with targets (k, len(outputs))."""
        gain = 1.0 / (ratio * self.eigenvalues + 1.0)
        if self.free_intercept:
            gain[-1] = -1.0
        return RotatedInverse(self, outputs, ratio, gain, targets)

    @cached_property
    def squares(self) -> np.ndarray:
        """The squares of the basis (k, q)."""
        return self.basis**2

    def sum(self, pairs: Sequence[tuple[RotatedInverse, Part]]) -> np.ndarray:
        """Return the sum of ratio times what each part stands for (k, k)."""
        size = len(self.eigenvalues)
        inside = np.zeros((size, size))
        for one, part in pairs:
            if part.variances is None:
                inside.reshape(-1)[:: size + 1] += one.ratio * part.own * one.gain
            else:
                inside += _between(self.basis, part.variances, one.ratio, one.gain)
        total = self.basis @ inside @ self.basis.T
        left = np.hstack([one.ratio * part.left for one, part in pairs])
        total -= symmetric(left @ np.hstack([part.right for _, part in pairs]).T)
        return total


@dataclass(frozen=True)
class RotatedInverse:
    """P of some outputs; the interface is that of `ProjectedInverse`.

    Attributes
    ----------
    shared : SharedBasis
    outputs : array of int
        Which, as columns of Y V, V the eigenvectors of L.
    ratio : float
        l / alpha.
    gain : array (q,)
        g.
    targets : array (k, len(outputs))
    """

    shared: SharedBasis
    outputs: np.ndarray
    ratio: float
    gain: np.ndarray
    targets: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """The rows of the basis."""
        return self.shared.rows

    @property
    def weights(self) -> np.ndarray:
        """The weights of the rows."""
        return self.shared.weights

    @property
    def kernel(self) -> np.ndarray:
        """K of the rows."""
        return self.shared.kernel

    @property
    def freedom(self) -> int:
        """The number of rows, less that of free intercepts."""
        return len(self.rows) - self.shared.free_intercept

    @property
    def log_determinant(self) -> float:
        """log|A|, plus log 1'A^-1 1 with a free intercept."""
        found = float(np.sum(np.log1p(self.ratio * self.shared.eigenvalues)))
        found -= float(np.sum(np.log(self.weights)))
        if self.shared.free_intercept:
            found += float(np.log(np.sum(self.weights)))
        return found

    @cached_property
    def dual(self) -> np.ndarray:
        """C = P Y (k, len(outputs))."""
        return self.times(self.targets)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """The diagonal of P (k,)."""
        return self.shared.squares @ self.gain

    @cached_property
    def kernel_diagonal(self) -> np.ndarray:
        """The diagonal of P K P (k,)."""
        return self.shared.squares @ (self.shared.eigenvalues * self.gain**2)

    @property
    def kernel_trace(self) -> float:
        """The trace of P K."""
        return float(self.shared.eigenvalues @ self.gain)

    def times(self, right: np.ndarray) -> np.ndarray:
        """Return P times an array (k, p)."""
        basis = self.shared.basis
        return basis @ (self.gain[:, None] * (basis.T @ right))

    def kernel_times(self, right: np.ndarray) -> np.ndarray:
        """Return K times an array (k, p)."""
        return self.kernel @ right

    def times_rows(self, rows: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the columns of P of some rows times an array (len(rows), p)."""
        basis = self.shared.basis
        return basis @ (self.gain[:, None] * (basis[rows].T @ right))

    def among(self, rows: np.ndarray) -> np.ndarray:
        """Return P between some rows."""
        some = self.shared.basis[rows]
        return (some * self.gain) @ some.T


def _between(
    basis: np.ndarray, variances: np.ndarray, ratio: float, gain: np.ndarray
) -> np.ndarray:
    """Return ratio times g B' diag(t) B g."""
    if np.all(variances >= 0):
        # a matrix times its own transpose takes half of the multiplications
        half = basis * np.sqrt(variances)[:, None]
        inside = half.T @ half
    else:
        inside = basis.T @ (variances[:, None] * basis)
    inside *= ratio * gain[:, None]
    inside *= gain
    return inside
