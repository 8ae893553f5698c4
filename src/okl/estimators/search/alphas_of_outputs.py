"""The alphas of outputs that a search goes by: what outputs differ by, and the grid.

Rows are left out one by one in closed form, with independent outputs: each output has
then its own best alpha of the grid, the one of the least squared error. What outputs
differ by stays as it is for every structure, and one factor for all of them is chosen
with the structure, as one alpha is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from okl.problems import Inputs, Observed, OutputAlphas
from okl.selection.leave_one_out import has_closed_form, leave_one_out
from okl.selection.path import alpha_grid
from okl.structures import Identity


def check_left_out(observed: Observed) -> None:
    """Raise ValueError unless rows can be left out in closed form.

    Raises
    ------
    ValueError
        For another loss than the squared one, and where targets are missing.
    """
    if "quadratic" not in observed.loss.capabilities or not observed.complete:
        raise ValueError(
            "alpha_per_output=True chooses the alphas by rows left out in closed form, "
            "which needs loss='squared', all targets observed and no weights of single "
            "ones. Without it one alpha is of all outputs; "
            "GradientSearchCV(alpha_per_output=True) learns them otherwise."
        )


def alphas_of_outputs(
    inputs: Inputs,
    observed: Observed,
    alphas: int | Sequence[float],
    eps: float,
    copies: np.ndarray | None,
) -> OutputAlphas:
    """Return the alphas of the least squared error of each output.

    Parameters
    ----------
    inputs : Inputs
        The kernel on the rows.
    observed : Observed
        Their targets; see `check_left_out`.
    alphas, eps
        The grid, as estimators take it.
    copies : array (n_samples,) or None
        How many times each row is there.

    Raises
    ------
    ValueError
        If there is no memory to decompose the kernel matrix, or outputs have kernels
        of their own.
    """
    formulation = observed.formulate(inputs, Identity())
    if not has_closed_form(formulation):
        raise ValueError(
            "alpha_per_output=True needs one kernel for all outputs, and memory to "
            "decompose its matrix. Raise max_memory, or fit on fewer rows."
        )
    grid = alpha_grid(formulation.problem, alphas, eps)
    weights = 1.0 if copies is None else copies[:, None]
    errors = [
        np.sum(weights * residuals**2, axis=0)
        for residuals in leave_one_out(inputs, formulation, grid, copies)
    ]
    # of equal ones the largest alpha, which comes first
    return OutputAlphas.of(grid[np.argmin(errors, axis=0)], observed)


def around(grid: np.ndarray, alpha: float) -> np.ndarray:
    """Return a decreasing grid with an alpha in the place of its nearest."""
    nearest = np.argmin(np.abs(np.log(grid / alpha)))
    moved = grid.copy()
    moved[nearest] = alpha
    return moved
