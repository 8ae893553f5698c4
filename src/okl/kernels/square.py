"""The kernel matrix of some rows, with no other array of its size.

A sum or a product of kernels holds the matrices of its parts in addition to its own,
and many kernels hold one of distances: three or four n x n arrays where one is wanted.
The matrix is therefore filled block by block, and only on and above its diagonal. The
part below is the mirror image: the matrix is exactly symmetric, and takes little more
than half the time.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import gen_batches

from okl.kernels.base import Kernel, Matrix

# A block has this part of the rows, but at least so many, to make up for preparing it.
_PARTS, _FEWEST = 32, 256
# The most arrays of the size of a block for a kernel that is no combination: its own,
# and one of distances or of products.
_ALONE = 2


def square_matrix(kernel: Kernel, X: Matrix) -> np.ndarray:
    """Return k(x_i, x_j) for all rows, (n_samples, n_samples).

    Parameters
    ----------
    kernel : Kernel
        The kernel, resolved.
    X : array or sparse matrix (n_samples, n_features)

    Returns
    -------
    array (n_samples, n_samples)
        The matrix ``kernel(X)`` up to rounding.
    """
    n_samples = X.shape[0]
    n_rows = _rows_of_block(kernel, n_samples)
    if n_rows == n_samples:
        return kernel(X)
    if issparse(X):
        X = X.tocsr()
    K = np.empty((n_samples, n_samples))
    for rows in gen_batches(n_samples, n_rows):
        K[rows, rows] = kernel(X[rows])
        if rows.stop < n_samples:
            beyond = kernel(X[rows], X[rows.stop :])
            K[rows, rows.stop :] = beyond
            K[rows.stop :, rows] = beyond.T
    return K


def entries_at_peak(kernel: Kernel, n_samples: int) -> int:
    """Return how many numbers `square_matrix` holds at most, beside copies of X."""
    n_rows = _rows_of_block(kernel, n_samples)
    whole = n_samples**2 if n_rows < n_samples else 0
    return whole + _arrays(kernel) * n_rows * n_samples


def _rows_of_block(kernel: Kernel, n_samples: int) -> int:
    """Return how many rows are evaluated at a time."""
    # A user's function may treat a row and an equal row differently, as white noise
    # does: its matrix then cannot be computed block by block.
    if not kernel.is_psd:
        return n_samples
    return min(max(_FEWEST, n_samples // _PARTS), n_samples)


def _arrays(kernel: Kernel) -> int:
    """Return how many arrays of the size of its matrix a kernel holds at its peak.

    A combination keeps the result of the parts before, while the next part is computed.
    """
    parts: list[Kernel] = []
    for value in kernel.get_params(deep=False).values():
        several = value if isinstance(value, list | tuple) else [value]
        parts += [part for part in several if isinstance(part, Kernel)]
    if not parts:
        return _ALONE
    return max(_arrays(part) + (q > 0) for q, part in enumerate(parts))
