"""The interface of an output kernel L, however it is kept.

L is (m, m), symmetric and positive semi-definite, L = B B' for a factor B (m, q). The
map from dual variables to predictions multiplies by L; preconditioners multiply by B.
An implementation may do both without any array (m, m) or (m, q): for the L of a tree, a
product is a pass over its nodes.

Closed forms divide by the eigenvalues of L. They ask for its eigenbasis (`spectral`),
for which a matrix (m, m) may have to be decomposed. So do the preconditioner, where
outputs are too many for one small matrix, and the certificate for the norm of a model,
unless an implementation has another way (`quotient`, `solve`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from okl.numerics.arrays import Array, inner
from okl.trees import Levels

if TYPE_CHECKING:
    from okl.output_kernels.spectral import SpectralKernel

# Rows with a relative part above this outside of the range of L have an infinite norm;
# a smaller part is rounding.
_OUTSIDE_RANGE = 1e-6


class OutputKernel(ABC):
    """L = B B', as a linear operator."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """The number of rows m."""

    @property
    @abstractmethod
    def rank(self) -> int:
        """q, the number of columns of B; zero for L = 0."""

    @property
    @abstractmethod
    def couples(self) -> bool:
        """Whether L has entries off its diagonal; True if that is not known."""

    @property
    @abstractmethod
    def largest_eigenvalue(self) -> float:
        """The largest eigenvalue of L, or a bound close to it."""

    @abstractmethod
    def adjoint(self, rows: Array) -> Array:
        """Return ``rows B`` (n, q) for rows (n, m)."""

    @abstractmethod
    def forward(self, inside: Array) -> Array:
        """Return ``inside B'`` (n, m) for an array (n, q)."""

    @property
    def nodes(self) -> tuple[Levels, Array] | None:
        """The tree whose leaves the outputs are, and the variances of its nodes.

        None where L is no sum over the nodes of a tree.
        """
        return None

    def multiply(self, rows: Array) -> Array:
        """Return ``rows L`` (n, m)."""
        return self.forward(self.adjoint(rows))

    @abstractmethod
    def rows(self, numbers: Array) -> Array:
        """Return some rows of L, given by number (k, m)."""

    @abstractmethod
    def diagonal(self) -> Array:
        """Return the diagonal of L (m,)."""

    @abstractmethod
    def factor(self) -> Array:
        """Return B (m, q)."""

    @abstractmethod
    def matrix(self) -> Array:
        """Return L (m, m), exactly symmetric."""

    def quotient(self, rows: Array, products: Array) -> float:
        """Return <rows L^+, products>, infinite for rows outside of the range of L."""
        axes = self.spectral()
        inside, total = axes.coordinates(rows), inner(rows, rows)
        if total - inner(inside, inside) > _OUTSIDE_RANGE**2 * total:
            return float("inf")
        return inner(inside / axes.eigenvalues, axes.coordinates(products))

    def solve(self, rows: Array, outside: Array) -> Array:
        """Return ``rows L^+``, plus the part of ``outside`` off the range of L."""
        axes = self.spectral()
        within = axes.coordinates(rows) / axes.eigenvalues
        return outside + axes.from_coordinates(within - axes.coordinates(outside))

    @abstractmethod
    def spectral(self) -> SpectralKernel:
        """Return L in its eigenbasis; it is decomposed if that is not known."""
