"""What the structures that fix the output kernel to a matrix have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from okl.numerics.arrays import Array, inner, namespace
from okl.numerics.memory import require_memory
from okl.optimization.second_derivative import Zero
from okl.output_kernels import OutputKernel, SpectralKernel
from okl.parameters.hyperparameter import Hyperparameter
from okl.parameters.priors import LogNormal
from okl.structures.base import Response, Structure

# Arrays of the size of L while it is decomposed.
_ARRAYS = 4
# Standard deviation of the log of a weight that is learned, and how many of these its
# bounds are away from one.
_STD, _REACH = 3.0, 4.0


class Given(Structure):
    """Base of the structures whose L is a matrix known before the fit.

    R is zero at that matrix and infinite elsewhere, R*(S) = <S, L>.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"known", "update", "response", "proximal"}
    )

    @abstractmethod
    def matrix(self, n_outputs: int) -> np.ndarray:
        """Return L, (n_outputs, n_outputs), symmetric and PSD.

        Only after `validate`, which checks that the parameters fit ``n_outputs``.
        """

    def known(self, like: Array) -> OutputKernel:
        """Return the decomposed matrix.

        Raises
        ------
        MemoryError
            If the matrix and its eigenvectors do not fit, before they are allocated.
        """
        n_outputs = like.shape[1]
        require_memory(
            _ARRAYS * 8 * n_outputs**2,
            lambda: (
                f"{self} for {n_outputs} outputs, a matrix of {n_outputs} x "
                f"{n_outputs} with its eigenvectors,"
            ),
            "Use structure='identity', or 'low_rank', which form no such array.",
        )
        return SpectralKernel.from_matrix(self._matrix_for(like))

    def penalty(self, output_kernel: Array) -> float:
        """Return 0, the penalty of the given matrix."""
        return 0.0

    def conjugate(self, matrix: Array) -> float:
        """Return <S, L>."""
        return inner(matrix, self._matrix_for(matrix))

    def response(self, matrix: Array) -> Response:
        """Return <S, L>; the best L is the same for every S."""
        kernel = self._matrix_for(matrix)
        return Response(inner(matrix, kernel), kernel, Zero())

    def update(self, matrix: Array, *, tol: float = 1e-6) -> Array:
        """Return the given matrix."""
        return self._matrix_for(matrix)

    def _matrix_for(self, like: Array) -> Array:
        """Return L for the columns of an array, in its namespace."""
        matrix = self.matrix(like.shape[1])
        return namespace(like).asarray(matrix, dtype=like.dtype)


def weight_around_one(name: str, value: Any) -> Hyperparameter:
    """Return a weight, or an array, to be learned, with a wide prior around one."""
    reach = float(np.exp(_REACH * _STD))
    bounds = np.minimum(1 / reach, value / 2), np.maximum(reach, value * 2)
    return Hyperparameter(name, value, bounds, LogNormal(0.0, _STD))


def both_factors(
    left: np.ndarray, right: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return two factors of W, as `Structure.gradient` takes them."""
    return left, np.eye(len(left)) if right is None else right
