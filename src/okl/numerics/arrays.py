"""The array namespace of the solvers, and LAPACK's own options.

Solver and certificate code is written against the Python array API standard: it asks an
array for its namespace and uses only functions of that, so that the same lines run on
NumPy and on any other conforming library. The few calls that are faster with LAPACK's
own options (an eigensolver chosen by size, work done in place, a Cholesky solve) are
gathered here; for other namespaces these use the standard's functions.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import scipy.linalg

Array = Any  # an array of any namespace that follows the standard

# Divide and conquer is faster, by a tenth at a thousand rows, but needs a workspace of
# two more matrices; relatively robust representations take one matrix for the vectors.
_DIVIDE_AND_CONQUER_UP_TO = 1024
# Up to so many rows LAPACK gains nothing from more than the least workspace, and
# SciPy's checks take as long as the decomposition of a few rows.
_SMALL = 128


def namespace(array: Array) -> Any:
    """Return the array API namespace of an array.

    NumPy arrays are recognised by their type: to ask for the namespace takes three
    times as long, and solvers with small arrays ask at each step. CuPy and PyTorch have
    no namespace of their own that follows the standard; array-api-compat has one for
    each.

    Raises
    ------
    ModuleNotFoundError
        If the array's library needs array-api-compat, which is not installed.
    """
    if type(array) is np.ndarray:
        return np
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    try:
        from array_api_compat import array_namespace
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{type(array)!r} has no array API namespace of its own; install "
            "array-api-compat, which has one for CuPy and PyTorch: "
            'pip install "okl[gpu]".'
        ) from error
    return array_namespace(array)


def is_numpy(array: Array) -> bool:
    """Tell whether LAPACK's own options can be used on this array."""
    return isinstance(array, np.ndarray)


def epsilon(array: Array) -> float:
    """Return the machine epsilon of the array's real floating-point type."""
    return float(namespace(array).finfo(array.dtype).eps)


def eigh(matrix: Array, *, overwrite: bool = False) -> tuple[Array, Array]:
    """Return ascending eigenvalues and eigenvectors of a symmetric matrix.

    Parameters
    ----------
    matrix : array (n, n)
        Symmetric; only one triangle is read.
    overwrite : bool, default=False
        Whether the matrix may be destroyed, which saves a copy.
    """
    if is_numpy(matrix):
        driver = "evd" if matrix.shape[0] <= _DIVIDE_AND_CONQUER_UP_TO else "evr"
        # the transpose of a C-ordered symmetric matrix is the same matrix in the
        # order LAPACK works in: no copy
        columns = matrix.T if matrix.flags.c_contiguous else matrix
        if 0 < matrix.shape[0] <= _SMALL and matrix.dtype == np.float64:
            values, vectors, info = scipy.linalg.lapack.dsyevd(
                columns, lower=1, overwrite_a=overwrite
            )
            if info == 0:
                return values, vectors
        return scipy.linalg.eigh(
            columns, driver=driver, overwrite_a=overwrite, check_finite=False
        )
    values, vectors = namespace(matrix).linalg.eigh(matrix)
    return values, vectors


def n_matrices_of_eigh(n: int) -> int:
    """Return how many matrices (n, n) `eigh` holds, with the one it decomposes."""
    return 3 if n <= _DIVIDE_AND_CONQUER_UP_TO else 2


def solve_definite(matrix: Array, right: Array, *, overwrite: bool = False) -> Array:
    """Solve with a symmetric positive definite matrix (n, n); right is (n, p).

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not numerically positive definite.
    """
    if is_numpy(matrix):
        columns = matrix.T if matrix.flags.c_contiguous else matrix
        factor = scipy.linalg.cho_factor(
            columns, lower=True, overwrite_a=overwrite, check_finite=False
        )
        return scipy.linalg.cho_solve(factor, right, check_finite=False)
    return namespace(matrix).linalg.solve(matrix, right)


def cholesky(matrix: Array) -> Array:
    """Return the lower triangle R with R R' a symmetric positive definite matrix.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not numerically positive definite. The standard does not say
        what happens then: CuPy returns NaN, and PyTorch raises its own error.
    """
    xp = namespace(matrix)
    try:
        root = xp.linalg.cholesky(matrix)
    except RuntimeError as error:
        raise np.linalg.LinAlgError(str(error)) from error
    if not xp.all(xp.isfinite(root)):
        raise np.linalg.LinAlgError("The matrix is not positive definite.")
    return root


def definite_solver(matrix: Array) -> Callable[[Array], Array]:
    """Return a solver of a symmetric positive definite matrix, factorised once.

    It also solves with a matrix that is not definite, less accurately.
    """
    if matrix.shape[0] == 0:  # which LAPACK refuses
        return lambda right: right
    if is_numpy(matrix):
        # the transpose is the same matrix in the order of LAPACK
        factor, info = scipy.linalg.lapack.dpotrf(matrix.T, lower=True)
        if info == 0:
            dpotrs = scipy.linalg.lapack.dpotrs
            return lambda right: dpotrs(factor, right, lower=True)[0]
    else:
        # the standard has no triangular solver; R^-T R^-1 stays symmetric and definite
        # under rounding, which conjugate gradients need, and which the inverse does not
        with suppress(np.linalg.LinAlgError):
            root = namespace(matrix).linalg.inv(cholesky(_definite(matrix)))
            return lambda right: root.T @ (root @ right)
    inverse = namespace(matrix).linalg.inv(matrix)
    return lambda right: inverse @ right


def shifted_solver(matrix: Array, shift: Array | float) -> Callable[[Array], Array]:
    """Return a solver of a PSD matrix plus a diagonal, up to rounding."""
    return definite_solver(_definite(matrix, shift))


def _definite(matrix: Array, shift: Array | float = 0.0) -> Array:
    """Return the matrix plus a diagonal, and plus a bound of its rounding."""
    xp, size = namespace(matrix), matrix.shape[0]
    rounding = epsilon(matrix) * size * xp.max(xp.linalg.diagonal(matrix))
    return add_to_diagonal(xp.asarray(matrix, copy=True), shift + rounding)


def add_to_diagonal(matrix: Array, shift: Array | float) -> Array:
    """Add a number, or one for each row, to the diagonal of a matrix, in place."""
    xp, n = namespace(matrix), matrix.shape[0]
    entries = xp.reshape(matrix, (-1,))
    entries[:: n + 1] += shift
    return xp.reshape(entries, (n, n))


def symmetric(matrix: Array) -> Array:
    """Return the symmetric part of a square matrix, or of each in a stack of them."""
    return (matrix + namespace(matrix).matrix_transpose(matrix)) / 2


def count(flags: Array) -> int:
    """Return how many are true: the standard has no sum of truth values."""
    xp = namespace(flags)
    return int(xp.sum(xp.astype(flags, xp.int64)))


def symmetric_product(matrix: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Return a symmetric matrix times a column (n, 1), reading half of the matrix.

    That is the half on and above the diagonal.
    """
    doubles = matrix.dtype == np.float64 and column.dtype == np.float64
    if not (doubles and matrix.flags.c_contiguous):
        return matrix @ column
    # the transpose is the same matrix in the order of BLAS
    return scipy.linalg.blas.dsymv(1.0, matrix.T, column[:, 0], lower=True)[:, None]


def row_sums(matrix: Array) -> Array:
    """Return the sum of each row (n, 1), by a product with ones.

    For short rows that takes a fifth of the time of NumPy's sum.
    """
    ones = namespace(matrix).ones((matrix.shape[1], 1), dtype=matrix.dtype)
    return matrix @ ones


def column_sums(matrix: Array) -> Array:
    """Return the sum of each column (m,), by a product with ones as well."""
    return namespace(matrix).ones((matrix.shape[0],), dtype=matrix.dtype) @ matrix


def row_inner(left: Array, right: Array) -> Array:
    """Return the inner product of each row of a matrix with that of another (n, 1)."""
    return namespace(left).vecdot(left, right)[:, None]


def column_inner(left: Array, right: Array) -> Array:
    """Return the inner product of each column of a matrix with that of another."""
    if is_numpy(left):
        return np.einsum("ij,ij->j", left, right)
    return namespace(left).sum(left * right, axis=0)


def inner(left: Array, right: Array) -> float:
    """Return the sum of the entrywise product of two arrays of the same shape."""
    if is_numpy(left):
        return float(np.vdot(left, right))
    return float(namespace(left).sum(left * right))
