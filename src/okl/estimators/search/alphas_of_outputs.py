"""The alphas of outputs that a search goes by: what outputs differ by, and the grid.

With independent outputs each output has its own best alpha of a grid: the one of the
least loss of rows that were held out. For the squared loss these are left out one by
one in closed form where that is exact; else they are those of the folds, each of which
takes a fit for each alpha of the grid. What outputs differ by stays as it is for every
structure, and one factor for all of them is chosen with the structure, as one alpha is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from okl.kernels import KernelTerms
from okl.problems import Formulation, Inputs, Observed
from okl.selection.leave_one_out import leave_one_out


def check_one_kernel(kernel: Any) -> None:
    """Raise ValueError for a model of several kernels."""
    if isinstance(kernel, KernelTerms):
        raise ValueError(
            "alpha_per_output=True needs one kernel for each output, and here each has "
            f"several: {kernel!r}. Leave it out, or give one kernel."
        )


@dataclass(frozen=True)
class OutputLosses:
    """Minus the loss of each output on held-out rows, as a judge of them.

    Attributes
    ----------
    observed : Observed
        Of all rows, of a loss that is a sum over outputs.
    """

    observed: Observed

    def __call__(self, predictions: np.ndarray, test: np.ndarray) -> np.ndarray:
        """Return minus the losses (n_outputs,), zero where nothing was held out."""
        some = self.observed.restrict(test)
        if some.tasks is not None:
            groups = dict(some.tasks.groups())
            none = np.arange(0)
            parts = [(groups.get(j, none), slice(None)) for j in range(some.n_outputs)]
        else:
            every = np.arange(len(test))
            parts = [(every, slice(j, j + 1)) for j in range(some.n_outputs)]
        weights = some.weights
        if weights is not None:
            weights = np.broadcast_to(weights, some.targets.shape)
        return np.array(
            [
                -some.loss.value(
                    some.targets[rows, column],
                    predictions[rows, column],
                    None if weights is None else weights[rows, column],
                )
                for rows, column in parts
            ],
            dtype=np.float64,
        )


def left_out_losses(
    inputs: Inputs,
    formulation: Formulation,
    grid: Sequence[float],
    copies: np.ndarray | None,
) -> np.ndarray:
    """Return the squared errors (n_alphas, n_outputs) of rows left out one by one.

    Parameters
    ----------
    inputs : Inputs
        The kernel on the rows.
    formulation : Formulation
        Of independent outputs; see `okl.selection.leave_one_out.has_closed_form`.
    grid : sequence of float
    copies : array (n_samples,) or None
        How many times each row is there.
    """
    weights = 1.0 if copies is None else copies[:, None]
    left_out = leave_one_out(inputs, formulation, grid, copies)
    return np.stack([np.sum(weights * r**2, axis=0) for r in left_out])


def around(grid: np.ndarray, alpha: float) -> np.ndarray:
    """Return a decreasing grid with an alpha in the place of its nearest."""
    nearest = np.argmin(np.abs(np.log(grid / alpha)))
    moved = grid.copy()
    moved[nearest] = alpha
    return moved
