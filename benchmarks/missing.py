"""Half of the targets missing: n = 2000, m = 50, known L, against the complete fit.

alpha = 1e-5 ||K|| ||L||, relative gap 1e-6. Both fits decompose K; the complete one is
the spectral solver's closed form.
"""

from __future__ import annotations

import numpy as np

from benchmarks.measure import Row, alternately
from okl.kernels import Gaussian
from okl.losses import Squared
from okl.operators import Dense
from okl.problems import Inputs, formulate
from okl.solvers import Solution, Spectral, choose_solver
from okl.structures import Fixed

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


def run() -> list[Row]:
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
                    Spectral() if observed is None else choose_solver("auto", problem)
                )
                return solver.solve(
                    solver.prepare(problem), alpha, tol=TOL, max_iter=1000, start=None
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
