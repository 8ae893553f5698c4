"""Experiment 1 of the low-rank paper: n = 100, m = 200, 25 alphas, every gap 1e-6."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, eigvalsh

from benchmarks.measure import Row, alternately, best_of
from benchmarks.published import low_rank_2011, okl_2011
from benchmarks.published.alternation import STEP, alternate
from okl import output_kernel_path
from okl.datasets import make_mixed_processes
from okl.kernels import Laplacian
from okl.losses import Squared
from okl.operators import Dense
from okl.problems import Inputs, Rotated, formulate
from okl.selection.path import alpha_grid
from okl.solvers.output_kernel.alternation import first_output_kernel
from okl.structures import Frobenius

TOL = 1e-6


def run() -> list[Row]:
    data = make_mixed_processes(200, random_state=0)
    K = Laplacian(gamma=10.0)(data.time[data.train])
    Y = data.noisy[data.train]

    def path(structure):
        result = output_kernel_path(
            K,
            Y,
            kernel="precomputed",
            structure=structure,
            fit_intercept=False,
            normalize_y=False,
        )
        assert all(c.status == "optimal" for c in result.certificates)
        return result

    def f_and_L_in_turn():
        inputs = Inputs.of(Dense(K), fit_intercept=False)
        problem = formulate(inputs, Y, Squared(), Frobenius()).problem
        grid = alpha_grid(problem, 25, 1e-5)
        rotated = Rotated.of(problem)
        kernel = first_output_kernel(rotated, float(grid[0]), tol=STEP)
        for alpha in grid:
            kernel, gap = alternate(rotated, kernel, float(alpha), 5000, TOL)
            assert gap <= TOL

    d, U = eigh(K)
    d = np.clip(d, 0, None)
    rotated = U.T @ Y
    top = np.sqrt(eigvalsh(rotated.T @ (d[:, None] * rotated))[-1])
    alphas = np.geomspace(top, 1e-5 * top, 25)

    frobenius, turns = alternately(5, lambda: path("frobenius"), f_and_L_in_turn)
    descent = best_of(1, lambda: okl_2011.solve_path(d, rotated, alphas, TOL, 5000))
    low_rank = best_of(5, lambda: path("low_rank"))

    def alternation(look_every):
        found: list = []
        seconds = best_of(
            1,
            lambda: found.append(
                low_rank_2011.solve_path(
                    d, rotated, alphas, 200, TOL, 5000, look_every=look_every
                )
            ),
        )
        iterations, gaps = found[0]
        note = f"{sum(iterations)} iterations, largest gap left {max(gaps):.1g}"
        return seconds, note

    seldom, seldom_note = alternation(10)
    always, always_note = alternation(1)
    work = "experiment 1, 25 alphas, "
    return [
        Row(work + "Frobenius", frobenius, descent, "(C, L) descent, 200 outputs", 150),
        Row(work + "Frobenius", frobenius, turns, "f and L in turn, reduced", 3),
        Row(
            work + "LowRank",
            low_rank,
            always,
            "published alternation, gap looked at every iteration",
            80,
            note=always_note,
        ),
        Row(
            work + "LowRank",
            low_rank,
            seldom,
            "published alternation, gap looked at every tenth",
            80,
            note=seldom_note,
        ),
    ]
