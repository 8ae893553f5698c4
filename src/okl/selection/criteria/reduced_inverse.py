r"""P of outputs that lack a few rows, from the P of all rows.

P is the corner of the inverse of the matrix (A H; H' 0). Without the rows h, in which
an output was not observed, it follows from that of all rows by the Schur complement,

.. math:: P_j = P - U U', \qquad U = P_{:h} R^{-1}, \quad R'R = P_{hh},

which is zero in the rows and columns h; log|A| + log|H'A^-1 H| grows by log|P_hh|. For
n rows that is the work of n^2 |h| multiplications at most instead of n^3. Where many
outputs each lack other rows, the likelihood keeps nothing but U of each of them, and
the derivative in K is summed over outputs before anything of the size of K is formed.
Criteria of rows left out form P_j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from okl.selection.criteria.projected_inverse import Part, ProjectedInverse
from okl.selection.criteria.shared_basis import RotatedInverse

# What is of all rows that count.
Whole = ProjectedInverse | RotatedInverse
# Arrays of which sym(left right') is taken away.
Pairs = list[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class ReducedInverse:
    """P_j of some outputs; the interface is that of `ProjectedInverse`.

    Attributes
    ----------
    whole : ProjectedInverse
        P of all rows, with the same l / alpha.
    outputs : array of int
    seen : array of int (k,)
        The rows in which they were observed, as rows of the whole.
    root : array (n, n - k)
        U.
    log_determinant : float
        log|A|, plus log|H'A^-1 H| with free intercepts.
    dual : array (k, len(outputs))
        C.
    """

    whole: ProjectedInverse
    outputs: np.ndarray
    seen: np.ndarray
    root: np.ndarray
    log_determinant: float
    dual: np.ndarray

    @classmethod
    def of(
        cls,
        whole: ProjectedInverse,
        outputs: np.ndarray,
        seen: np.ndarray,
        hidden: np.ndarray,
        image: np.ndarray,
    ) -> ReducedInverse:
        """Keep the rows seen and leave out those hidden, of all rows.

        ``image`` (n, len(outputs)) is P times their targets, zero where there is none.

        Raises
        ------
        numpy.linalg.LinAlgError
            If P_hh is not numerically positive definite.
        """
        columns = whole.matrix[:, hidden]
        factor = cholesky(columns[hidden], lower=True, check_finite=False)
        root = _divided(factor, columns)
        dual = image[seen] - root[seen] @ _divided(factor, image[hidden].T).T
        log_determinant = whole.log_determinant
        log_determinant += 2.0 * float(np.sum(np.log(np.diagonal(factor))))
        return cls(whole, outputs, seen, root, log_determinant, dual)

    @property
    def rows(self) -> np.ndarray:
        """The rows in which the outputs were observed."""
        return self.whole.rows[self.seen]

    @property
    def weights(self) -> np.ndarray:
        """The weights of these rows."""
        return self.whole.weights[self.seen]

    @property
    def ratio(self) -> float:
        """The ratio of the whole, l / alpha."""
        return self.whole.ratio

    @property
    def freedom(self) -> int:
        """The number of rows, less that of free intercepts."""
        return self.whole.freedom - self.root.shape[1]

    @cached_property
    def diagonal(self) -> np.ndarray:
        """The diagonal of P_j (k,)."""
        squares = np.einsum("ij,ij->i", self.root, self.root)
        return (self.whole.diagonal - squares)[self.seen]

    @property
    def kernel_trace(self) -> float:
        """The trace of P_j K."""
        if self.whole.subtracts:
            lost = float(np.sum(self.diagonal / self.weights))
            return (self.freedom - lost) / self.ratio
        return self.formed.kernel_trace

    @property
    def kernel_diagonal(self) -> np.ndarray:
        """The diagonal of P_j K P_j (k,)."""
        return self.formed.kernel_diagonal

    def kernel_times(self, right: np.ndarray) -> np.ndarray:
        """Return K of the rows times an array (k, p)."""
        return (self.whole.kernel @ self._in_all_rows(right))[self.seen]

    def times(self, right: np.ndarray) -> np.ndarray:
        """Return P_j times an array (k, p)."""
        return self.formed.times(right)

    def times_rows(self, rows: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the columns of P_j of some rows times an array (len(rows), p)."""
        return self.formed.times_rows(rows, right)

    def among(self, rows: np.ndarray) -> np.ndarray:
        """Return P_j between some rows."""
        return self.formed.among(rows)

    @cached_property
    def formed(self) -> ProjectedInverse:
        """P_j, written out."""
        seen, whole = self.seen, self.whole
        own = self.root[seen]
        return ProjectedInverse(
            self.outputs,
            self.rows,
            self.weights,
            whole.kernel[np.ix_(seen, seen)],
            whole.ratio,
            whole.n_free,
            whole.matrix[np.ix_(seen, seen)] - own @ own.T,
            self.log_determinant,
            self.dual,
        )

    def in_whole(self, part: Part) -> tuple[float, np.ndarray | None, Pairs]:
        """Return what stands for the same in P of all rows: own, variances, pairs."""
        pairs = [(self._in_all_rows(part.left), self._in_all_rows(part.right))]
        U, own, variances = self.root, part.own, part.variances
        if variances is not None:
            # (P - U U') D (P - U U'), without the product of P and P
            variances = self._in_all_rows(variances)
            scaled = variances[:, None] * U
            pairs.append((2 * self.whole.times(scaled) - U @ (U.T @ scaled), U))
        elif own > 0:
            pairs.append((own * U, U))
        return own, variances, pairs

    def _in_all_rows(self, some: np.ndarray) -> np.ndarray:
        whole = np.zeros((len(self.whole.rows), *some.shape[1:]))
        whole[self.seen] = some
        return whole


def _divided(factor: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return rows (k, h) times R^-1, R' the lower triangular factor."""
    return solve_triangular(factor, rows.T, lower=True, check_finite=False).T


def in_wholes(
    blocks: Sequence[Whole | ReducedInverse], parts: Sequence[Part]
) -> list[tuple[Whole, Part]]:
    """Return each P of all rows once, with the sum of all parts that are of it."""
    sums: dict[int, _Sum] = {}
    for block, part in zip(blocks, parts, strict=True):
        own: tuple[float, np.ndarray | None, Pairs]
        if isinstance(block, ReducedInverse):
            whole: Whole = block.whole
            own = block.in_whole(part)
        else:
            whole = block
            own = part.own, part.variances, [(part.left, part.right)]
        sums.setdefault(id(whole), _Sum(whole)).add(*own)
    return [(one.whole, one.part()) for one in sums.values()]


class _Sum:
    """The sum of parts of one P: all with variances, or all without."""

    def __init__(self, whole: Whole) -> None:
        self.whole = whole
        self._own = 0.0
        self._variances: np.ndarray | None = None
        self._pairs: Pairs = []

    def add(self, own: float, variances: np.ndarray | None, pairs: Pairs) -> None:
        """Add one."""
        self._own += own
        if variances is not None:
            last = self._variances
            self._variances = variances if last is None else last + variances
        self._pairs += pairs

    def part(self) -> Part:
        """Return the sum."""
        left = np.hstack([left for left, _ in self._pairs])
        right = np.hstack([right for _, right in self._pairs])
        return Part(self._own, self._variances, left, right)
