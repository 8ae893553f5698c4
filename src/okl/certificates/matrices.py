"""Kernel matrices as `okl.certify` takes them: one, or one for each output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from okl.numerics.arrays import Array, epsilon, namespace
from okl.numerics.validation import (
    positive_part,
)
from okl.output_kernels import TermCoefficients


def each_of(K: Any) -> Any:
    """Return the matrices of a list or a stack of them, or the only one in a list."""
    several = isinstance(K, list | tuple) and len(K) > 0 and np.ndim(K[0]) == 2
    return K if several or getattr(K, "ndim", 2) == 3 else [K]


@dataclass(frozen=True)
class MatrixPerOutput:
    """A matrix for each output, that multiplies its column."""

    matrices: list[Array]
    shared: ClassVar[bool] = False

    def __matmul__(self, right: Array) -> Array:
        products = [matrix @ right[:, j] for j, matrix in enumerate(self.matrices)]
        return namespace(right).stack(products, axis=1)


@dataclass(frozen=True)
class MatrixTerms:
    """A matrix for each of several kernels, as something that multiplies Theta_q."""

    terms: list[Any]

    def __matmul__(self, theta: TermCoefficients) -> Array:
        pairs = zip(self.terms, theta.parts, strict=True)
        return sum(matrix @ part for matrix, part in pairs)


def positive_gram(K: Array, *, centered: bool) -> tuple[Array, Array]:
    """Return K, and K or HKH, both less what rounding made negative in the second."""
    xp = namespace(K)
    seen = _centered(K) if centered else K
    matrix = np.asarray(seen)
    rounding = epsilon(K) * K.shape[0] * float(xp.max(xp.abs(K)))
    clipped = positive_part(matrix, rounding)
    if clipped is matrix:
        return K, seen
    clipped = xp.asarray(clipped, dtype=K.dtype)
    return K + (clipped - seen), clipped


def _centered(K: Array) -> Array:
    xp = namespace(K)
    K = K - xp.mean(K, axis=0)
    return K - xp.mean(K, axis=1, keepdims=True)
