"""A kernel matrix that does not fit, evaluated again for each product.

A block of rows is evaluated, multiplied and forgotten. Since the matrix is symmetric,
only its entries on and above the diagonal are evaluated: a block of rows is used once
as it is, and once transposed for what lies below the diagonal. A product so costs half
the evaluation of the matrix and one multiplication.

Centring and scaling act on what is multiplied:
diag(r) (K - 1 a' - a 1' + c 1 1') diag(r) needs a, c and r only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from sklearn.utils import gen_batches

from okl.kernels import Kernel
from okl.operators.base import KernelOperator

_FLOAT = 8  # bytes
# The part of the budget that a block takes; evaluating it takes as much again.
_PART = 8
# To evaluate an entry costs as much as some hundred multiplications in a product of
# large matrices; the columns of a product, say ten, share that cost.
_EVALUATION = 20.0
# Bytes beyond which a block gains nothing.
_LARGEST = 2**27


@dataclass(frozen=True)
class RowBlocks(KernelOperator):
    """A kernel matrix (n_samples, n_samples) of which no more than a block is stored.

    Parameters
    ----------
    kernel : Kernel
        With its data-dependent parameters resolved.
    rows : array or sparse matrix (n_samples, n_features)
        The training rows.
    budget : float
        Bytes that products may take.
    offsets : array (n_samples,), optional
        a; None for zero.
    constant : float, default=0.0
        c.
    roots : array (n_samples, 1), optional
        r; None for one.
    workspace : float, default=0.0
        See `Operator`.
    """

    kernel: Kernel
    rows: Any
    budget: float
    offsets: np.ndarray | None = None
    constant: float = 0.0
    roots: np.ndarray | None = None
    workspace: float = 0.0

    @staticmethod
    def least_budget(n_samples: int) -> int:
        """Return the bytes in which a block has one row."""
        return _PART * _FLOAT * n_samples

    @staticmethod
    def n_blocks(n_samples: int, budget: float) -> int:
        """Return how many blocks a product evaluates."""
        return -(-n_samples // _block_size(n_samples, budget))

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return int(self.rows.shape[0])

    @property
    def largest_entry(self) -> float:  # type: ignore[override]
        """The largest entry of the kernel matrix, which is on its diagonal."""
        roots = 1.0 if self.roots is None else float(np.max(self.roots))
        return float(np.max(self.kernel.diagonal(self.rows))) * roots**2

    @property
    def work(self) -> float:
        """More than one for each entry, which is evaluated as well."""
        return _EVALUATION * float(self.n_samples) ** 2

    def __matmul__(self, right: np.ndarray) -> np.ndarray:
        """Return K times an array (n_samples, p), block by block."""
        if self.roots is not None:
            right = self.roots * right
        result = np.zeros_like(right)
        for block in _blocks(self.n_samples, self.n_samples, self.budget):
            strip = self.kernel(self.rows[block], self.rows[block.start :])
            result[block] += strip @ right[block.start :]
            after = block.stop - block.start
            result[block.stop :] += strip[:, after:].T @ right[block]
        result = _shifted(result, right, self.offsets, self.offsets, self.constant)
        return result if self.roots is None else self.roots * result

    def diagonal(self) -> np.ndarray:
        """Return the diagonal of K (n_samples,)."""
        diagonal = self.kernel.diagonal(self.rows)
        if self.offsets is not None:
            diagonal = diagonal - 2 * self.offsets + self.constant
        return diagonal if self.roots is None else diagonal * self.roots[:, 0] ** 2

    def columns(self, rows: Any) -> np.ndarray:
        """Return some columns of K (n_samples, len(rows))."""
        columns = self.kernel(self.rows, self.rows[rows])
        if self.offsets is not None:
            columns = columns - self.offsets[:, None] - self.offsets[rows]
            columns = columns + self.constant
        if self.roots is None:
            return columns
        return self.roots * columns * self.roots[rows, 0]

    def _decompose(self) -> NoReturn:
        raise MemoryError(self._message("decomposed"))

    def solve(self, right: np.ndarray, shift: float) -> NoReturn:
        """Refuse: there is nothing to factorise.

        Raises
        ------
        MemoryError
        """
        raise MemoryError(self._message("factorised"))

    def _message(self, what: str) -> str:
        return (
            f"The kernel matrix of {self.n_samples} samples does not fit into "
            f"max_memory and cannot be {what}. Raise max_memory, or use "
            "solver='auto', which works by products."
        )

    def centered(
        self, weights: np.ndarray | None = None
    ) -> tuple[RowBlocks, np.ndarray]:
        """Return the centred matrix, and the means of the rows of K."""
        n = self.n_samples
        share = np.full(n, 1.0 / n) if weights is None else weights
        means = (self @ share[:, None])[:, 0]
        offsets = means if self.offsets is None else self.offsets + means
        constant = self.constant + float(means @ share)
        return replace(self, offsets=offsets, constant=constant), means

    def scaled(self, roots: np.ndarray) -> RowBlocks:
        """Multiply rows and columns when they are used."""
        return replace(self, roots=roots[:, None])

    def restrict(self, rows: Any) -> RowBlocks:
        """Return the operator of some of the rows."""
        return replace(
            self,
            rows=self.rows[rows],
            offsets=None if self.offsets is None else self.offsets[rows],
            roots=None if self.roots is None else self.roots[rows],
        )

    def cross(self, rows: Any, columns: Any) -> _Cross:
        """Return a block, one row index set against another, not formed."""
        return _Cross(self.restrict(rows), self.restrict(columns))


@dataclass(frozen=True)
class _Cross:
    """The entries of K between some rows and some columns."""

    left: RowBlocks
    right: RowBlocks

    def __matmul__(self, right: np.ndarray) -> np.ndarray:
        one, other = self.left, self.right
        if other.roots is not None:
            right = other.roots * right
        result = np.empty((one.n_samples, right.shape[1]))
        for block in _blocks(one.n_samples, other.n_samples, one.budget):
            result[block] = one.kernel(one.rows[block], other.rows) @ right
        result = _shifted(result, right, one.offsets, other.offsets, one.constant)
        return result if one.roots is None else one.roots * result


def _shifted(
    result: np.ndarray,
    right: np.ndarray,
    of_rows: np.ndarray | None,
    of_columns: np.ndarray | None,
    constant: float,
) -> np.ndarray:
    """Add the product with - 1 a' - a 1' + c 1 1'."""
    if of_rows is None or of_columns is None:
        return result
    sums = right.sum(axis=0)
    return result - of_columns @ right - of_rows[:, None] * sums + constant * sums


def _blocks(n_rows: int, n_columns: int, budget: float) -> Iterator[slice]:
    """Cut rows into blocks that fit."""
    return gen_batches(n_rows, _block_size(n_columns, budget))


def _block_size(n_columns: int, budget: float) -> int:
    """Return how many rows a block has."""
    size = min(budget / _PART, _LARGEST) / (_FLOAT * max(n_columns, 1))
    return max(int(size), 1)
