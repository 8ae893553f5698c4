"""Derivatives of a kernel by the width of each feature: n = 954, 16 features.

The yardstick is the way of scikit-learn's Gaussian processes: one matrix of derivatives
for each parameter, and its inner product with the weights.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.gaussian_process import kernels as processes

from benchmarks.measure import Row, alternately, best_of
from okl.kernels import Gaussian, Kernel, Laplacian, Matern

N_SAMPLES, N_FEATURES, REPEATS = 954, 16, 9


def run() -> list[Row]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_SAMPLES, N_FEATURES))
    W = rng.normal(size=(N_SAMPLES, N_SAMPLES))
    W += W.T
    length = np.full(N_FEATURES, N_FEATURES**0.5)

    def ours(kernel: Kernel) -> Callable[[], np.ndarray]:
        def work() -> np.ndarray:
            (derivatives,) = kernel.value_and_pullback(X)[1](W).values()
            return derivatives

        return work

    def theirs(kernel: processes.Kernel) -> Callable[[], np.ndarray]:
        def work() -> np.ndarray:
            _, derivatives = kernel(X, eval_gradient=True)
            return np.tensordot(W, derivatives, axes=2)

        return work

    rows = []
    for name, one, other, factor in (
        ("Gaussian", Gaussian(0.5 / length**2), processes.RBF(length), -0.5),
        ("Matern 5/2", Matern(length, 2.5), processes.Matern(length, nu=2.5), 1.0),
    ):
        mine, other_work = ours(one), theirs(other)
        # gamma is 1 / (2 length^2): its derivative is -1/2 that by the length
        np.testing.assert_allclose(mine(), factor * other_work(), rtol=1e-8)
        size = f"n = {N_SAMPLES}, {N_FEATURES} features, {name} with ARD"
        rows.append(
            Row(
                f"{size}: matrix and gradient",
                *alternately(REPEATS, mine, other_work),
                "scikit-learn's kernel with eval_gradient",
                5,
            )
        )
    for name, one, reach in (
        ("Gaussian", Gaussian(0.5 / length**2), 2),
        ("Laplacian", Laplacian(1 / length), 0.4),
    ):
        pullback = one.value_and_pullback(X)[1]
        rows.append(
            Row(
                f"n = {N_SAMPLES}, {N_FEATURES} features, {name} with ARD: gradient "
                "beside the matrix",
                best_of(REPEATS, lambda pullback=pullback: pullback(W)),  # type: ignore[misc]
                best_of(REPEATS, lambda one=one: one(X)),  # type: ignore[misc]
                "the kernel matrix",
                reach,
            )
        )
    return rows
