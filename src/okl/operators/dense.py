"""A stored kernel matrix."""

from __future__ import annotations

from typing import Any

from okl._array import Array, eigh, epsilon, namespace, solve_definite
from okl._tasks import Tasks
from okl._validation import positive_part
from okl.operators.base import CENTERING_ROUNDING, KernelOperator, Spectrum


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
    """

    def __init__(
        self,
        matrix: Array,
        *,
        owned: bool = True,
        trusted: bool = True,
        clipped: bool = False,
    ) -> None:
        self._matrix = matrix
        self._owned = owned
        self._trusted = trusted
        self.clipped = clipped

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return int(self._matrix.shape[0])

    def __matmul__(self, right: Array) -> Array:
        """Return K times a matrix."""
        return self._matrix @ right

    def diagonal(self) -> Array:
        """Return the diagonal of K."""
        return namespace(self._matrix).linalg.diagonal(self._matrix)

    def column(self, index: int) -> Array:
        """Return one column of K, which is a row as well."""
        return self._matrix[index, :]

    def functions(self, tasks: Tasks, column: Array) -> Array:
        """Return the values at the rows, by one pass over K."""
        return tasks.aggregate(column, self._matrix)

    def _decompose(self) -> Spectrum:
        xp = namespace(self._matrix)
        values, vectors = eigh(xp.asarray(self._matrix, copy=True), overwrite=True)
        return Spectrum.above_rounding(values, vectors, self.n_samples)

    def solve(self, right: Array, shift: float) -> Array:
        """Solve by Cholesky, on a copy of the matrix."""
        shifted = _add_to_diagonal(self._matrix, shift)
        return solve_definite(shifted, right, overwrite=True)

    def centered(self) -> tuple[Dense, Array]:
        """Centre the stored matrix, in place if it is owned."""
        xp = namespace(self._matrix)
        matrix = self._matrix if self._owned else xp.asarray(self._matrix, copy=True)
        means = xp.mean(matrix, axis=0)
        largest = float(xp.max(xp.abs(xp.linalg.diagonal(matrix))))
        matrix -= means
        matrix -= (means - xp.mean(means))[:, None]
        left = float(xp.max(xp.abs(xp.linalg.diagonal(matrix))))
        if left <= CENTERING_ROUNDING * epsilon(matrix) * largest:
            matrix[...] = 0.0
        return Dense(matrix, trusted=self._trusted, clipped=self.clipped), means

    def verified(self) -> Dense:
        """Check a matrix that is not trusted, and clip what rounding made negative."""
        if self._trusted:
            return self
        matrix = positive_part(self._matrix)
        clipped = matrix is not self._matrix
        return Dense(matrix, owned=self._owned or clipped, clipped=clipped)

    def restrict(self, rows: Any) -> Dense:
        """Return the block of some rows."""
        return Dense(
            _block(self._matrix, rows, rows),
            trusted=self._trusted,
            clipped=self.clipped,
        )

    def cross(self, rows: Any, columns: Any) -> Array:
        """Return a block, one row index set against another."""
        return _block(self._matrix, rows, columns)


def _block(matrix: Array, rows: Any, columns: Any) -> Array:
    """Return a copy of some rows and columns of a matrix."""
    xp = namespace(matrix)
    return xp.take(
        xp.take(matrix, xp.asarray(rows), axis=0), xp.asarray(columns), axis=1
    )


def _add_to_diagonal(matrix: Array, shift: float) -> Array:
    """Return a copy of a square matrix with a number added to its diagonal."""
    xp = namespace(matrix)
    n = matrix.shape[0]
    entries = xp.reshape(xp.asarray(matrix, copy=True), (-1,))
    entries[:: n + 1] += shift
    return xp.reshape(entries, (n, n))
