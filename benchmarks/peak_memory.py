"""n = 10 000, m = 50: how many n x n arrays at the peak, LAPACK's included."""

from __future__ import annotations

from benchmarks.measure import Row, peak_bytes

_CODE = """
import warnings
import numpy as np
from okl import OutputKernelRegressor
from okl.kernels import Gaussian
rng = np.random.default_rng(0)
X = rng.normal(size=(10_000, 10))
Y = np.sin(X @ rng.normal(size=(10, 50))) + 0.1 * rng.normal(size=(10_000, 50))
OutputKernelRegressor(structure="{structure}").fit(X[:50], Y[:50])
# measure
OutputKernelRegressor(Gaussian(0.1), "{structure}", alpha=1.0).fit(X, Y)
"""


def run() -> list[Row]:
    matrix = 8 * 10_000**2
    return [
        Row(
            f"n = 10 000, m = 50, {structure}, n x n arrays at the peak",
            peak_bytes(_CODE.format(structure=structure)) / matrix,
            4,
            "four arrays",
            1,
            unit="arrays",
        )
        for structure in ("identity", "frobenius", "low_rank")
    ]
