"""Outputs that were observed in all rows, or lack a few: inverses of all rows.

Columns of one ratio l / alpha share one inverse, from which those that lack a few rows
take theirs (`reduced_inverse.py`). Where none lacks a row many ratios share one
decomposition in place of an inverse each (`shared_basis.py`), as do all where the
kernel stays the same: it is kept from one evaluation to the next. To take rows out of
that would leave no digits at a small alpha.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np

from okl.numerics.memory import require_memory
from okl.operators import Operator
from okl.selection.criteria.decoupled import Inverse
from okl.selection.criteria.kernel_rows import kernel_of_rows, require_memory_for
from okl.selection.criteria.projected_inverse import ProjectedInverse
from okl.selection.criteria.reduced_inverse import ReducedInverse
from okl.selection.criteria.shared_basis import SharedBasis

# Inverses that take as long as one decomposition, with what each of them needs then.
FEW = 8
# Outputs that lack at most this part of the rows take their inverse from that of all.
_LACKING = 1 / 3
# Arrays of the size of what is kept of each of these, while they are summed.
_ARRAYS = 4

# Makes the P of some outputs, given their ratio and targets.
_InverseOf = Callable[[np.ndarray, float, np.ndarray], ProjectedInverse]


class AllRows:
    """Inverses of all rows, for one kernel after the other.

    Parameters
    ----------
    weights : array (n_samples, n_outputs) or (n_samples, 1)
    fit_intercept : bool
    """

    def __init__(self, weights: np.ndarray, *, fit_intercept: bool) -> None:
        self._all, self._fit_intercept = weights, fit_intercept
        self._rows = np.flatnonzero(weights.max(axis=1) > 0)
        self._weights = weights[self._rows].max(axis=1)
        self._parts: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._last: tuple[Operator, SharedBasis] | None = None

    @property
    def lacks_none(self) -> bool:
        """Whether weights are of rows, so that no output lacks one."""
        return self._all.shape[1] == 1

    def serve(self, outputs: np.ndarray) -> bool:
        """Tell whether these, which have the same weights, lack at most a few rows."""
        n, (_, hidden) = len(self._rows), self._seen(outputs)
        return self._are_shared and len(hidden) <= _LACKING * n

    @cached_property
    def _are_shared(self) -> bool:
        """Whether all targets of a row have the same weight, or none."""
        weights = self._all[self._rows]
        return bool(np.all((weights == 0) | (weights == self._weights[:, None])))

    def _seen(self, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return in which of the rows some outputs were observed, and the others."""
        column = 0 if self.lacks_none else int(outputs[0])
        if column not in self._parts:
            seen = self._all[self._rows, column] > 0
            self._parts[column] = np.flatnonzero(seen), np.flatnonzero(~seen)
        return self._parts[column]

    def blocks(
        self,
        operator: Operator,
        groups: Sequence[np.ndarray],
        ratios: np.ndarray,
        targets: np.ndarray,
        *,
        of_kernel: bool,
    ) -> Iterator[Inverse]:
        """Yield the inverses of groups of outputs, which are in order of the ratios."""
        if not groups:
            return
        self._require_memory(groups)
        own = ratios[[outputs[0] for outputs in groups]]
        levels = np.split(np.arange(len(groups)), np.flatnonzero(np.diff(own)) + 1)
        if self.lacks_none and (len(levels) > FEW or not of_kernel):
            shared = self._decomposed(operator)
            for ratio, outputs in zip(own, groups, strict=True):
                some = targets[np.ix_(self._rows, outputs)]
                yield shared.inverse(outputs, float(ratio), some)
            return
        inverse_of = self._inverses(operator)
        for level in levels:
            alike = [groups[number] for number in level]
            ratio = float(own[level[0]])
            yield from self._of_one_ratio(inverse_of, ratio, alike, targets)

    def _of_one_ratio(
        self,
        inverse_of: _InverseOf,
        ratio: float,
        groups: Sequence[np.ndarray],
        targets: np.ndarray,
    ) -> Iterator[Inverse]:
        """Yield the inverse of all rows if some outputs have them, then the others."""
        own, lacking = np.empty(0, dtype=int), []
        for outputs in groups:
            if len(self._seen(outputs)[1]):
                lacking.append(outputs)
            else:  # these have the same weights, and are one group
                own = outputs
        whole = inverse_of(own, ratio, targets[np.ix_(self._rows, own)])
        if len(own):
            yield whole
        if not lacking:
            return
        images = whole.times(targets[np.ix_(self._rows, np.concatenate(lacking))])
        ends = np.cumsum([len(outputs) for outputs in lacking])
        parts = np.split(images, ends[:-1], axis=1)
        for outputs, image in zip(lacking, parts, strict=True):
            yield ReducedInverse.of(whole, outputs, *self._seen(outputs), image)

    def _inverses(self, operator: Operator) -> _InverseOf:
        require_memory_for(operator.n_samples)
        free = self._fit_intercept
        rows, weights = self._rows, self._weights
        kernel = kernel_of_rows(operator, rows, centred=free)
        intercepts = np.zeros(len(rows), dtype=int) if free else None

        def inverse(
            outputs: np.ndarray, ratio: float, targets: np.ndarray
        ) -> ProjectedInverse:
            return ProjectedInverse.of(
                outputs, rows, weights, kernel, ratio, targets, intercepts
            )

        return inverse

    def _decomposed(self, operator: Operator) -> SharedBasis:
        """Decompose a kernel, unless the last evaluation was of the same operator."""
        last = self._last
        if last is None or last[0] is not operator:
            require_memory_for(operator.n_samples)
            rows, free = self._rows, self._fit_intercept
            kernel = kernel_of_rows(operator, rows, centred=free)
            shared = SharedBasis.of(rows, self._weights, kernel, free_intercept=free)
            self._last = last = operator, shared
        return last[1]

    def _require_memory(self, groups: Sequence[np.ndarray]) -> None:
        n_lacking = sum(len(self._seen(outputs)[1]) for outputs in groups)
        require_memory(
            _ARRAYS * 8 * len(self._rows) * n_lacking,
            f"A criterion in closed form of {len(groups)} outputs that lack rows",
            "Choose the kernel on fewer rows or outputs.",
        )
