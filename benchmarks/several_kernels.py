"""Several kernels, each with its own output kernel, against five seconds.

Two Gaussian kernels, and one kernel with `Row()`, n = 500, m = 20: fits without a start
to the default tolerance, and a path of 25 alphas. Labels, targets with outliers, and
missing targets, whose weights differ within a row: two kernels, n = 500, m = 8.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.measure import Row, best_of
from okl import OutputKernelClassifier, OutputKernelRegressor, output_kernel_path
from okl.kernels import Gaussian, Laplacian
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
    return [*rows, *_other_losses()]


def _other_losses() -> list[Row]:
    n, m, d = 500, 8, 6
    rng = np.random.default_rng(0)
    X, directions = rng.normal(size=(n, d)), rng.normal(size=(2, d, m))
    scores = np.sin(X @ directions[0]) + 0.5 * X @ directions[1]
    labels, holes = scores.argmax(axis=1), rng.random((n, m)) < 0.3
    cases: list[tuple[str, Any, Any]] = [
        ("softmax", OutputKernelClassifier, labels),
        ("logistic", OutputKernelClassifier, labels),
        ("huber", OutputKernelRegressor, scores + rng.standard_t(2, size=(n, m))),
        ("squared", OutputKernelRegressor, np.where(holes, np.nan, scores)),
    ]
    rows = []
    for loss, estimator, y in cases:
        for structure in ("frobenius", "low_rank"):
            model = estimator(
                [Gaussian(0.1), Laplacian(0.3)], [structure] * 2, 0.01, loss=loss
            )
            seconds = best_of(3, partial(model.fit, X, y))
            assert model.certificate_.status == "optimal"
            work = f"two kernels, {structure}, {loss}, n = {n}, m = {m}, alpha 0.01"
            gap = f"gap {model.certificate_.relative_gap:.0e}"
            rows.append(Row(work, seconds, LIMIT, "five seconds", 1, note=gap))
    return rows
