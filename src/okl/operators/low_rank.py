"""What a few columns of a kernel matrix say about the whole: K ~ R R'.

By pivoted Cholesky, each column where the most is left to explain. Each output may have
a matrix of its own, R_j R_j' with R_j a multiple of one of a few factors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from okl._array import Array, namespace

# A pivot below this part of the largest says that K has no more to give.
_NEGLIGIBLE = 1e-10


class LowRank(NamedTuple):
    """K_j ~ R_j R_j' for each output j.

    Attributes
    ----------
    factors : tuple of arrays (n_samples, k)
        As many as there are different matrices.
    outputs : tuple of (int, float) or None
        Which factor an output has and what multiplies it; None if all outputs have
        the only one.
    """

    factors: tuple[Array, ...]
    outputs: tuple[tuple[int, float], ...] | None = None

    @property
    def rank(self) -> int:
        """The number of columns k."""
        return int(self.factors[0].shape[1])

    def with_constant(self, height: float) -> LowRank:
        """Return the factors with a first column that is constant."""
        xp = namespace(self.factors[0])
        extended = (
            xp.concat([xp.full_like(f[:, :1], height), f], axis=1) for f in self.factors
        )
        return self._replace(factors=tuple(extended)) if self.rank else self

    def leading(self, rank: int) -> LowRank:
        """Return the first columns only."""
        return self._replace(factors=tuple(f[:, :rank] for f in self.factors))

    def factor(self, output: int) -> tuple[Array, float]:
        """Return the factor of an output and what multiplies it."""
        if self.outputs is None:
            return self.factors[0], 1.0
        which, scale = self.outputs[output]
        return self.factors[which], scale

    def forward(self, inside: Array) -> Array:
        """Return R_j times the j-th column of an array (k, n_outputs), for each j."""
        if self.outputs is None:
            return self.factors[0] @ inside
        return self._each(inside, lambda factor, column: factor @ column)

    def adjoint(self, rows: Array) -> Array:
        """Return R_j' times the j-th column of an array (n_samples, n_outputs)."""
        if self.outputs is None:
            return self.factors[0].T @ rows
        return self._each(rows, lambda factor, column: factor.T @ column)

    def _each(self, array: Array, multiply: Callable[[Array, Array], Array]) -> Array:
        columns = []
        for j in range(array.shape[1]):
            factor, scale = self.factor(j)
            columns.append(scale * multiply(factor, array[:, j]))
        return namespace(array).stack(columns, axis=1)


def pivoted_cholesky(
    diagonal: Array, column: Callable[[int], Array], rank: int
) -> Array:
    """Return R (n_samples, at most rank) with K ~ R R', the largest pivots first.

    Parameters
    ----------
    diagonal : array (n_samples,)
        That of K.
    column : callable
        From a number to that column of K.
    rank : int
        Most columns.
    """
    left = diagonal
    xp = namespace(left)
    columns = xp.zeros((left.shape[0], min(rank, left.shape[0])), dtype=left.dtype)
    largest = float(xp.max(left)) if left.shape[0] else 0.0
    for j in range(columns.shape[1]):
        pivot = int(xp.argmax(left))
        height = float(left[pivot])
        if height <= _NEGLIGIBLE * largest:
            return columns[:, :j]
        found = column(pivot) - columns[:, :j] @ columns[pivot, :j]
        columns[:, j] = found / height**0.5
        left = xp.clip(left - columns[:, j] ** 2, 0.0, None)
    return columns
