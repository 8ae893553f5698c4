"""A stored kernel matrix."""

from __future__ import annotations

from typing import Any

from okl.coding.tasks import Tasks
from okl.numerics.arrays import (
    Array,
    add_to_diagonal,
    eigh,
    epsilon,
    is_numpy,
    namespace,
    solve_definite,
    symmetric_product,
)
from okl.numerics.few_entries import crossed, has_few_entries
from okl.numerics.validation import positive_part
from okl.operators.base import CENTERING_ROUNDING, KernelOperator, Spectrum
from okl.operators.by_task import ByTask, DenseByTask
from okl.operators.counting import count_product

# Columns of a product that takes no longer than reading the matrix, and rows of the
# blocks in which it is read, which fit into a cache. OpenBLAS does not copy blocks for
# products of up to a million multiplications.
_FEW, _BLOCK = 15, 256
# Rounding errors of an entry, in machine epsilons of the largest.
_ROUNDING = 4.0


class Dense(KernelOperator):
    """K as an array (n_samples, n_samples).

    At the peak of the eigendecomposition there are three such arrays: the matrix,
    a copy that LAPACK destroys and the eigenvectors.

    Parameters
    ----------
    matrix : array (n_samples, n_samples)
        Symmetric; kept by reference.
    owned : bool, default=True
        Whether the matrix may be overwritten.
    trusted : bool, default=True
        Whether the matrix is known to be PSD up to rounding.
    clipped : bool, default=False
        Whether negative eigenvalues were set to zero.
    roots : array (n_samples, 1), optional
        K is the matrix with its rows and columns multiplied by these.
    workspace : float, default=infinity
        See `Operator`.
    largest_entry : float, optional
        The one of the matrix before it was centred; None for that of this one.
    """

    def __init__(
        self,
        matrix: Array,
        *,
        owned: bool = True,
        trusted: bool = True,
        clipped: bool = False,
        roots: Array | None = None,
        workspace: float = float("inf"),
        largest_entry: float | None = None,
    ) -> None:
        self._matrix = matrix
        self.workspace = workspace
        if largest_entry is None:
            xp = namespace(matrix)
            _check_matrix(matrix, xp)
            # of a PSD matrix it is on the diagonal
            largest_entry = float(xp.max(xp.abs(xp.linalg.diagonal(matrix))))
        self.largest_entry = largest_entry
        self._roots = roots
        self._owned = owned
        self._trusted = trusted
        self.clipped = clipped

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return int(self._matrix.shape[0])

    def __matmul__(self, right: Array) -> Array:
        """Return K times a matrix."""
        count_product()
        if self._roots is None:
            return _product(self._matrix, right)
        return self._roots * _product(self._matrix, self._roots * right)

    def diagonal(self) -> Array:
        """Return the diagonal of K."""
        diagonal = namespace(self._matrix).linalg.diagonal(self._matrix)
        return diagonal if self._roots is None else diagonal * self._roots[:, 0] ** 2

    def columns(self, rows: Any) -> Array:
        """Return some columns of K, which are rows as well."""
        xp = namespace(self._matrix)
        chosen = xp.take(self._matrix, xp.asarray(rows), axis=0).T
        if self._roots is None:
            return chosen
        return self._roots * chosen * xp.take(self._roots[:, 0], xp.asarray(rows))

    def by_task(self, tasks: Tasks, block: tuple[Any, Any] | None = None) -> ByTask:
        """Return what multiplies matrices with one entry a row, in one pass over K."""
        if block is not None:
            rows, columns = block
            at = tasks.restrict(rows)
            return DenseByTask(self.cross(columns, rows), tasks.restrict(columns), at)
        if self._roots is None:
            return DenseByTask(self._matrix, tasks)
        return super().by_task(tasks)

    def _decompose(self) -> Spectrum:
        values, vectors = eigh(_scaled(self._matrix, self._roots), overwrite=True)
        return Spectrum.above_rounding(values, vectors, self.n_samples)

    def solve(self, right: Array, shift: float) -> Array:
        """Solve by Cholesky, on a copy of the matrix."""
        shifted = add_to_diagonal(_scaled(self._matrix, self._roots), shift)
        return solve_definite(shifted, right, overwrite=True)

    def centered(self, weights: Array | None = None) -> tuple[Dense, Array]:
        """Centre the stored matrix, in place if it is owned."""
        xp = namespace(self._matrix)
        matrix = self._matrix if self._owned else xp.asarray(self._matrix, copy=True)
        means = xp.mean(matrix, axis=0) if weights is None else matrix @ weights
        mean = xp.mean(means) if weights is None else means @ weights
        matrix -= means
        matrix -= (means - mean)[:, None]
        left = float(xp.max(xp.abs(xp.linalg.diagonal(matrix))))
        largest = self.largest_entry
        if left <= CENTERING_ROUNDING * epsilon(matrix) * largest:
            if float(xp.max(matrix)) == float(xp.min(matrix)):
                largest = 0.0  # entries are equal, and no digit of them was lost
            matrix[...] = 0.0
        centered = Dense(
            matrix,
            trusted=self._trusted,
            clipped=self.clipped,
            workspace=self.workspace,
            largest_entry=largest,
        )
        return centered, means

    def scaled(self, roots: Array) -> Dense:
        """Multiply rows and columns when they are used, not in memory."""
        return Dense(
            self._matrix,
            owned=False,
            trusted=self._trusted,
            clipped=self.clipped,
            roots=roots[:, None],
            workspace=self.workspace,
            largest_entry=self.largest_entry * float(max(roots)) ** 2,
        )

    def verified(self) -> Dense:
        """Check a matrix that is not trusted, and clip what rounding made negative."""
        if self._trusted:
            return self
        # what rounding may make of an eigenvalue of zero
        rounding = _ROUNDING * epsilon(self._matrix) * self.largest_entry
        matrix = positive_part(self._matrix, rounding * self.n_samples)
        clipped = matrix is not self._matrix
        return Dense(
            matrix,
            owned=self._owned or clipped,
            clipped=clipped,
            roots=self._roots,
            workspace=self.workspace,
            largest_entry=self.largest_entry,
        )

    def block(self, rows: Any, output: int | None = None) -> Array:
        """Return a copy of a block of the matrix."""
        return self.cross(rows, rows)

    def restrict(self, rows: Any) -> Dense:
        """Return the block of some rows."""
        return Dense(
            _block(self._matrix, rows, rows),
            trusted=self._trusted,
            clipped=self.clipped,
            roots=None if self._roots is None else self._roots[rows, :],
            workspace=self.workspace,
            largest_entry=self.largest_entry,
        )

    def cross(self, rows: Any, columns: Any) -> Array:
        """Return a block, one row index set against another."""
        block = _block(self._matrix, rows, columns)
        if self._roots is None:
            return block
        return self._roots[rows, :] * block * self._roots[columns, 0]


def _check_matrix(matrix: Array, xp: Any) -> None:
    """Raise ValueError unless it is square, and of real floating point numbers."""
    shape = tuple(matrix.shape)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(
            f"A kernel matrix is square, got the shape {shape}: a row and a column for "
            "each training row."
        )
    if not xp.isdtype(matrix.dtype, "real floating"):
        raise ValueError(
            "A kernel matrix has floating point numbers, got "
            f"{matrix.dtype}: convert it, for instance to float64."
        )


def _product(matrix: Array, right: Array) -> Array:
    """Return a symmetric matrix times another.

    A product with few columns takes as long as reading the matrix. To read the entries
    on and above the diagonal is enough: a block of them is used as it is and, while it
    is in the cache, transposed for its mirror image. Up to twice as many columns are
    multiplied in two groups, as BLAS copies the block where a product is larger. Many
    columns that are mostly zeros, as those of tasks in long form, are multiplied entry
    by entry.
    """
    n = matrix.shape[0]
    if right.shape[1] == 1 and is_numpy(matrix):
        return symmetric_product(matrix, right)
    width = right.shape[1]
    if n < 2 * _BLOCK:
        return matrix @ right
    if width > 2 * _FEW:
        by_entries = has_few_entries(right)
        return crossed(matrix, right) if by_entries else matrix @ right
    xp = namespace(matrix)
    half = (width + 1) // 2
    halves = [slice(0, half), slice(half, width)]
    groups = [slice(0, width)] if width <= _FEW else halves
    result = xp.zeros(right.shape, dtype=xp.result_type(matrix, right))
    for start in range(0, n, _BLOCK):
        rows = slice(start, min(start + _BLOCK, n))
        for few in groups:
            result[rows, few] += matrix[rows, rows] @ right[rows, few]
        for after in range(start + _BLOCK, n, _BLOCK):
            columns = slice(after, min(after + _BLOCK, n))
            block = matrix[rows, columns]
            for few in groups:
                result[rows, few] += block @ right[columns, few]
                result[columns, few] += block.T @ right[rows, few]
    return result


def _scaled(matrix: Array, roots: Array | None) -> Array:
    """Return a copy with rows and columns multiplied by the roots."""
    copy = namespace(matrix).asarray(matrix, copy=True)
    if roots is not None:
        copy *= roots
        copy *= roots[:, 0]
    return copy


def _block(matrix: Array, rows: Any, columns: Any) -> Array:
    """Return a copy of some rows and columns of a matrix."""
    xp, n = namespace(matrix), matrix.shape[0]
    rows, columns = xp.asarray(rows), xp.asarray(columns)
    if rows.shape == columns.shape == (n,):
        # all of them, as in long form, in a tenth of the time
        in_order = xp.arange(n)
        if xp.all(rows == in_order) and xp.all(columns == in_order):
            return xp.asarray(matrix, copy=True)
    return xp.take(xp.take(matrix, rows, axis=0), columns, axis=1)
