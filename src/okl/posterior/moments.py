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
  of outputs that L ties together, see `okl.posterior.systems`.

Where coordinates do not hold all of k(x, x), what is kept is M_t - L_tt I, computed
without forming the difference where it has a formula: the part that is not in the
coordinates has variance L_tt (k(x, x) - phi'phi), so that in all the variance is
L_tt k(x, x) + phi'(M_t - L_tt I) phi.

The covariance of two outputs at x has the same forms: with weights of rows the
eigenvectors of L are independent, else the systems have it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse.csgraph import connected_components

from okl.coding.tasks import Tasks
from okl.numerics.memory import available_memory
from okl.output_kernels import OutputKernel, SpectralKernel
from okl.posterior.coordinates import Coordinates
from okl.posterior.entry_system import EntrySystem
from okl.posterior.systems import system_of

# The part of the free memory that matrices of all outputs may take, operations that
# take some seconds, and by how much a system is larger than a matrix that is quicker.
_PART, _SOON, _LARGER = 0.5, 1e11, 4


@dataclass(frozen=True)
class RowMoments:
    """M_t of diagonal form.

    Attributes
    ----------
    shrunk : array (r, q)
        The diagonal of the covariance of theta along each eigenvector of L, less the
        eigenvalue where coordinates are not complete.
    axes : SpectralKernel
        L.
    intercept : float
        The variance of b, the same for each output.
    """

    shrunk: np.ndarray
    axes: SpectralKernel
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
        return cls(shrunk, axes, alpha / total if free_intercept else 0.0)

    @cached_property
    def diagonals(self) -> np.ndarray:
        """The diagonal of M_t, less L_tt where coordinates are not complete, (r, m)."""
        return self.axes.diagonal_of(self.shrunk)

    def along_axes(self, phi: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """Return the variance along each eigenvector of L of rows, (n, q).

        Rest (n,) is what k(x, x) is where coordinates are not complete, else zero.
        """
        own = rest[:, None] * self.axes.eigenvalues
        return (phi * phi) @ self.shrunk + own + self.intercept

    def along(
        self, phi: np.ndarray, other: np.ndarray, direction: np.ndarray
    ) -> np.ndarray:
        """Return the covariance of a combination of outputs between rows.

        Where coordinates are not complete, less the prior covariance.
        """
        shares = (direction @ self.axes.axes()) ** 2
        inside = (phi * (self.shrunk @ shares)) @ other.T
        return inside + self.intercept * float(direction @ direction)

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
        matrices = np.empty((m, size, size))
        for outputs, factor in _blocks(output_kernel, m):
            matrices[outputs] = system_of(
                training, weights[:, outputs], factor, alpha, free_intercept
            ).moments()
            if not coordinates.complete:
                own = np.sum(factor**2, axis=1)
                matrices[outputs[:, None], range(r), range(r)] -= own[:, None]
        return cls(matrices, free_intercept)

    @staticmethod
    def pay(n_rows: int, size: int, n_outputs: int, n_observed: int) -> bool:
        """Tell whether matrices of all outputs are worth it for so many rows, and fit.

        To find one takes as long as the variances of as many rows as its size. Where
        that is soon done, and matrices are much smaller than the system, later rows
        have theirs in next to no time. While matrices are found there are two of each.
        """
        room = available_memory()
        fit = room is None or 2 * 8 * n_outputs * size**2 < _PART * room
        soon = float(n_outputs) * size * n_observed**2 < _SOON
        quicker = soon and _LARGER * size < n_observed
        return fit and (quicker or n_rows > size)

    def __call__(self, phi: np.ndarray, tasks: Tasks | None = None) -> np.ndarray:
        """Return the quadratic forms of rows (n, n_outputs), of all outputs."""
        assert tasks is None  # those of one output a row come from its system
        if self.free_intercept:
            phi = np.column_stack([phi, np.ones(phi.shape[0])])
        return np.stack([_forms(phi, matrix) for matrix in self.matrices], axis=1)


@dataclass(frozen=True)
class OutputSystems:
    """Variances and covariances of outputs, from the system of each block of L.

    Attributes
    ----------
    blocks : tuple of (array of int, array, EntrySystem)
        The outputs, B with B B' their block of L, and their system.
    n_outputs : int
    """

    blocks: tuple[tuple[np.ndarray, np.ndarray, EntrySystem], ...]
    n_outputs: int

    @property
    def largest(self) -> int:
        """The size of the largest system."""
        return max(system.size for _, _, system in self.blocks)

    @classmethod
    def of(
        cls,
        coordinates: Coordinates,
        output_kernel: OutputKernel,
        alpha: float,
        weights: np.ndarray,
        *,
        free_intercept: bool,
    ) -> OutputSystems:
        """Factorise the systems, as `EntryMoments.of`."""
        training, m = coordinates.training(), weights.shape[1]
        blocks = tuple(
            (
                outputs,
                factor,
                system_of(training, weights[:, outputs], factor, alpha, free_intercept),
            )
            for outputs, factor in _blocks(output_kernel, m)
        )
        return cls(blocks, m)

    def __call__(self, phi: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """Return the covariance of outputs at rows (n, m, m).

        Rest (n,) is k(x, x) less what is in the coordinates.
        """
        found = np.zeros((len(phi), self.n_outputs, self.n_outputs))
        for outputs, factor, system in self.blocks:
            own = system.covariance(phi)
            own += rest[:, None, None] * (factor @ factor.T)
            found[:, outputs[:, None], outputs] = own
        return found

    def variances(
        self, phi: np.ndarray, rest: np.ndarray, tasks: Tasks | None = None
    ) -> np.ndarray:
        """Return the variances of outputs at rows (n, m), or (n, 1) of own tasks.

        Rest as above.
        """
        n = len(phi)
        if tasks is None:
            found = np.zeros((n, self.n_outputs))
            for outputs, factor, system in self.blocks:
                found[:, outputs] = system.all_variances(phi)
                found[:, outputs] += rest[:, None] * np.sum(factor**2, axis=1)
            return found
        found = np.zeros((n, 1))
        for outputs, factor, system in self.blocks:
            numbers = np.full(self.n_outputs, -1)
            numbers[outputs] = np.arange(len(outputs))
            rows = np.flatnonzero(numbers[tasks.codes] >= 0)
            if len(rows):
                own = numbers[tasks.codes[rows]]
                size = np.sum(factor[own] ** 2, axis=1)
                found[rows, 0] = system.variances(phi[rows], own) + rest[rows] * size
        return found

    def along(
        self, phi: np.ndarray, other: np.ndarray, direction: np.ndarray
    ) -> np.ndarray:
        """Return the covariance of a combination of outputs between rows.

        It is that of the part in the coordinates.
        """
        found = np.zeros((len(phi), len(other)))
        for outputs, _, system in self.blocks:
            found += system.along(phi, other, direction[outputs])
        return found


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
