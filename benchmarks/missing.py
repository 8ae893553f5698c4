"""The cost of missing targets, with a known L and with a learned one.

Half of the targets missing, n = 2000, m = 50, L known, relative gap 1e-6: compared with
the fit to complete targets, the closed form. Both decompose K.

60 % missing, L learned, relative gap 1e-6, alpha down to 1e-5 sqrt(||Y'KY||_2): the
trace penalty compared with the Frobenius norm.

95 % missing, n = 200, m = 50, L learned: Newton's method with one unknown for each
observed target, compared with rounds.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.measure import Row, alternately
from okl.kernels import Gaussian
from okl.losses import Squared
from okl.operators import Dense
from okl.problems import Inputs, Problem, formulate
from okl.solvers import (
    ClosedForm,
    Majorization,
    Request,
    Solution,
    Solver,
    choose_solver,
)
from okl.structures import Fixed, Frobenius, LowRank, Sparse, Structure

TOL, PART = 1e-6, 0.5


def data(n: int = 2000, m: int = 50) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return K, L, and a draw of the process that they are the covariance of."""
    rng = np.random.default_rng(0)
    K = Gaussian(gamma=0.1)(rng.normal(size=(n, 5)))
    factor = rng.normal(size=(m, m)) / m**0.5
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.clip(values, 0, None))
    Y = root @ rng.normal(size=(n, m)) @ factor.T
    return K, factor @ factor.T, Y + 0.5 * rng.normal(size=(n, m))


def few_functions(
    n: int, m: int, missing: float = 0.6
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return K, targets that four functions drive, with noise, and what is observed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    hidden = np.sin(X @ rng.normal(size=(5, 4))) @ rng.normal(size=(4, m))
    Y = hidden + 0.3 * rng.normal(size=(n, m))
    return Gaussian(gamma=0.2)(X, X), Y, (rng.random(Y.shape) >= missing).astype(float)


def low_rank() -> list[Row]:
    rows = []
    for n, m, fraction in ((100, 30, 1e-4), (300, 30, 1e-3), (300, 30, 1e-5)):
        K, Y, observed = few_functions(n, m)
        seen = observed * Y
        alpha = fraction * float(np.linalg.norm(seen.T @ K @ seen, 2)) ** 0.5

        def fit(
            structure: Structure,
            K: np.ndarray = K,
            Y: np.ndarray = Y,
            observed: np.ndarray = observed,
            alpha: float = alpha,
        ) -> Solution:
            inputs = Inputs.of(Dense(K.copy()), fit_intercept=True)
            problem = formulate(inputs, Y, Squared(), structure, observed).problem
            solver = choose_solver("auto", problem)
            return solver.solve(
                solver.prepare(problem), Request(alpha, tol=TOL, max_iter=1000)
            )

        solution = fit(LowRank())
        assert solution.certificate.status == "optimal"
        ours, theirs = alternately(3, lambda: fit(LowRank()), lambda: fit(Frobenius()))
        rows.append(
            Row(
                f"n = {n}, m = {m}, 60 % missing, low rank, {fraction:g} alpha_max",
                ours,
                theirs,
                "the Frobenius norm",
                1 / 5,
                note=f"{solution.n_iter} steps, "
                f"gap {solution.certificate.relative_gap:.1e}",
            )
        )
    return rows


def solved(problem: Problem, solver: Solver, alpha: float) -> Solution:
    """Return what a solver finds in up to 100 iterations."""
    return solver.solve(solver.prepare(problem), Request(alpha, tol=TOL, max_iter=100))


def few() -> list[Row]:
    rows = []
    K, Y, observed = few_functions(200, 50, missing=0.95)
    seen = observed * Y
    alpha = 1e-3 * float(np.linalg.norm(seen.T @ K @ seen, 2)) ** 0.5
    for structure in (Frobenius(), LowRank(), Sparse(0.9)):
        inputs = Inputs.of(Dense(K.copy()), fit_intercept=True)
        problem = formulate(inputs, Y, Squared(), structure, observed).problem

        solvers = choose_solver("auto", problem), Majorization()
        fits = [partial(solved, problem, solver, alpha) for solver in solvers]
        solutions = [fit() for fit in fits]
        ours, theirs = alternately(1, *fits)
        note = " and ".join(
            f"{one.n_iter} steps, gap {one.certificate.relative_gap:.0e}"
            for one in solutions
        )
        work = f"n = 200, m = 50, 95 % missing, {structure}, 0.001 alpha_max"
        rows.append(Row(work, ours, theirs, "rounds, 100 at most", 1, note=note))
    return rows


def run() -> list[Row]:
    return known() + low_rank() + few()


def known() -> list[Row]:
    K, L, Y = data()
    scale = np.linalg.norm(K, 2) * np.linalg.norm(L, 2)
    weights = (np.random.default_rng(1).random(Y.shape) >= PART).astype(float)
    rows = []
    for intercept in (False, True):
        for fraction, reach in ((1e-5, 1 / 3), (1e-4, 1 / 3), (1e-3, 1 / 3)):
            alpha = fraction * scale

            def fit(
                observed: np.ndarray | None,
                alpha: float = alpha,
                intercept: bool = intercept,
            ) -> Solution:
                inputs = Inputs.of(Dense(K.copy()), fit_intercept=intercept)
                problem = formulate(inputs, Y, Squared(), Fixed(L), observed).problem
                solver = (
                    ClosedForm() if observed is None else choose_solver("auto", problem)
                )
                return solver.solve(
                    solver.prepare(problem), Request(alpha, tol=TOL, max_iter=1000)
                )

            solution = fit(weights)
            assert solution.certificate.status == "optimal"
            ours, theirs = alternately(3, lambda: fit(weights), lambda: fit(None))
            rows.append(
                Row(
                    f"n = 2000, m = 50, half missing, {fraction:g} norm(K) norm(L)"
                    + ", intercept" * intercept,
                    ours,
                    theirs,
                    "the complete fit",
                    reach,
                    note=f"{solution.n_iter} steps, "
                    f"gap {solution.certificate.relative_gap:.1e}",
                )
            )
    return rows
