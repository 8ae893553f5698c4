"""Several output kernels, one for each input kernel of a model.

A model of several input kernels is a sum of functions, F = sum_q K_q C L_q, each with
an output kernel of its own and all with the same dual variables C. `OutputKernelTerms`
are the L_q of one model, `TermCoefficients` its C L_q.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from okl.numerics.arrays import Array
from okl.output_kernels.base import OutputKernel
from okl.output_kernels.spectral import SpectralKernel


@dataclass(frozen=True)
class OutputKernelTerms(OutputKernel):
    """L = sum_q L_q, with each term kept.

    The sum is the covariance of the outputs at points where all input kernels are 1.

    Attributes
    ----------
    terms : tuple of OutputKernel
        L_1, L_2, ... of the same outputs.
    """

    terms: tuple[OutputKernel, ...]

    @property
    def n_outputs(self) -> int:
        """The number of rows m."""
        return self.terms[0].n_outputs

    @property
    def rank(self) -> int:
        """The rank of the sum."""
        return self._sum.rank

    @property
    def couples(self) -> bool:
        """Whether a term has entries off its diagonal."""
        return any(term.couples for term in self.terms)

    @property
    def largest_eigenvalue(self) -> float:
        """The largest eigenvalue of the sum."""
        return self._sum.largest_eigenvalue

    def adjoint(self, rows: Array) -> Array:
        """Return ``rows B`` (n, q)."""
        return self._sum.adjoint(rows)

    def forward(self, inside: Array) -> Array:
        """Return ``inside B'`` (n, m)."""
        return self._sum.forward(inside)

    def multiply(self, rows: Array) -> Array:
        """Return ``rows L``."""
        return sum(term.multiply(rows) for term in self.terms)

    def rows(self, numbers: Array) -> Array:
        """Return some rows of L (k, m)."""
        return sum(term.rows(numbers) for term in self.terms)

    def diagonal(self) -> Array:
        """Return the diagonal of L (m,)."""
        return sum(term.diagonal() for term in self.terms)

    def factor(self) -> Array:
        """Return B (m, q)."""
        return self._sum.factor()

    def matrix(self) -> Array:
        """Return L (m, m)."""
        return self._sum.matrix()

    def spectral(self) -> SpectralKernel:
        """Return the sum in its eigenbasis."""
        return self._sum

    @cached_property
    def _sum(self) -> SpectralKernel:
        return SpectralKernel.from_matrix(sum(term.matrix() for term in self.terms))


@dataclass(frozen=True)
class TermCoefficients:
    """Theta_q = C L_q for each term q.

    Attributes
    ----------
    parts : tuple of arrays (n_samples, n_outputs)
        Theta_1, Theta_2, ...
    """

    parts: tuple[Array, ...]

    # NumPy arrays leave products with this object to its methods
    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, ...]:
        """(n_samples, n_outputs), or (n_samples,) of one output."""
        return tuple(self.parts[0].shape)

    def __mul__(self, scale: Array) -> TermCoefficients:
        """Return all parts with their columns multiplied by numbers (n_outputs,)."""
        return TermCoefficients(tuple(part * scale for part in self.parts))

    def __matmul__(self, axes: Array) -> TermCoefficients:
        """Return all parts times an array (n_outputs, q)."""
        return TermCoefficients(tuple(part @ axes for part in self.parts))

    def __getitem__(self, key: Any) -> TermCoefficients:
        """Return the same entries of all parts."""
        return TermCoefficients(tuple(part[key] for part in self.parts))
