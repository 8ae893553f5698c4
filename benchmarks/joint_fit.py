"""The joint problem in (f, L): n = 500, T = 100, every structure, gap 1e-6.

The rival is 200 plain alternations on the same problem, which use only the closed form
for f and the structure's update of L, whatever gap they reach. K is decomposed
beforehand for both.
"""

from __future__ import annotations

import numpy as np

from benchmarks.measure import Row, best_of
from benchmarks.published.alternation import STEP, alternate
from okl.kernels import Gaussian
from okl.losses import Squared
from okl.operators import Dense
from okl.problems import Inputs, Problem, Rotated, formulate
from okl.selection.path import largest_alpha
from okl.solvers import Request, choose_solver
from okl.solvers.output_kernel.alternation import first_output_kernel
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


def alternations(problem: Problem, alpha: float) -> float:
    """Alternate; return the relative gap after the last round."""
    rotated = Rotated.of(problem)
    first = first_output_kernel(rotated, alpha, tol=STEP)
    return alternate(rotated, first, alpha, ROUNDS)[1]


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
                return solver.solve(prepared, Request(alpha, tol=TOL, max_iter=1000))

            solution = fit()
            assert solution.certificate.status == "optimal", (structure, fraction)
            gaps: list[float] = []
            ours = best_of(3, fit)
            theirs = best_of(
                1, lambda p=problem, a=alpha, g=gaps: g.append(alternations(p, a))
            )
            work = f"n = 500, T = 100, {structure}, alpha_max * {fraction:g}"
            note = f"gap {solution.certificate.relative_gap:.1e}; theirs {gaps[0]:.1e}"
            yardstick = f"{ROUNDS} plain alternations"
            rows.append(Row(work, ours, theirs, yardstick, 1, note=note))
            rows.append(Row(work, ours, LIMIT, f"{LIMIT:g} s", 1))
    return rows
