"""Several kernels, each with its own output kernel, against five seconds.

Two Gaussian kernels, and one kernel beside the own term of each row, n = 500, m = 20;
cold fits to the default tolerance, and a path of 25 alphas.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.measure import Row, best_of
from okl import OutputKernelRegressor, output_kernel_path
from okl.kernels import Gaussian
from okl.kernels import Row as OwnTerm

N, M, D = 500, 20, 8
LIMIT, TOL = 5.0, 1e-6


def run() -> list[Row]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    far, near = rng.normal(size=(D, M)), rng.normal(size=(D, M))
    noise = rng.normal(size=(N, 3)) @ rng.normal(size=(3, M))
    Y = X @ far + np.sin(3 * X @ near) + noise + 0.5 * rng.normal(size=(N, M))
    two, own = [Gaussian(0.02), Gaussian(0.5)], [Gaussian(0.1), OwnTerm()]
    cases: list[tuple[str, list[Any], list[str], float]] = [
        ("two kernels, frobenius", two, ["frobenius"] * 2, 1.0),
        ("two kernels, frobenius", two, ["frobenius"] * 2, 0.1),
        ("two kernels, identity and frobenius", two, ["identity", "frobenius"], 1.0),
        ("two kernels, low_rank", two, ["low_rank"] * 2, 1.0),
        ("a kernel and Row(), frobenius", own, ["frobenius"] * 2, 1.0),
    ]
    rows = []
    for work, kernel, structure, alpha in cases:
        model = OutputKernelRegressor(kernel, structure, alpha, tol=TOL)
        seconds = best_of(3, partial(model.fit, X, Y))
        gap = f"gap {model.certificate_.relative_gap:.0e}"
        sizes = f"{work}, n = {N}, m = {M}, alpha {alpha:g}"
        rows.append(Row(sizes, seconds, LIMIT, "five seconds", 1, note=gap))
    path = partial(
        output_kernel_path, X, Y, kernel=own, structure=["frobenius"] * 2, tol=TOL
    )
    work = f"a kernel and Row(), frobenius, n = {N}, m = {M}, 25 alphas"
    rows.append(Row(work, best_of(3, path), LIMIT, "five seconds", 1))
    return rows
