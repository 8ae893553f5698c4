"""Held-out predictions along a path, for given training and test rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from okl.losses import Squared
from okl.operators import Dense
from okl.problems import Inputs, formulate
from okl.selection.path import alpha_grid
from okl.solvers import Solution, solve_path
from okl.structures import Structure


def predictions(
    inputs: Inputs,
    cross: Any,
    targets: np.ndarray,
    structure: Structure,
    *,
    alphas: int | Sequence[float] = 25,
    eps: float = 1e-5,
    above: float = 1.0,
) -> Iterator[tuple[float, np.ndarray, Solution]]:
    """Yield alpha, predictions for the rows of ``cross`` and the solution.

    The grid starts at ``above`` times alpha_max, for structures that still learn there.
    Every model is certified; a gap above the tolerance ends the program.
    """
    formulation = formulate(inputs, targets, Squared(), structure)
    grid = above * alpha_grid(formulation.problem, alphas, eps)
    for alpha, solution in zip(
        grid,
        solve_path(formulation.problem, grid, tol=1e-6, max_iter=5000),
        strict=True,
    ):
        if solution.certificate.failed:
            raise SystemExit(f"{structure} at {alpha:.3g}: {solution.certificate}")
        dual_coef = formulation.coefficients(solution.dual_coef)
        intercept = formulation.intercept(dual_coef)
        scores = cross @ dual_coef
        yield alpha, scores if intercept is None else scores + intercept, solution


def inputs_of(K: np.ndarray, *, fit_intercept: bool) -> Inputs:
    """Return the inputs of a stored kernel matrix, which stays as it is."""
    return Inputs.of(Dense(K, owned=False), fit_intercept=fit_intercept)
