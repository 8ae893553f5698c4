"""An output kernel that is kept for products: its matrix is formed only on demand."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import fields
from functools import cached_property
from typing import Any

from okl.numerics.arrays import Array, namespace
from okl.numerics.memory import require_memory
from okl.output_kernels.base import OutputKernel
from okl.output_kernels.eigenbasis import diagonal_matrix
from okl.output_kernels.spectral import SpectralKernel

# Arrays of the size of L that its decomposition takes.
_ARRAYS = 4


class MatrixFree(OutputKernel):
    """Base of the output kernels whose products are cheaper than a matrix.

    Implementations are dataclasses.
    """

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: the fields, without what is computed from them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @abstractmethod
    def multiply(self, rows: Array) -> Array:
        """Return ``rows L`` (n, n_outputs)."""

    def rows(self, numbers: Array) -> Array:
        """Return some rows of L (k, n_outputs)."""
        like = self.diagonal()
        xp = namespace(like)
        unit = xp.asarray(numbers)[:, None] == xp.arange(self.n_outputs)
        return self.multiply(xp.astype(unit, like.dtype))

    def factor(self) -> Array:
        """Return B (n_outputs, rank).

        Raises
        ------
        MemoryError
            If it does not fit, before it is allocated.
        """
        return self.adjoint(self._identity("Its factor", self.rank))

    def matrix(self) -> Array:
        """Return L (n_outputs, n_outputs).

        Raises
        ------
        MemoryError
            If it does not fit, before it is allocated.
        """
        return self.multiply(self._identity("Its matrix", 2 * self.n_outputs))

    def spectral(self) -> SpectralKernel:
        """Return L decomposed; it is kept for further calls.

        Raises
        ------
        MemoryError
            If its matrix and eigenvectors do not fit, before they are allocated.
        """
        return self._spectral

    @cached_property
    def _spectral(self) -> SpectralKernel:
        self._identity("Its eigenbasis", _ARRAYS * self.n_outputs)
        return SpectralKernel.from_matrix(self.matrix())

    def _identity(self, what: str, width: int) -> Array:
        """Return I (n_outputs, n_outputs), if memory holds ``width`` more columns."""
        m = self.n_outputs
        require_memory(
            8 * m * (m + width),
            f"The output kernel of {m} outputs is used by products only. {what}",
            "Use solvers that work by products, such as NewtonCG, and no attribute or "
            "loss that needs an array of n_outputs x n_outputs.",
        )
        return diagonal_matrix(namespace(self.diagonal()).ones_like(self.diagonal()))
