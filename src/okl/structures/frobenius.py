"""A full-rank output kernel, penalised by its squared Frobenius norm."""

from __future__ import annotations

from typing import ClassVar

from okl.numerics.arrays import Array, eigh, inner, namespace
from okl.optimization.regions import Free
from okl.optimization.second_derivative import Unity
from okl.structures.base import Response, Structure


class Frobenius(Structure):
    r"""Learn a full output kernel, R(L) = ||L||_F^2 / 2.

    R*(S) = ||S||_F^2 / 2 for PSD S, and the update is (P / 2)^(1/3). Dinuzzo, Ong,
    Gehler & Pillonetto (2011), *Learning output kernels with block coordinate
    descent*, equation (1); the update of their Lemma 4.1 does not minimise it, and is
    not this one.
    """

    name: ClassVar[str | None] = "frobenius"
    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"rotation_invariant", "update", "response", "proximal"}
    )

    def penalty(self, output_kernel: Array) -> float:
        """Return ||L||_F^2 / 2."""
        return inner(output_kernel, output_kernel) / 2

    def conjugate(self, matrix: Array) -> float:
        """Return ||S||_F^2 / 2."""
        return inner(matrix, matrix) / 2

    def response(self, matrix: Array) -> Response:
        """Return R*(S); the best L is S."""
        return Response(self.conjugate(matrix), matrix, Unity())

    def region(self, n_outputs: int) -> Free:
        """Return the region of all PSD matrices."""
        return Free()

    def update(self, matrix: Array, *, tol: float = 1e-6) -> Array:
        """Return (P / 2)^(1/3)."""
        xp = namespace(matrix)
        values, vectors = eigh(matrix)
        roots = (xp.clip(values, 0.0, None) / 2) ** (1 / 3)
        return (vectors * roots) @ vectors.T
