r"""All targets as one column, where outputs are related and not all were observed.

Outputs that L relates are independent in its eigenvectors only if all of them were
observed in the same rows. Otherwise the targets that were observed, of rows r_e and
outputs t_e, are one column with the covariance

.. math:: A = M + W^{-1}, \qquad M_{ef} = K_{r_e r_f} L_{t_e t_f} / \alpha,

and a free intercept for each output, or none. An evaluation costs the cube of their
number. With G the weights of the entries of M, those of K_ij are the sum of
G_ef L_{t_e t_f} / alpha over the targets e of row i and f of row j, and those of L are
found likewise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from okl.operators import Operator
from okl.selection.criteria.decoupled import Derivative
from okl.selection.criteria.kernel_rows import kernel_of_rows, require_memory_for
from okl.selection.criteria.output_units import OutputUnits
from okl.selection.criteria.projected_inverse import ProjectedInverse


@dataclass(frozen=True)
class Joined:
    """Targets that were observed, as one column; the interface is that of `Decoupled`.

    Arrays of targets are columns (n_samples n_outputs, 1), row by row, with zeros where
    there is none; the block has those that were observed.

    Attributes
    ----------
    block : ProjectedInverse
        With M in the place of K.
    kernel : array (n_samples, n_samples)
        K.
    relation : array (n_outputs, n_outputs)
        D L D / alpha.
    scales : array (n_outputs,)
        The diagonal of D, by which outputs are multiplied.
    targets : array (n_samples n_outputs, 1)
        Y D.
    weights : array (n_samples n_outputs, 1)
    """

    block: ProjectedInverse
    kernel: np.ndarray
    relation: np.ndarray
    scales: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    couples = True

    @classmethod
    def of(
        cls,
        operator: Operator,
        units: OutputUnits,
        targets: np.ndarray,
        weights: np.ndarray,
        *,
        free_intercept: bool,
    ) -> Joined:
        """Factorise and invert.

        Targets and weights are (n_samples, n_outputs). With free intercepts an output
        that was observed once says nothing, and is left out.
        """
        assert units.relation is not None
        n, m = targets.shape
        counted = weights > 0
        if free_intercept:
            counted &= counted.sum(axis=0) > 1
        numbers = np.flatnonzero(counted)
        rows, outputs = np.divmod(numbers, m)
        require_memory_for(len(numbers))
        kernel = kernel_of_rows(operator, np.arange(n), centred=free_intercept)
        intercepts = None
        if free_intercept:
            intercepts = np.unique(outputs, return_inverse=True)[1].ravel()
        scaled = (targets * units.scales).reshape(-1, 1)
        column = weights.reshape(-1, 1)
        block = ProjectedInverse.of(
            np.array([0]),
            numbers,
            column[numbers, 0],
            _between(kernel, rows) * _between(units.relation, outputs),
            1.0,
            scaled[numbers],
            intercepts,
        )
        return cls(block, kernel, units.relation, units.scales, scaled, column)

    @property
    def blocks(self) -> list[ProjectedInverse]:
        """The only block."""
        return [self.block]

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of all targets of some rows."""
        m = len(self.scales)
        return (rows[:, None] * m + np.arange(m)).ravel()

    def to_outputs(self, column: np.ndarray) -> np.ndarray:
        """Return a column of rows / D as a matrix (n, n_outputs)."""
        return column.reshape(-1, len(self.scales)) / self.scales

    def of_columns(self, rows: np.ndarray) -> np.ndarray:
        """Return X / D as a column: derivatives by it, from those by outputs."""
        return (rows / self.scales).reshape(-1, 1)

    def gradients(
        self, found: Derivative, *, of_kernel: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives by K, or an array without columns, and by D L D."""
        (part,) = found.parts
        weights = self.block.formed(part)
        kernel, relation = self.kernel, self.relation
        n, m = len(kernel), len(relation)
        rows, outputs = np.divmod(self.block.rows, m)
        of_relation = _summed(weights * _between(kernel, rows), outputs, m)
        if not of_kernel:
            return np.empty((n, 0)), of_relation
        weights *= _between(relation, outputs)
        return _summed(weights, rows, n), of_relation

    def of_targets(self, found: Derivative) -> np.ndarray:
        """Return the derivative by Y D (n_samples, n_outputs)."""
        assert found.of_targets is not None
        return found.of_targets.reshape(-1, len(self.scales))


def _between(matrix: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return the entries of a matrix between some of its rows, with repetitions."""
    if len(numbers) == len(matrix) and np.all(np.diff(numbers) == 1):
        return matrix
    return matrix[np.ix_(numbers, numbers)]


def _summed(matrix: np.ndarray, numbers: np.ndarray, size: int) -> np.ndarray:
    """Return the sums (size, size) over the rows, and columns, of the same number."""
    if len(numbers) == size and np.all(np.diff(numbers) == 1):
        return matrix
    places = np.ones(len(numbers)), numbers, np.arange(len(numbers) + 1)
    members: Any = scipy.sparse.csr_array(places, shape=(len(numbers), size))
    return members.T @ (matrix @ members)
