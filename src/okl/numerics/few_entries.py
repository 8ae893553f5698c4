"""Products with a matrix that is mostly zeros, without the zeros.

Dual variables of tasks in long form are a matrix (n_samples, n_tasks) with one entry a
row. A product with it that goes by its entries takes n_tasks times fewer
multiplications.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse

from okl.numerics.arrays import Array, is_numpy

# At most one entry in so many may differ from zero, in a matrix of at least so many
# rows: BLAS takes less time for each multiplication.
_ZEROS, _ROWS = 20, 512


def has_few_entries(matrix: Array) -> bool:
    """Tell whether products with a matrix are faster entry by entry."""
    return (
        is_numpy(matrix)
        and matrix.shape[0] >= _ROWS
        and np.count_nonzero(matrix) * _ZEROS <= matrix.size
    )


def crossed(left: Array, right: Array) -> Array:
    """Return left' right (p, q), of two matrices with the same rows.

    It goes by the entries of ``right``, or else of ``left``, if these are few.
    """
    if is_numpy(left) and has_few_entries(right):
        return np.ascontiguousarray((scipy.sparse.csr_array(right.T) @ left).T)
    if is_numpy(right) and has_few_entries(left):
        return scipy.sparse.csr_array(left.T) @ right
    return left.T @ right
