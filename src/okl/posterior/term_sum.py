r"""The posterior of f + b where f is a sum over kernels, and noise may be shared.

With several kernels f has the prior covariance sum_q K_q (x) L_q. An observed target
adds noise of variance alpha / weight; where each row has a term of its own, the noise
of the targets of row i that were observed, with numbers o, has the covariance

.. math:: L_{oo} + \operatorname{diag}(\alpha / w_{io}),

L that of the row's term. No common coordinates make all of this diagonal, except for
complete targets of one kernel (`okl.posterior.row_term`). The covariance of the
observed targets is therefore factorised, for each block of outputs that nothing ties to
others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from okl.coding.tasks import Tasks
from okl.kernels import Kernel, square_matrix
from okl.numerics.memory import blocks_of_rows, require_memory
from okl.output_kernels import OutputKernel
from okl.posterior.base import Posterior
from okl.posterior.observed_targets import ObservedTargets

REMEDY = "Fit on fewer rows, or use structures that leave outputs unrelated."


@dataclass(frozen=True)
class TermSumPosterior(Posterior):
    """The posterior for any kernels and weights, with or without the term of a row.

    Attributes
    ----------
    kernels : tuple of Kernel
        k_1, k_2, ... of the inputs, with their data-dependent parameters resolved.
    output_kernels : tuple of OutputKernel
        L_1, L_2, ...
    rows : array or sparse matrix (n_samples, n_features)
        Training rows.
    alpha : float
        The noise variance of an entry of weight one.
    weights : array (n_samples, n_outputs) or (n_samples, 1), or None
        Of each entry, or row; 0 where it was not observed, None for one everywhere.
    free_intercept : bool
    row_covariance : array (n_outputs, n_outputs) or None
    row_is_given : bool
    """

    kernels: tuple[Kernel, ...]
    output_kernels: tuple[OutputKernel, ...]
    rows: Any
    alpha: float
    weights: np.ndarray | None
    free_intercept: bool
    row_covariance: np.ndarray | None = None
    row_is_given: bool = False

    def __getstate__(self) -> dict[str, Any]:
        """Leave the factors behind: they are larger than the model."""
        return {k: v for k, v in vars(self).items() if k != "_blocks"}

    @property
    def couples(self) -> bool:
        """Whether a term has a covariance of outputs; that of a row may have one."""
        matrices = [kernel.matrix() for kernel in self.output_kernels]
        related = any(np.any(np.diag(np.diagonal(L)) != L) for L in matrices)
        return related or self.row_covariance is not None

    def __call__(self, X: Any, tasks: Tasks | None = None) -> np.ndarray:
        """Return the variance at rows of X, (n, n_outputs).

        Raises
        ------
        MemoryError
            If the system of the observed targets cannot fit.
        """
        assert tasks is None
        variance = np.empty((X.shape[0], self._n_outputs))
        for rows, covariance in self._in_blocks(X):
            variance[rows] = np.einsum("ijj->ij", covariance)
        return np.clip(variance, 0.0, None, out=variance)

    def covariance(self, X: Any) -> np.ndarray:
        """Return the covariance of the outputs at each row of X, (n, m, m).

        Raises
        ------
        MemoryError
            If the result, or the system, cannot fit.
        """
        n, m = X.shape[0], self._n_outputs
        require_memory(
            3 * 8 * n * m**2,
            f"The covariance of {m} outputs at {n} rows",
            "Ask for fewer rows at a time, or for return_std=True.",
        )
        found = np.empty((n, m, m))
        for rows, covariance in self._in_blocks(X):
            found[rows] = covariance
        return found

    def _in_blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield rows of X and their covariance, in blocks that fit."""
        m, blocks = self._n_outputs, self._blocks
        width = max(len(block.rows) * len(block.outputs) for block in blocks)
        width = 3 * width + self.rows.shape[0] * len(self.kernels) + 2 * m**2
        for rows in blocks_of_rows(X.shape[0], 8 * width):
            similar = [kernel(X[rows], self.rows) for kernel in self.kernels]
            own = [kernel.diagonal(X[rows]) for kernel in self.kernels]
            found = np.zeros((len(own[0]), m, m))
            for block in blocks:
                inside = block.covariance(similar, own)
                found[:, block.outputs[:, None], block.outputs] = inside
            yield rows, found

    @property
    def _n_outputs(self) -> int:
        return self.output_kernels[0].n_outputs

    @cached_property
    def _blocks(self) -> tuple[_Block, ...]:
        """The outputs that any term ties together, with the system of their targets."""
        m = self._n_outputs
        weights = np.ones((1, 1)) if self.weights is None else self.weights
        weights = np.broadcast_to(weights, (self.rows.shape[0], m))
        L = [kernel.matrix() for kernel in self.output_kernels]
        own = np.zeros((m, m)) if self.row_covariance is None else self.row_covariance
        tied = sum(matrix != 0 for matrix in [*L, own])
        n_blocks, labels = connected_components(tied, directed=False)
        each = [np.flatnonzero(labels == block) for block in range(n_blocks)]
        sizes = [int(np.count_nonzero(weights[:, outputs])) for outputs in each]
        largest = max(sizes)
        require_memory(
            8 * (2 * largest**2 + sum(size**2 for size in sizes)),
            "The standard deviation with several kernels, or with Row() and missing "
            f"targets, of {largest} observed targets that are related",
            REMEDY,
        )
        K = [square_matrix(kernel, self.rows) for kernel in self.kernels]
        return tuple(
            _Block.of(
                outputs,
                K,
                [matrix[np.ix_(outputs, outputs)] for matrix in L],
                own[np.ix_(outputs, outputs)],
                weights[:, outputs] / self.alpha,
                self.free_intercept,
            )
            for outputs in each
        )


@dataclass(frozen=True)
class _Block:
    """Outputs that are related, and their targets.

    Attributes
    ----------
    outputs : array of int (k,)
    output_kernels : sequence of arrays (k, k)
    observed : ObservedTargets
    rows, places : array of int (n_observed,)
        The row of each target, and its output, by its place in ``outputs``.
    """

    outputs: np.ndarray
    output_kernels: list[np.ndarray]
    observed: ObservedTargets
    rows: np.ndarray
    places: np.ndarray

    @classmethod
    def of(
        cls,
        outputs: np.ndarray,
        K: list[np.ndarray],
        output_kernels: list[np.ndarray],
        row_covariance: np.ndarray,
        precisions: np.ndarray,
        free_intercept: bool,
    ) -> _Block:
        """Assemble and factorise, for precisions (n_samples, k) of independent noise.

        They are zero where a target was not observed.
        """
        rows, places = np.nonzero(precisions)
        pairs, related = np.ix_(rows, rows), np.ix_(places, places)
        system = np.zeros((len(rows),) * 2)
        for matrix, L in zip(K, output_kernels, strict=True):
            system += matrix[pairs] * L[related]
        for own in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(rows)) + 1):
            system[np.ix_(own, own)] += row_covariance[np.ix_(places[own], places[own])]
        system.flat[:: len(system) + 1] += 1 / precisions[rows, places]
        m = len(outputs)
        observed = ObservedTargets.of(system, places, m, free_intercept)
        return cls(outputs, output_kernels, observed, rows, places)

    def covariance(
        self, similar: list[np.ndarray], own: list[np.ndarray]
    ) -> np.ndarray:
        """Return cov(f + b) (n, k, k), from k_q(x, x_i) (n, n_samples), k_q(x, x)."""
        prior = sum(
            k[:, None, None] * L for k, L in zip(own, self.output_kernels, strict=True)
        )
        told = sum(
            k.T[self.rows][:, :, None] * L[self.places][:, None]
            for k, L in zip(similar, self.output_kernels, strict=True)
        )
        return self.observed.covariance(np.asarray(prior), np.asarray(told))
