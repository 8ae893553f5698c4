"""What independent outputs would predict at rows left out one by one, along alphas.

With the squared loss and complete targets that has a closed form, from the eigenvectors
of one kernel matrix (`okl.selection.leave_one_out`). An output that was not observed in
all rows is a problem of its own, that of its rows. Outputs that were observed in the
same rows share eigenvectors; each set of rows is decomposed once, and its eigenvectors
are forgotten when its residuals are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from okl.problems import Inputs, Observed
from okl.selection.leave_one_out import (
    can_decompose,
    has_closed_form,
    leave_one_out,
)
from okl.structures import Identity

# The most that decompositions of the kernel matrices of all sets of rows may take: the
# sum of their numbers of rows cubed. It is some seconds.
_MOST_WORK = 1e10
# Arrays of the size of the targets: about one for each alpha, of 8 bytes a number.
_RESIDUALS, _FLOAT = 32, 8


def can_leave_out(inputs: Inputs, observed: Observed, budget: float) -> bool:
    """Tell whether rows can be left out in closed form.

    They can be with the squared loss and one kernel for all outputs that is kept in
    memory, if targets are complete, or are observed in few or small sets of rows.
    Weights are those of rows.

    Parameters
    ----------
    inputs : Inputs
        The kernel on all rows.
    observed : Observed
        All targets.
    budget : float
        Bytes that kernel matrices may take.
    """
    if observed.complete:
        return has_closed_form(observed.formulate(inputs, Identity()))
    if "quadratic" not in observed.loss.capabilities or observed.tasks is not None:
        return False
    if inputs.operator.several or not can_decompose(inputs.operator):
        return False
    weights = observed.weights
    if weights is None or not np.all((weights == 0) | (weights == _of_rows(weights))):
        return False
    sizes = np.unique(weights > 0, axis=1).sum(axis=0).astype(np.float64)
    needed = _FLOAT * _RESIDUALS * weights.size
    return bool(np.sum(sizes**3) <= _MOST_WORK and needed <= budget)


@dataclass(frozen=True)
class LeftOutResiduals:
    """The residuals of rows left out one by one, at each of some alphas.

    Attributes
    ----------
    losses : array (n_alphas, n_outputs)
        Sums of their squares, with the weights of the rows.
    best : array (n_samples, n_outputs)
        The residuals of each output at its own best alpha, of equal ones the first.
    weights : array (n_samples, n_outputs)
        How much each target counts, zero where it is missing.
    at : callable
        From the number of an alpha to the residuals there (n_samples, n_outputs), zero
        where a target is missing.
    """

    losses: np.ndarray
    best: np.ndarray
    weights: np.ndarray
    at: Callable[[int], np.ndarray]

    @classmethod
    def of(
        cls, inputs: Inputs, observed: Observed, alphas: np.ndarray
    ) -> LeftOutResiduals:
        """Return those of independent outputs, where `can_leave_out` says so."""
        if not observed.complete:
            return cls._of_parts(inputs, observed, alphas)
        formulation = observed.formulate(inputs, Identity())
        shape, of_rows = observed.targets.shape, inputs.row_weights
        weights = np.ones(shape)
        if of_rows is not None:
            weights *= of_rows[:, None]
        residuals = leave_one_out(inputs, formulation, alphas)
        return cls(
            *_losses(residuals, weights),
            weights,
            lambda number: next(leave_one_out(inputs, formulation, alphas[[number]])),
        )

    @classmethod
    def _of_parts(
        cls, inputs: Inputs, observed: Observed, alphas: np.ndarray
    ) -> LeftOutResiduals:
        """Return those of outputs that were observed in rows of their own."""
        given = observed.weights
        assert given is not None
        weights, of_rows = np.broadcast_to(given, observed.targets.shape), None
        if np.any(weights > 1) or np.any((weights > 0) & (weights < 1)):
            of_rows = _of_rows(weights)
        residuals = np.zeros((len(alphas), *weights.shape))
        free = inputs.kernel_means is not None
        patterns, which = np.unique(weights > 0, axis=1, return_inverse=True)
        for number, pattern in enumerate(patterns.T):
            rows = np.flatnonzero(pattern)
            columns = np.flatnonzero(which.ravel() == number)
            if not len(rows):
                continue
            some = replace(
                observed.restrict(rows).of_outputs(columns),
                weights=None if of_rows is None else of_rows[rows],
            )
            part = some.inputs(inputs.plain.restrict(rows), fit_intercept=free)
            found = leave_one_out(part, some.formulate(part, Identity()), alphas)
            for whole, own in zip(residuals, found, strict=True):
                whole[np.ix_(rows, columns)] = own
        summary = _losses(iter(residuals), weights)
        return cls(*summary, weights, lambda number: residuals[number])


def _losses(
    residuals: Iterator[np.ndarray], weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return sums of squares, and the residuals at the best alpha of each output."""
    losses, least = [], np.empty(0)
    for some in residuals:
        losses.append(np.sum(weights * some**2, axis=0))
        if len(losses) == 1:
            least, best = losses[0], some.copy()
            continue
        better = losses[-1] < least
        best[:, better] = some[:, better]
        least = np.minimum(least, losses[-1])
    return np.stack(losses), best


def _of_rows(weights: np.ndarray) -> np.ndarray:
    """Return the weight of each row (n_samples, 1), that of its observed targets."""
    largest: np.ndarray = np.max(weights, axis=1, keepdims=True)
    return largest
