"""An output kernel L kept as its eigenvalues and eigenvectors.

L is (m, m), symmetric and positive semi-definite. Kept as ``V diag(l) V'`` with
only the q eigenvalues above zero it needs no m x m array when m is large, and
everything that solvers and the certificate need (products, rank, inverse on its range)
is one or two products with V. The identity needs no V at all. Where the entries
themselves matter (exact zeros, a matrix that was given), they are kept as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from okl.numerics.arrays import Array, count, eigh, epsilon, namespace, symmetric
from okl.output_kernels.base import OutputKernel
from okl.output_kernels.eigenbasis import Eigenbasis, diagonal_matrix


@dataclass(frozen=True)
class SpectralKernel(Eigenbasis, OutputKernel):
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

    entries: Array | None = None

    @classmethod
    def from_matrix(cls, matrix: Array) -> SpectralKernel:
        """Decompose a PSD matrix (m, m), and keep its entries.

        Eigenvalues at rounding level are dropped.
        """
        xp = namespace(matrix)
        entries = symmetric(matrix)
        values, vectors = eigh(entries)
        return cls(xp.flip(values), xp.flip(vectors, axis=1), entries).on_range()

    @classmethod
    def from_factor(cls, factor: Array) -> SpectralKernel:
        """Decompose B B' for B of shape (m, p), from B'B if that is smaller."""
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

    def on_range(self) -> SpectralKernel:
        """Drop the eigenvalues that are zero up to rounding."""
        values = self.eigenvalues
        if self.rank == 0:
            return self
        kept = values > max(float(values[0]), 0.0) * epsilon(values) * self.rank
        rank = count(kept)
        if rank == self.rank:
            return self
        return replace(self.largest(rank), entries=self.entries)

    def largest(self, rank: int) -> SpectralKernel:
        """Return the part of L with the ``rank`` largest eigenvalues, or all of it."""
        if rank >= self.rank:
            return self
        return SpectralKernel(self.eigenvalues[:rank], self.axes()[:, :rank])

    @property
    def couples(self) -> bool:
        """Whether L may have entries off its diagonal: whether V is kept."""
        return self.basis is not None

    @property
    def largest_eigenvalue(self) -> float:
        """The largest eigenvalue; zero for L = 0."""
        values = self.eigenvalues
        return float(namespace(values).max(values)) if self.rank else 0.0

    def spectral(self) -> SpectralKernel:
        """Return this very kernel."""
        return self

    def adjoint(self, rows: Array) -> Array:
        """Return ``rows V diag(l^(1/2))`` of shape (n, q)."""
        return self.coordinates(rows) * namespace(rows).sqrt(self.eigenvalues)

    def forward(self, inside: Array) -> Array:
        """Return ``inside diag(l^(1/2)) V'`` of shape (n, m)."""
        return self.from_coordinates(inside * namespace(inside).sqrt(self.eigenvalues))

    def multiply(self, rows: Array) -> Array:
        """Return ``rows L`` of shape (n, m)."""
        return self.from_coordinates(self.coordinates(rows) * self.eigenvalues)

    def factor(self) -> Array:
        """Return B (m, q) with L = B B'."""
        xp = namespace(self.eigenvalues)
        roots = xp.sqrt(self.eigenvalues)
        return diagonal_matrix(roots) if self.basis is None else self.basis * roots

    def matrix(self) -> Array:
        """Return L (m, m), exactly symmetric."""
        if self.entries is not None:
            return self.entries
        if self.basis is None:
            return diagonal_matrix(self.eigenvalues)
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
        return self.diagonal_of(self.eigenvalues)

    def embed(self, basis: Array) -> SpectralKernel:
        """Return Q L Q' for Q (m, r) with orthonormal columns."""
        inside = basis if self.basis is None else basis @ self.basis
        return SpectralKernel(self.eigenvalues, inside)
