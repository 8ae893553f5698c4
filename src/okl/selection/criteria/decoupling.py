"""Targets made independent: in the eigenvectors of L, or output by output.

With the eigenvectors V of L the columns of Y V are independent problems. Those with the
same eigenvalue, alpha, rows and weights share one inverse; all outputs do where L = I
and all targets were observed. Many that differ by eigenvalue or alpha alone share one
decomposition instead (`shared_basis.py`), as do all where the kernel stays the same: it
is kept from one evaluation to the next.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from okl.numerics.arrays import eigh
from okl.operators import Operator
from okl.selection.criteria.decoupled import Decoupled, alike_columns, patterns
from okl.selection.criteria.kernel_rows import kernel_of_rows, require_memory_for
from okl.selection.criteria.output_units import OutputUnits
from okl.selection.criteria.projected_inverse import ProjectedInverse
from okl.selection.criteria.shared_basis import SharedBasis

# Inverses that take as long as one decomposition, with what each of them needs then.
_FEW = 8


class Decoupling:
    """Makes targets independent, for one kernel after the other.

    Parameters
    ----------
    targets : array (n_samples, n_outputs)
        Zero where there is none.
    weights : array (n_samples, n_outputs) or (n_samples, 1)
    constant : array of bool (n_outputs,)
        Outputs that are left out where L couples none.
    fit_intercept : bool
    """

    def __init__(
        self,
        targets: np.ndarray,
        weights: np.ndarray,
        constant: np.ndarray,
        *,
        fit_intercept: bool,
    ) -> None:
        self._targets, self._weights = targets, weights
        self._constant, self._fit_intercept = constant, fit_intercept
        self._last: tuple[Operator, SharedBasis] | None = None

    @cached_property
    def _patterns(self) -> np.ndarray:
        """A number for each output, the same for outputs of the same weights."""
        return patterns(self._weights, self._targets.shape[1])

    def of(
        self, operator: Operator, units: OutputUnits, *, of_kernel: bool
    ) -> Decoupled:
        """Invert once for all columns that share ratio, rows and weights.

        Where these are many, decompose once for all ratios instead.
        """
        targets, ratios, basis = self._targets, units.ratios, None
        columns = np.arange(targets.shape[1])
        if units.relation is None:
            columns = columns[~self._constant]
        else:
            values, basis = eigh(units.relation)
            ratios, targets = np.clip(values, 0.0, None), targets * units.scales @ basis
        weights = np.broadcast_to(self._weights, targets.shape)
        groups = alike_columns(ratios, self._patterns, columns)
        same_rows = self._weights.shape[1] == 1
        if same_rows and (len(groups) > _FEW or not of_kernel):
            shared = self._shared_basis(operator)
            inverses = [
                shared.inverse(
                    outputs,
                    float(ratios[outputs].mean()),
                    targets[np.ix_(shared.rows, outputs)],
                )
                for outputs in groups
            ]
            return Decoupled(inverses, basis, targets, weights, units.scales)
        require_memory_for(operator.n_samples)
        blocks: list[ProjectedInverse] = []
        for outputs in groups:
            own = weights[:, outputs[0]]
            rows = np.flatnonzero(own > 0)
            if blocks and np.array_equal(rows, blocks[-1].rows):
                kernel = blocks[-1].kernel
            else:
                kernel = kernel_of_rows(operator, rows, centred=self._fit_intercept)
            blocks.append(
                ProjectedInverse.of(
                    outputs,
                    rows,
                    own[rows],
                    kernel,
                    float(ratios[outputs].mean()),
                    targets[np.ix_(rows, outputs)],
                    np.zeros(len(rows), dtype=int) if self._fit_intercept else None,
                )
            )
        return Decoupled(blocks, basis, targets, weights, units.scales)

    def _shared_basis(self, operator: Operator) -> SharedBasis:
        """Decompose a kernel, unless the last evaluation was of the same operator."""
        last = self._last
        if last is None or last[0] is not operator:
            require_memory_for(operator.n_samples)
            own = self._weights[:, 0]
            rows = np.flatnonzero(own > 0)
            free = self._fit_intercept
            kernel = kernel_of_rows(operator, rows, centred=free)
            shared = SharedBasis.of(rows, own[rows], kernel, free_intercept=free)
            self._last = last = operator, shared
        return last[1]
