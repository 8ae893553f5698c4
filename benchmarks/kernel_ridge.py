"""Independent outputs against scikit-learn's KernelRidge, certificate included."""

from __future__ import annotations

import numpy as np
from sklearn.kernel_ridge import KernelRidge

from benchmarks.measure import Row, alternately
from okl import OutputKernelRegressor, output_kernel_path
from okl.kernels import Gaussian


def run() -> list[Row]:
    rng = np.random.default_rng(0)
    n, m, gamma = 3000, 20, 0.1
    X = rng.normal(size=(n, 10))
    Y = np.sin(X @ rng.normal(size=(10, m))) + 0.1 * rng.normal(size=(n, m))
    alphas = np.geomspace(10, 1e-3, 30)

    def ours():
        OutputKernelRegressor(
            Gaussian(gamma), "identity", alpha=0.1, fit_intercept=False
        ).fit(X, Y)

    def theirs():
        KernelRidge(kernel="rbf", gamma=gamma, alpha=0.1).fit(X, Y)

    one, ridge = alternately(5, ours, theirs)

    def our_path():
        output_kernel_path(
            X,
            Y,
            kernel=Gaussian(gamma),
            structure="identity",
            alphas=alphas,
            fit_intercept=False,
        )

    def their_path():
        for alpha in alphas:
            KernelRidge(kernel="rbf", gamma=gamma, alpha=alpha).fit(X, Y)

    many, ridges = alternately(2, our_path, their_path)
    work = f"identity, n = {n}, m = {m}, "
    return [
        Row(work + "one alpha", one, ridge, "KernelRidge", 1 / 1.2),
        Row(work + "30 alphas", many, ridges, "30 times KernelRidge", 2),
    ]
