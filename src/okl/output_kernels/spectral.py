"""An output kernel L kept as its eigenvalues and eigenvectors.

L is (m, m), symmetric and positive semi-definite. Kept as ``V diag(l) V'`` with
only the q eigenvalues above zero it needs no m x m array when m is large, and
everything the solvers and the certificate ask of it (products, rank, inverse on
its range) is one or two products with V. The identity needs no V at all. Where the
entries themselves matter (zeros that are exact, a matrix that was given), they are
kept beside the eigenvalues.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from okl.numerics.arrays import Array, eigh, epsilon, namespace


@dataclass(frozen=True)
class OutputKernel:
    """L = V diag(l) V' on its range.

    Attributes
    ----------
    eigenvalues : array (q,)
        Positive, descending.
    basis : array (m, q) or None
        Orthonormal columns V; None stands for the coordinate axes (q = m).
    entries : array (m, m) or None
        L itself, where it was given entry by entry.
    """

    eigenvalues: Array
    basis: Array | None = None
    entries: Array | None = None

    @classmethod
    def from_matrix(cls, matrix: Array) -> OutputKernel:
        """Decompose a PSD matrix (m, m), and keep its entries.

        Eigenvalues at rounding level are dropped.
        """
        xp = namespace(matrix)
        entries = (matrix + matrix.T) / 2
        values, vectors = eigh(entries)
        return cls(xp.flip(values), xp.flip(vectors, axis=1), entries).on_range()

    @classmethod
    def from_factor(cls, factor: Array) -> OutputKernel:
        """Decompose B B' for B of shape (m, p) through the smaller of its two sides."""
        xp = namespace(factor)
        m, p = factor.shape
        if p >= m:
            return cls.from_matrix(factor @ factor.T)
        if p == 0:
            return cls(xp.zeros((0,), dtype=factor.dtype), factor)
        inside = cls.from_matrix(factor.T @ factor)
        return cls(
            inside.eigenvalues, factor @ (inside.basis / xp.sqrt(inside.eigenvalues))
        )

    def on_range(self) -> OutputKernel:
        """Drop the eigenvalues that are zero up to rounding."""
        values = self.eigenvalues
        if self.rank == 0:
            return self
        xp = namespace(values)
        kept = values > max(float(values[0]), 0.0) * epsilon(values) * self.rank
        rank = int(xp.sum(xp.astype(kept, xp.int64)))
        if rank == self.rank:
            return self
        return replace(self.largest(rank), entries=self.entries)

    def largest(self, rank: int) -> OutputKernel:
        """Return the part of the largest eigenvalues, at most so many."""
        if rank >= self.rank:
            return self
        values = self.eigenvalues
        ones = namespace(values).ones_like(values)
        basis = _diagonal(ones) if self.basis is None else self.basis
        return OutputKernel(values[:rank], basis[:, :rank])

    @property
    def rank(self) -> int:
        """The number of positive eigenvalues."""
        return int(self.eigenvalues.shape[0])

    def coordinates(self, rows: Array) -> Array:
        """Return ``rows V`` of shape (n, q)."""
        return rows if self.basis is None else rows @ self.basis

    @property
    def couples(self) -> bool:
        """Whether L has entries beside its diagonal, as far as it is kept."""
        return self.basis is not None

    def from_coordinates(self, coordinates: Array) -> Array:
        """Return ``coordinates V'`` of shape (n, m)."""
        return coordinates if self.basis is None else coordinates @ self.basis.T

    def multiply(self, rows: Array) -> Array:
        """Return ``rows L`` of shape (n, m)."""
        return self.from_coordinates(self.coordinates(rows) * self.eigenvalues)

    def factor(self) -> Array:
        """Return B (m, q) with L = B B'."""
        xp = namespace(self.eigenvalues)
        roots = xp.sqrt(self.eigenvalues)
        return _diagonal(roots) if self.basis is None else self.basis * roots

    def matrix(self) -> Array:
        """Return L (m, m), exactly symmetric."""
        if self.entries is not None:
            return self.entries
        if self.basis is None:
            return _diagonal(self.eigenvalues)
        factor = self.factor()
        return factor @ factor.T

    def rows(self, numbers: Array) -> Array:
        """Return some rows of L (k, m)."""
        xp = namespace(self.eigenvalues)
        numbers = xp.asarray(numbers)
        if self.entries is not None:
            return xp.take(self.entries, numbers, axis=0)
        if self.basis is None:
            unit = numbers[:, None] == xp.arange(self.eigenvalues.shape[0])
            return xp.astype(unit, self.eigenvalues.dtype) * self.eigenvalues
        return (xp.take(self.basis, numbers, axis=0) * self.eigenvalues) @ self.basis.T

    def diagonal(self) -> Array:
        """Return the diagonal of L (m,)."""
        if self.basis is None:
            return self.eigenvalues
        return (self.basis * self.basis) @ self.eigenvalues

    def matrix_power(self, exponent: float) -> Array:
        """Return V diag(l^exponent) V' (m, m), on the range of L only."""
        powers = self.eigenvalues**exponent
        if self.basis is None:
            return _diagonal(powers)
        return (self.basis * powers) @ self.basis.T

    def embed(self, basis: Array) -> OutputKernel:
        """Return Q L Q' for Q (m, r) with orthonormal columns."""
        inside = basis if self.basis is None else basis @ self.basis
        return OutputKernel(self.eigenvalues, inside)


def _diagonal(values: Array) -> Array:
    xp = namespace(values)
    return xp.eye(values.shape[0], dtype=values.dtype) * values
