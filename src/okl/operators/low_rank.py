"""A kernel matrix approximated from a few columns, for preconditioners: K ~ R R'.

This is the Nystroem method. Columns drawn at random make better preconditioners than
those of a pivoted Cholesky factorisation, which looks for rows unlike all the rest.
Each output may have a matrix of its own, R_j R_j' with R_j a multiple of one of a few
factors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from okl.numerics.arrays import Array, count, eigh, namespace, symmetric

# Columns drawn for each that is kept, and the part of the largest eigenvalue below
# which there is nothing but rounding.
_DRAWN, _NEGLIGIBLE = 3, 1e-12


class NystroemFactor(NamedTuple):
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

    def with_constant(self, height: float) -> NystroemFactor:
        """Return the factors with a first column that is constant."""
        xp = namespace(self.factors[0])
        extended = (
            xp.concat([xp.full_like(f[:, :1], height), f], axis=1) for f in self.factors
        )
        return self._replace(factors=tuple(extended)) if self.rank else self

    def leading(self, rank: int) -> NystroemFactor:
        """Return the first columns only, side by side in memory."""
        if rank >= self.rank:
            return self
        xp = namespace(self.factors[0])
        some = (xp.asarray(f[:, :rank], copy=True) for f in self.factors)
        return self._replace(factors=tuple(some))

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


def nystroem(columns: Callable[[Array], Array], n_samples: int, rank: int) -> Array:
    """Return R (n_samples, at most rank) with K ~ R R', the longest columns first.

    More columns of K than R has are drawn, and the leading directions of their
    approximation are kept: columns cost next to nothing, but the small matrices of a
    preconditioner cost the square and the cube of the rank.

    Parameters
    ----------
    columns : callable
        From row numbers to these columns of K (n_samples, .).
    n_samples : int
    rank : int
        Most columns of R.
    """
    n_drawn = min(_DRAWN * rank, n_samples)
    drawn = np.random.default_rng(0).permutation(n_samples)[:n_drawn]
    sample = columns(drawn)
    xp = namespace(sample)
    inside = xp.take(sample, xp.asarray(drawn), axis=0)
    factor = sample @ _inverse_root(symmetric(inside))
    _, vectors = eigh(factor.T @ factor)
    kept = min(rank, vectors.shape[1])
    return factor @ xp.flip(vectors, axis=1)[:, :kept]


def _inverse_root(matrix: Array) -> Array:
    """Return X (n, q) with X X' the pseudo-inverse of a PSD matrix of rank q."""
    xp = namespace(matrix)
    values, vectors = eigh(matrix)
    largest = float(xp.max(values)) if values.shape[0] else 0.0
    first = values.shape[0] - count(values > _NEGLIGIBLE * largest)
    return vectors[:, first:] / xp.sqrt(values[first:])
