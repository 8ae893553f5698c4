r"""What the training targets tell about each output, in the coordinates of rows.

With phi(x) the coordinates of x, output t is f_t(x) = phi(x)'theta_t, up to what no
training row tells. A priori the theta_t are normal with cov(theta_t, theta_u) =
L_tu I; given the targets each has a smaller covariance M_t, and the variance of f_t(x)
is phi(x)'M_t phi(x). With a free intercept b, phi has one more entry, 1, and M_t covers
b_t too.

- Weights of rows only: M_t is diagonal. With L = V diag(l) V',

  .. math:: M_{t,kk} = \sum_j V_{tj}^2 \frac{\alpha\, l_j}{d_k l_j + \alpha},
            \qquad \operatorname{var} b_t = \alpha / \sum_i w_i.

- Weights of entries (0 where a target is missing): one dense system for each block
  of outputs that L ties together, in the coordinates (theta, b) or in the observed
  targets, whichever is smaller.

Where coordinates do not hold all of k(x, x), what is kept is M_t - L_tt I, computed
without forming the difference where it has a formula: the part that is not in the
coordinates has variance L_tt (k(x, x) - phi'phi), so that in all the variance is
L_tt k(x, x) + phi'(M_t - L_tt I) phi.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.sparse.csgraph import connected_components

from okl.coding.tasks import Tasks
from okl.numerics.memory import require_memory
from okl.output_kernels import OutputKernel, SpectralKernel
from okl.posterior.coordinates import Coordinates

_REMEDY = (
    "Use weights of shape (n_samples,) and complete targets (the closed form), a "
    "linear kernel, an output kernel of low rank or with many zeros, or fewer rows."
)


@dataclass(frozen=True)
class RowMoments:
    """M_t of diagonal form.

    Attributes
    ----------
    diagonals : array (r, n_outputs)
        The diagonal of M_t, less L_tt where coordinates are not complete.
    intercept : float
        The variance of b, the same for each output.
    """

    diagonals: np.ndarray
    intercept: float

    @classmethod
    def of(
        cls,
        coordinates: Coordinates,
        output_kernel: OutputKernel,
        alpha: float,
        weights: np.ndarray,
        *,
        free_intercept: bool,
    ) -> RowMoments:
        """Evaluate the closed form, for weights (n_samples, .) with equal columns."""
        d = coordinates.eigenvalues[:, None]
        axes = output_kernel.spectral()
        l = axes.eigenvalues  # noqa: E741
        if coordinates.complete:
            shrunk = alpha * l / (d * l + alpha)
        else:
            shrunk = -d * l**2 / (d * l + alpha)
        total = float(weights[:, 0].sum())
        return cls(axes.diagonal_of(shrunk), alpha / total if free_intercept else 0.0)

    def __call__(self, phi: np.ndarray, tasks: Tasks | None = None) -> np.ndarray:
        """Return the quadratic forms of rows (n, n_outputs), or (n, 1) of own tasks."""
        squares = phi * phi
        if tasks is None:
            return squares @ self.diagonals + self.intercept
        own = np.einsum("ij,ij->i", squares, self.diagonals.T[tasks.codes])
        return own[:, None] + self.intercept


@dataclass(frozen=True)
class EntryMoments:
    """M_t of any form.

    Attributes
    ----------
    matrices : array (n_outputs, r, r), or (n_outputs, r + 1, r + 1)
        M_t, less L_tt on the coordinates where they are not complete; its last row
        and column are the intercept's, if it is free.
    free_intercept : bool
    """

    matrices: np.ndarray
    free_intercept: bool

    @classmethod
    def of(
        cls,
        coordinates: Coordinates,
        output_kernel: OutputKernel,
        alpha: float,
        weights: np.ndarray,
        *,
        free_intercept: bool,
    ) -> EntryMoments:
        """Solve the systems of all blocks, for weights (n_samples, n_outputs).

        Raises
        ------
        MemoryError
            If a system cannot fit.
        numpy.linalg.LinAlgError
            If alpha is at rounding level beside the kernels.
        """
        training = coordinates.training()
        m, r = weights.shape[1], training.shape[1]
        size = r + free_intercept
        require_memory(
            8 * m * size**2,
            f"The standard deviation of {m} outputs that were observed in different "
            f"rows ({m} matrices of {size} x {size})",
            _REMEDY,
        )
        matrices = np.empty((m, size, size))
        for outputs, factor in _blocks(output_kernel, m):
            matrices[outputs] = _block_moments(
                training, weights[:, outputs], factor, alpha, free_intercept
            )
            if not coordinates.complete:
                own = np.sum(factor**2, axis=1)
                matrices[outputs[:, None], range(r), range(r)] -= own[:, None]
        return cls(matrices, free_intercept)

    def __call__(self, phi: np.ndarray, tasks: Tasks | None = None) -> np.ndarray:
        """Return the quadratic forms of rows (n, n_outputs), or (n, 1) of own tasks."""
        if self.free_intercept:
            phi = np.column_stack([phi, np.ones(phi.shape[0])])
        if tasks is None:
            forms = [_forms(phi, matrix) for matrix in self.matrices]
            return np.stack(forms, axis=1)
        own = np.empty((phi.shape[0], 1))
        for task, rows in tasks.groups():
            own[rows, 0] = _forms(phi[rows], self.matrices[task])
        return own


def _forms(phi: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return the quadratic form of each row (n,)."""
    return np.einsum("ij,ij->i", phi @ matrix, phi)


def _blocks(
    output_kernel: OutputKernel, n_outputs: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield outputs that L ties together, and B with B B' their block of L."""
    L = output_kernel.spectral().entries
    if not output_kernel.couples:
        for t, value in enumerate(output_kernel.diagonal()):
            yield np.array([t]), np.array([[np.sqrt(value)]])
    elif L is None:
        yield np.arange(n_outputs), output_kernel.factor()
    else:
        n_blocks, labels = connected_components(L != 0, directed=False)
        for block in range(n_blocks):
            outputs = np.flatnonzero(labels == block)
            inside = SpectralKernel.from_matrix(L[np.ix_(outputs, outputs)])
            yield outputs, inside.factor()


def _block_moments(
    training: np.ndarray,
    weights: np.ndarray,
    factor: np.ndarray,
    alpha: float,
    free_intercept: bool,
) -> np.ndarray:
    """Return M_t of a block of outputs: training (n, r), weights (n, m), B (m, q)."""
    n_observed = int(np.count_nonzero(weights))
    size = training.shape[1] * factor.shape[1] + weights.shape[1] * free_intercept
    require_memory(
        3 * 8 * min(n_observed, size) ** 2,
        f"The standard deviation with {n_observed} targets observed in different rows",
        _REMEDY,
    )
    side = _in_targets if n_observed < size else _in_coordinates
    return side(training, weights, factor, alpha, free_intercept)


def _in_coordinates(
    training: np.ndarray,
    weights: np.ndarray,
    factor: np.ndarray,
    alpha: float,
    free_intercept: bool,
) -> np.ndarray:
    """Invert the precision of (z, b), theta_t = sum_a B_ta z_a.

    The prior of z is standard normal, that of b flat.
    """
    (m, q), r = factor.shape, training.shape[1]
    if q == 0 and not free_intercept:
        return np.zeros((m, r, r))
    precision = np.zeros((q * r + m * free_intercept,) * 2, order="F")
    for a in range(q):
        rows = slice(a * r, (a + 1) * r)
        for b in range(a + 1):
            pair = weights @ (factor[:, a] * factor[:, b]) / alpha
            columns = slice(b * r, (b + 1) * r)
            precision[rows, columns] = training.T @ (pair[:, None] * training)
        if free_intercept:
            crossed = training.T @ (weights * factor[:, a]) / alpha
            precision[q * r :, rows] = crossed.T
    precision.flat[:: len(precision) + 1] += np.concatenate(
        [np.ones(q * r), weights.sum(axis=0)[: m * free_intercept] / alpha]
    )
    covariance = _inverse(precision)
    moments = np.empty((m, r + free_intercept, r + free_intercept))
    by_factor = covariance[: q * r].reshape(q, r, len(covariance))
    for t in range(m):
        half = np.tensordot(factor[t], by_factor, 1)
        inside = half[:, : q * r].reshape(r, q, r)
        moments[t, :r, :r] = np.einsum("kal,a->kl", inside, factor[t])
        if free_intercept:
            moments[t, :r, r] = moments[t, r, :r] = half[:, q * r + t]
            moments[t, r, r] = covariance[q * r + t, q * r + t]
    return moments


def _in_targets(
    training: np.ndarray,
    weights: np.ndarray,
    factor: np.ndarray,
    alpha: float,
    free_intercept: bool,
) -> np.ndarray:
    """Condition on the observed targets, b by generalised least squares."""
    m, r = factor.shape[0], training.shape[1]
    rows, outputs = np.nonzero(weights)
    seen = training[rows]
    system = seen @ seen.T
    system *= factor[outputs] @ factor[outputs].T
    system.flat[:: len(system) + 1] += alpha / weights[rows, outputs]
    root = _root(system.T)

    def whitened(columns: np.ndarray) -> np.ndarray:
        return scipy.linalg.solve_triangular(
            root, columns, lower=True, check_finite=False
        )

    if free_intercept:
        drift = whitened((outputs[:, None] == np.arange(m)).astype(np.float64))
        covariance = np.linalg.inv(drift.T @ drift)
    moments = np.empty((m, r + free_intercept, r + free_intercept))
    for t in range(m):
        told = whitened(seen * (factor[outputs] @ factor[t])[:, None])
        inside = np.sum(factor[t] ** 2) * np.eye(r) - told.T @ told
        if free_intercept:
            moved = drift.T @ told
            inside += moved.T @ covariance @ moved
            moments[t, :r, r] = moments[t, r, :r] = -moved.T @ covariance[:, t]
            moments[t, r, r] = covariance[t, t]
        moments[t, :r, :r] = inside
    return moments


def _inverse(matrix: np.ndarray) -> np.ndarray:
    """Invert a positive definite matrix; see `_root`."""
    inverse, _ = scipy.linalg.lapack.dpotri(_root(matrix), lower=True, overwrite_c=True)
    below = np.tril(inverse, -1)
    return below + below.T + np.diag(np.diagonal(inverse))


def _root(matrix: np.ndarray) -> np.ndarray:
    """Return the Cholesky factor of a matrix, of which the lower triangle is read.

    A matrix in Fortran's order is overwritten.
    """
    try:
        return scipy.linalg.cholesky(
            matrix, lower=True, overwrite_a=True, check_finite=False
        )
    except np.linalg.LinAlgError as error:
        raise np.linalg.LinAlgError(
            "The system of the standard deviation is singular up to rounding: alpha is "
            "too small beside the kernels. Fit with a larger alpha."
        ) from error
