"""Targets made independent: in the eigenvectors of L, or output by output.

With the eigenvectors V of L the columns of Y V are independent problems. Those with the
same eigenvalue, alpha, rows and weights share one inverse; all outputs do where L = I
and all targets were observed. Columns that were observed in all rows, and many that
lack a few, make use of one another (`all_rows.py`); others have inverses of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import compress

import numpy as np

from okl.numerics.arrays import eigh
from okl.operators import Operator
from okl.selection.criteria.all_rows import FEW, AllRows
from okl.selection.criteria.decoupled import (
    Decoupled,
    Inverse,
    alike_columns,
    patterns,
    without_rounding,
)
from okl.selection.criteria.kernel_rows import kernel_of_rows, require_memory_for
from okl.selection.criteria.output_units import OutputUnits
from okl.selection.criteria.projected_inverse import ProjectedInverse

# Outputs that lack rows, from which one inverse for all of them takes less time; they
# may have up to FEW ratios.
FEWEST = 8


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
        self._all_rows = AllRows(weights, fit_intercept=fit_intercept)

    @cached_property
    def _patterns(self) -> np.ndarray:
        """A number for each output, the same for outputs of the same weights."""
        return patterns(self._weights, self._targets.shape[1])

    def of(
        self, operator: Operator, units: OutputUnits, *, of_kernel: bool
    ) -> Decoupled:
        """Invert as few matrices as there can be for one kernel."""
        targets, ratios, basis = self._targets, units.ratios, None
        columns = np.arange(targets.shape[1])
        if units.relation is None:
            columns = columns[~self._constant]
        else:
            values, basis = eigh(units.relation)
            ratios, targets = np.clip(values, 0.0, None), targets * units.scales @ basis
        # those that stay apart keep their own: far smaller ones would not be the same
        own, ratios = ratios, without_rounding(ratios)
        groups = alike_columns(ratios, self._patterns, columns)
        served = [self._all_rows.serve(outputs) for outputs in groups]
        n_ratios = len(np.unique(ratios[columns]))
        if not self._all_rows.lacks_none and (sum(served) <= FEWEST or n_ratios > FEW):
            served = [False] * len(groups)
        together = list(compress(groups, served))
        apart = compress(groups, [not whether for whether in served])
        blocks = [
            *self._all_rows.blocks(
                operator, together, ratios, targets, of_kernel=of_kernel
            ),
            *self._apart(operator, apart, own, targets),
        ]
        weights = np.broadcast_to(self._weights, targets.shape)
        return Decoupled(blocks, basis, targets, weights, units.scales)

    def _apart(
        self,
        operator: Operator,
        groups: Iterable[np.ndarray],
        ratios: np.ndarray,
        targets: np.ndarray,
    ) -> Iterator[Inverse]:
        """Yield an inverse for each group of outputs."""
        last: ProjectedInverse | None = None
        for outputs in groups:
            own = self._weights[:, outputs[0]]
            rows = np.flatnonzero(own > 0)
            if last is not None and np.array_equal(rows, last.rows):
                kernel = last.kernel
            else:
                require_memory_for(operator.n_samples)
                kernel = kernel_of_rows(operator, rows, centred=self._fit_intercept)
            last = ProjectedInverse.of(
                outputs,
                rows,
                own[rows],
                kernel,
                float(ratios[outputs].mean()),
                targets[np.ix_(rows, outputs)],
                np.zeros(len(rows), dtype=int) if self._fit_intercept else None,
            )
            yield last
