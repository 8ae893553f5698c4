"""Independent outputs: L = I."""

from __future__ import annotations

from typing import ClassVar

from okl.numerics.arrays import Array, namespace
from okl.optimization.second_derivative import Zero
from okl.output_kernels import OutputKernel, SpectralKernel
from okl.structures.base import Response, Structure


class Identity(Structure):
    """The outputs share the input kernel and nothing else, L = I.

    This is kernel ridge regression for each output, the baseline against which
    learning the relations has to pay. R is zero at I, and R*(S) = tr S.
    """

    name: ClassVar[str | None] = "identity"
    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"identity", "known", "rotation_invariant", "update", "response", "proximal"}
    )

    def known(self, like: Array) -> OutputKernel:
        """Return I for the columns of an array."""
        ones = namespace(like).ones((like.shape[1],), dtype=like.dtype)
        return SpectralKernel(ones)

    def penalty(self, output_kernel: Array) -> float:
        """Return 0, the penalty of I."""
        return 0.0

    def conjugate(self, matrix: Array) -> float:
        """Return tr S."""
        xp = namespace(matrix)
        return float(xp.sum(xp.linalg.diagonal(matrix)))

    def response(self, matrix: Array) -> Response:
        """Return tr S; the best L is I for every S."""
        return Response(self.conjugate(matrix), self.update(matrix), Zero())

    def update(self, matrix: Array, *, tol: float = 1e-6) -> Array:
        """Return I."""
        return namespace(matrix).eye(matrix.shape[0], dtype=matrix.dtype)
