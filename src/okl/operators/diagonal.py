"""A diagonal kernel matrix: what any other is in its own eigenbasis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from okl.numerics.arrays import Array, namespace
from okl.operators.base import KernelOperator, Spectrum
from okl.operators.dense import Dense


class DiagonalOperator(KernelOperator):
    """K = diag(d): a product costs one multiplication an entry, as does a solve.

    Centring makes it a stored matrix, as it is diagonal no more; so do blocks of it.

    Parameters
    ----------
    entries : array (n_samples,)
        d >= 0.
    """

    def __init__(self, entries: Array) -> None:
        self._entries = entries

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return int(self._entries.shape[0])

    def __matmul__(self, right: Array) -> Array:
        """Multiply each row by its entry."""
        return self._entries[:, None] * right

    @property
    def work(self) -> float:
        """One for each entry."""
        return float(self.n_samples)

    def diagonal(self) -> Array:
        """Return d."""
        return self._entries

    def columns(self, rows: Array) -> Array:
        """Return some columns of the matrix."""
        return self._formed().columns(rows)

    def root(self) -> None:
        """Return None: it has as many columns as rows."""

    def _decompose(self) -> Spectrum:
        xp = namespace(self._entries)
        order = xp.argsort(self._entries)
        values = xp.take(self._entries, order)
        kept = Spectrum.above_rounding(values, values[None, :], self.n_samples)
        rank = kept.eigenvalues.shape[0]
        return Spectrum(kept.eigenvalues, _Axes(order, rank))

    def solve(self, right: Array, shift: float) -> Array:
        """Divide each row."""
        return right / (self._entries + shift)[:, None]

    def centered(self, weights: Array | None = None) -> tuple[Dense, Array]:
        """Return HKH' and the means of the rows of K."""
        return self._formed().centered(weights)

    def scaled(self, roots: Array) -> DiagonalOperator:
        """Multiply d by the squares of the roots."""
        return DiagonalOperator(self._entries * roots**2)

    def restrict(self, rows: Any) -> DiagonalOperator:
        """Return the matrix of some rows."""
        xp = namespace(self._entries)
        return DiagonalOperator(xp.take(self._entries, xp.asarray(rows)))

    def cross(self, rows: Any, columns: Any) -> Array:
        """Return a block, one row index set against another."""
        return self._formed().cross(rows, columns)

    def _formed(self) -> Dense:
        eye = namespace(self._entries).eye(self.n_samples, dtype=self._entries.dtype)
        return Dense(eye * self._entries)


@dataclass(frozen=True)
class _Axes:
    """Coordinate axes as eigenvectors (n, k), not formed but kept as row numbers.

    Attributes
    ----------
    order : array of int (n,)
        The axes; eigenvectors are the last k.
    rank : int
        k.
    """

    order: Array
    rank: int

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.order.shape[0]), self.rank

    @property
    def T(self) -> _Picked:
        return _Picked(self.order[self.shape[0] - self.rank :])

    def __matmul__(self, right: Array) -> Array:
        """Return the rows (n, p) with these coordinates (k, p), zero off the axes."""
        xp = namespace(right)
        others = (self.shape[0] - self.rank, right.shape[1])
        rows = xp.concat([xp.zeros(others, dtype=right.dtype), right], axis=0)
        return xp.take(rows, self._places, axis=0)

    @cached_property
    def _places(self) -> Array:
        return namespace(self.order).argsort(self.order)


@dataclass(frozen=True)
class _Picked:
    """The transpose of `_Axes`."""

    numbers: Array

    def __matmul__(self, right: Array) -> Array:
        """Return coordinates (k, p) of rows (n, p)."""
        return namespace(right).take(right, self.numbers, axis=0)
