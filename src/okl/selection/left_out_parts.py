"""Outputs in parts, of each of which rows can be left out in closed form.

With the squared loss and independent outputs, an output that was not observed in all
rows is a problem of its own: that of its rows. Outputs that were observed in the same
rows share the eigenvectors of one kernel matrix, and are one part. Complete targets
are a single part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from okl.problems import Formulation, Inputs, Observed
from okl.selection.leave_one_out import has_closed_form, leave_one_out
from okl.structures import Identity

# The most that decompositions of the kernel matrices of all parts may take: the sum of
# their rows cubed. It is some seconds.
_MOST_WORK = 1e10
# Arrays of the size of the kernel matrix of a part that are kept with it.
_KEPT = 2


class LeftOutPart(NamedTuple):
    """Outputs that were observed in the same rows.

    Attributes
    ----------
    rows, columns : array of int
        Of the targets.
    inputs : Inputs
        The kernel on these rows.
    formulation : Formulation
        Of independent outputs.
    """

    rows: np.ndarray
    columns: np.ndarray
    inputs: Inputs
    formulation: Formulation

    @property
    def entries(self) -> Any:
        """Where it is among the targets."""
        return np.ix_(self.rows, self.columns)

    def residuals(self, alphas: Sequence[float] | np.ndarray) -> Iterator[np.ndarray]:
        """Yield those of rows left out one by one, at each alpha."""
        return leave_one_out(self.inputs, self.formulation, alphas)

    def losses(self, alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the squared errors, and the residuals at the best alpha of each."""
        weights = self.inputs.row_weights
        factors = 1.0 if weights is None else weights[:, None]
        losses, least = [], np.empty(0)
        for residuals in self.residuals(alphas):
            losses.append(np.sum(factors * residuals**2, axis=0))
            if len(losses) == 1:
                least, best = losses[0], residuals.copy()
                continue
            better = losses[-1] < least
            best[:, better] = residuals[:, better]
            least = np.minimum(least, losses[-1])
        return np.stack(losses), best


@dataclass(frozen=True)
class LeftOutParts:
    """What is left out of targets, part by part.

    Attributes
    ----------
    parts : list of LeftOutPart
        In which each output is at most once: not where it was never observed.
    shape : pair of int
        Of the targets.
    """

    parts: list[LeftOutPart]
    shape: tuple[int, int]

    @property
    def weights(self) -> np.ndarray:
        """How much each target counts (n_samples, n_outputs), zero where missing."""
        weights = np.zeros(self.shape)
        for part in self.parts:
            of_rows = part.inputs.row_weights
            weights[part.entries] = 1.0 if of_rows is None else of_rows[:, None]
        return weights

    def residuals(self, alpha: float) -> np.ndarray:
        """Return those of rows left out (n_samples, n_outputs), zero where missing."""
        found = np.zeros(self.shape)
        for part in self.parts:
            (found[part.entries],) = part.residuals([alpha])
        return found

    def losses(self, alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the squared errors (n_alphas, n_outputs) of rows left out one by one.

        The second result are the residuals (n_samples, n_outputs) of each output at its
        own best alpha, of equally good ones the first.
        """
        losses, best = np.zeros((len(alphas), self.shape[1])), np.zeros(self.shape)
        for part in self.parts:
            losses[:, part.columns], best[part.entries] = part.losses(alphas)
        return losses, best


def left_out_parts(
    inputs: Inputs, observed: Observed, *, budget: float
) -> LeftOutParts | None:
    """Return the parts, None where rows cannot be left out in closed form.

    They can be where targets are complete, with weights of rows if need be, or where
    some are missing and all others count once, if the parts are few and small enough.

    Parameters
    ----------
    inputs : Inputs
        The kernel on all rows.
    observed : Observed
        All targets.
    budget : float
        Bytes that kernel matrices may take.
    """
    shape = observed.targets.shape
    if observed.complete:
        formulation = observed.formulate(inputs, Identity())
        rows, columns = map(np.arange, shape)
        whole = LeftOutPart(rows, columns, inputs, formulation)
        return LeftOutParts([whole], shape) if has_closed_form(formulation) else None
    quadratic = "quadratic" in observed.loss.capabilities
    shared = inputs.operator.shared and not inputs.operator.several
    if not (quadratic and shared) or observed.tasks is not None:
        return None
    weights = observed.weights
    if weights is None or observed.weighting != "missing":
        return None
    patterns, which = np.unique(weights > 0, axis=1, return_inverse=True)
    sizes = patterns.sum(axis=0).astype(np.float64)
    if np.sum(sizes**3) > _MOST_WORK or 8 * _KEPT * np.sum(sizes**2) > budget:
        return None
    free, parts = inputs.kernel_means is not None, []
    for number, pattern in enumerate(patterns.T):
        rows = np.flatnonzero(pattern)
        if not len(rows):
            continue
        columns = np.flatnonzero(which.ravel() == number)
        some = replace(observed.restrict(rows).of_outputs(columns), weights=None)
        of_rows = some.inputs(inputs.plain.restrict(rows), fit_intercept=free)
        part = some.formulate(of_rows, Identity())
        parts.append(LeftOutPart(rows, columns, of_rows, part))
    return LeftOutParts(parts, shape)
