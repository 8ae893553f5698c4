"""The eigenvalues and eigenvectors of a symmetric matrix (m, m), on its range."""

from __future__ import annotations

from dataclasses import dataclass

from okl.numerics.arrays import Array, namespace


@dataclass(frozen=True)
class Eigenbasis:
    """V diag(l) V', and coordinates along the columns of V.

    Attributes
    ----------
    eigenvalues : array (q,)
        Positive.
    basis : array (m, q) or None
        Orthonormal columns V; None stands for the coordinate axes (q = m).
    """

    eigenvalues: Array
    basis: Array | None = None

    @property
    def n_outputs(self) -> int:
        """The number of rows m."""
        like = self.eigenvalues if self.basis is None else self.basis
        return int(like.shape[0])

    @property
    def rank(self) -> int:
        """The number of positive eigenvalues."""
        return int(self.eigenvalues.shape[0])

    def axes(self) -> Array:
        """Return V (m, q), the identity where it stands for the coordinate axes."""
        if self.basis is not None:
            return self.basis
        return diagonal_matrix(namespace(self.eigenvalues).ones_like(self.eigenvalues))

    def coordinates(self, rows: Array) -> Array:
        """Return ``rows V`` of shape (n, q)."""
        return rows if self.basis is None else rows @ self.basis

    def from_coordinates(self, coordinates: Array) -> Array:
        """Return ``coordinates V'`` of shape (n, m)."""
        return coordinates if self.basis is None else coordinates @ self.basis.T

    def diagonal_of(self, values: Array) -> Array:
        """Return the diagonal of V diag(values) V' (m,); for values (p, q), (p, m)."""
        return values if self.basis is None else values @ (self.basis * self.basis).T

    def matrix_power(self, exponent: float) -> Array:
        """Return V diag(l^exponent) V' (m, m), on the range of L only."""
        powers = self.eigenvalues**exponent
        if self.basis is None:
            return diagonal_matrix(powers)
        return (self.basis * powers) @ self.basis.T


def diagonal_matrix(values: Array) -> Array:
    """Return the matrix (m, m) of a diagonal (m,)."""
    xp = namespace(values)
    return xp.eye(values.shape[0], dtype=values.dtype) * values
