"""Experiment 2 of the low-rank paper: 100 000 outputs, 100 samples, 25 alphas."""

from __future__ import annotations

from benchmarks.measure import Row, best_of, peak_bytes
from okl import output_kernel_path
from okl.datasets import make_mixed_processes
from okl.kernels import Laplacian
from okl.structures import LowRank

_CODE = """
import numpy as np
from okl import output_kernel_path
from okl.datasets import make_mixed_processes
from okl.kernels import Laplacian
from okl.structures import Frobenius, LowRank
Y = np.random.default_rng(0).normal(size=(100, 50)) @ np.random.default_rng(
    1).uniform(size=(50, 100_000))
Y += np.random.default_rng(2).standard_normal(Y.shape)
X = np.linspace(-1, 1, 100)[:, None]
# measure
path = output_kernel_path(X, Y, kernel=Laplacian(gamma=10.0), structure={structure})
model = path[12]
model.predict(X[:1])
model.output_kernel_factor_
"""


def run() -> list[Row]:
    data = make_mixed_processes(100_000, random_state=0)
    X, Y = data.time[data.train], data.noisy[data.train]
    rows = []
    for structure, name in ((LowRank(50), "LowRank(50)"), ("frobenius", "Frobenius()")):
        seconds = best_of(
            2,
            lambda structure=structure: output_kernel_path(
                X, Y, kernel=Laplacian(gamma=10.0), structure=structure
            ),
        )
        work = f"m = 100 000, n = 100, 25 alphas, {name}"
        rows.append(Row(work, seconds, 5.0, "5 s", 1))
        peak = peak_bytes(_CODE.format(structure=name))
        rows.append(
            Row(
                work + ", path and one model, memory over that of Y",
                1 + peak / Y.nbytes,
                10,
                "10 times Y",
                1,
                unit="x Y",
            )
        )
    return rows
