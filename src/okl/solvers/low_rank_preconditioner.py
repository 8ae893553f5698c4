r"""What is nearly the inverse of alpha I + V' (K (x) L) V, from a few columns of K.

With K ~ R R' by pivoted Cholesky and V ~ D^(1/2) diagonal, the matrix is the identity
plus one of low rank, and its inverse, by Woodbury's identity, that of a matrix as small
as there are columns, for each output. Where L couples the outputs, D is replaced by its
mean over the outputs: then the eigenvectors of L separate them again.

With no columns it is the diagonal, the preconditioner of Seeger (2006), appendix A.
"""

from __future__ import annotations

from collections.abc import Callable

from okl._array import Array, eigh, namespace
from okl._output_kernel import OutputKernel
from okl.operators.base import Products

# A pivot below this part of the largest says that K has no more to give.
_NEGLIGIBLE = 1e-10


def pivoted_cholesky(operator: Products, rank: int) -> Array:
    """Return R (n_samples, at most rank) with K ~ R R', the largest pivots first."""
    left = operator.diagonal()
    xp = namespace(left)
    columns = xp.zeros((left.shape[0], min(rank, left.shape[0])), dtype=left.dtype)
    largest = float(xp.max(left)) if left.shape[0] else 0.0
    for j in range(columns.shape[1]):
        pivot = int(xp.argmax(left))
        height = float(left[pivot])
        if height <= _NEGLIGIBLE * largest:
            return columns[:, :j]
        column = operator.column(pivot) - columns[:, :j] @ columns[pivot, :j]
        columns[:, j] = column / height**0.5
        left = xp.clip(left - columns[:, j] ** 2, 0.0, None)
    return columns


def preconditioner(
    diagonal: Array, columns: Array, weights: Array, kernel: OutputKernel, alpha: float
) -> Callable[[Array], Array]:
    """Return the approximate inverse as a map of arrays (n_samples, n_outputs).

    Parameters
    ----------
    diagonal : array (n_samples,)
        That of K.
    columns : array (n_samples, k)
        R.
    weights : array (n_samples, n_outputs)
        D.
    kernel : OutputKernel
        L.
    alpha : float
        Strength of the regularisation.
    """
    xp = namespace(weights)
    if columns.shape[1] == 0:
        variances = xp.linalg.diagonal(kernel.matrix())
        scale = 1 / (alpha + weights * diagonal[:, None] * variances)
        return lambda right: scale * right
    if kernel.basis is None:
        return _separate(columns, weights * kernel.eigenvalues, alpha)
    return _coupled(columns, xp.mean(weights, axis=1), kernel, alpha)


def _separate(columns: Array, weights: Array, alpha: float) -> Callable[[Array], Array]:
    """Invert alpha I + D_j^(1/2) R R' D_j^(1/2) for each output j."""
    xp = namespace(weights)
    roots = xp.sqrt(weights)
    identity = alpha * xp.eye(columns.shape[1], dtype=columns.dtype)
    inverses = []
    for j in range(weights.shape[1]):
        weighted = columns * roots[:, j][:, None]
        inverses.append(xp.linalg.inv(weighted.T @ weighted + identity))

    def apply(right: Array) -> Array:
        inside = columns.T @ (roots * right)
        solved = [inverse @ inside[:, j] for j, inverse in enumerate(inverses)]
        return (right - roots * (columns @ xp.stack(solved, axis=1))) / alpha

    return apply


def _coupled(
    columns: Array, mean: Array, kernel: OutputKernel, alpha: float
) -> Callable[[Array], Array]:
    """Invert alpha I + (d^(1/2) R R' d^(1/2)) (x) L for one weight d a row."""
    weighted = columns * namespace(mean).sqrt(mean)[:, None]
    values, vectors = eigh(weighted.T @ weighted)
    outputs = kernel.basis
    assert outputs is not None
    basis = weighted @ vectors  # its columns have the squared norms ``values``
    lengths = kernel.eigenvalues
    divisor = values[:, None] * lengths + alpha

    def apply(right: Array) -> Array:
        inside = basis.T @ kernel.coordinates(right)
        solved = basis @ (inside * (lengths / divisor))
        return (right - solved @ outputs.T) / alpha

    return apply
