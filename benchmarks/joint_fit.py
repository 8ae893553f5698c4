"""The joint problem in (f, L): n = 500, T = 100, every structure, gap 1e-6.

Against 200 plain alternations of the same problem, nothing but the closed form for f
and the structure's step, whatever gap they reach. K is decomposed beforehand for both.
"""

from __future__ import annotations

import numpy as np

from benchmarks.measure import Row, best_of
from okl.kernels import Gaussian
from okl.losses import Squared
from okl.model_selection.path import largest_alpha
from okl.operators import Dense
from okl.problems import Inputs, Problem, formulate
from okl.solvers import choose_solver
from okl.solvers.alternation import (
    best_output_kernel,
    first_output_kernel,
    in_outputs,
    known_coefficients,
)
from okl.structures import (
    Cluster,
    Frobenius,
    LowRank,
    Sparse,
    Structure,
    TraceBall,
)

TOL, LIMIT, ROUNDS = 1e-6, 10.0, 200
STRUCTURES: list[Structure] = [
    Sparse(0.5),
    Sparse(0.9),
    Sparse(0.99, 1e-4),
    Sparse(1.0),
    TraceBall(),
    TraceBall(1e-3),
    Cluster(10),
    Frobenius(),
    LowRank(),
]


def data(n: int = 500, T: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """Return K and outputs in ten groups, with noise."""
    rng = np.random.default_rng(0)
    K = Gaussian(gamma=0.1)(rng.normal(size=(n, 5)))
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.clip(values, 0, None))
    shared = (root @ rng.normal(size=(n, 10)))[:, rng.integers(0, 10, T)]
    own = 0.3 * root @ rng.normal(size=(n, T))
    return K, shared + own + 0.5 * rng.normal(size=(n, T))


def alternate(problem: Problem, alpha: float) -> float:
    """Alternate; return the relative gap after the last round."""
    solver = choose_solver("block_coordinate_descent", problem)
    rotated = solver.prepare(problem)
    kernel = first_output_kernel(rotated, alpha, tol=1e-2 * TOL)
    for _ in range(ROUNDS):
        coordinates = known_coefficients(rotated, kernel, alpha)
        coefficients = in_outputs(coordinates, kernel)
        kernel = best_output_kernel(rotated, coefficients, tol=1e-2 * TOL)
    coefficients = in_outputs(known_coefficients(rotated, kernel, alpha), kernel)
    primal, dual = rotated.bounds(coefficients, kernel, alpha)
    return (primal - dual) / primal


def run() -> list[Row]:
    K, Y = data()
    inputs = Inputs.of(Dense(K), fit_intercept=False)
    rows = []
    for structure in STRUCTURES:
        problem = formulate(inputs, Y, Squared(), structure).problem
        solver = choose_solver("auto", problem)
        prepared = solver.prepare(problem)
        for fraction in (1e-1, 1e-2, 1e-3):
            alpha = fraction * largest_alpha(problem)

            def fit(solver=solver, prepared=prepared, alpha=alpha):
                return solver.solve(prepared, alpha, tol=TOL, max_iter=1000, start=None)

            solution = fit()
            assert solution.certificate.status == "optimal", (structure, fraction)
            gaps: list[float] = []
            ours = best_of(3, fit)
            theirs = best_of(
                1, lambda p=problem, a=alpha, g=gaps: g.append(alternate(p, a))
            )
            work = f"n = 500, T = 100, {structure}, alpha_max * {fraction:g}"
            note = f"gap {solution.certificate.relative_gap:.1e}; theirs {gaps[0]:.1e}"
            yardstick = f"{ROUNDS} plain alternations"
            rows.append(Row(work, ours, theirs, yardstick, 1, note=note))
            rows.append(Row(work, ours, LIMIT, f"{LIMIT:g} s", 1))
    return rows
