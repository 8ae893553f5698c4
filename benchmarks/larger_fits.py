"""Learned output kernels under each loss, n = 600, m = 20, against ten seconds.

Systems of so many rows and outputs are too large to be factorised as they are. The
random fits of `tests.claims.random_fits`, with at most 150 rows, do not show how long
these take.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.measure import Row, best_of
from okl import OutputKernelClassifier, OutputKernelRegressor
from okl.kernels import Gaussian

N, M, D = 600, 20, 10
ALPHA, TOL, LIMIT = 0.05, 1e-6, 10.0


def run() -> list[Row]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    bent, straight = rng.normal(size=(2, D, 5))
    hidden = np.sin(X @ bent) + 0.3 * X @ straight
    Y = hidden @ rng.normal(size=(5, M)) + 0.5 * rng.normal(size=(N, M))
    cases: list[tuple[str, Any, Any]] = [
        ("softmax", OutputKernelClassifier, (Y + rng.gumbel(size=Y.shape)).argmax(1)),
        ("logistic", OutputKernelClassifier, (Y > 1).astype(int)),
        ("squared_hinge", OutputKernelClassifier, (Y > 1).astype(int)),
        ("huber", OutputKernelRegressor, Y + rng.standard_t(2, size=Y.shape)),
        ("quantile", OutputKernelRegressor, Y),
    ]
    rows = []
    for loss, estimator, y in cases:
        for structure in ("frobenius", "low_rank", "trace_ball", "sparse"):
            model = estimator(Gaussian(0.05), structure, ALPHA, loss=loss, tol=TOL)
            seconds = best_of(1, partial(model.fit, X, y))
            found = model.certificate_
            work = f"{loss}, {structure}, n = {N}, m = {M}, alpha {ALPHA:g}"
            note = f"{found.status}, gap {found.relative_gap:.0e}"
            rows.append(Row(work, seconds, LIMIT, "ten seconds", 1, note=note))
    return rows
