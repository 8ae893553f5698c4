"""USPS size: n = 7291, m = 10, 30 alphas, against one eigendecomposition of K."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import scipy.linalg
from sklearn.datasets import load_digits

from benchmarks.measure import Row, alternately
from okl.kernels import Gaussian
from okl.losses import Squared
from okl.operators import Dense
from okl.problems import Inputs, formulate
from okl.selection.path import alpha_grid
from okl.solvers import solve_path
from okl.structures import Frobenius, LowRank


def images() -> tuple[np.ndarray, np.ndarray, str]:
    """USPS where the data is at hand, else scikit-learn's digits, repeated."""
    folder = os.environ.get("OKL_DATA")
    if folder:
        stored = np.load(Path(folder) / "usps" / "usps.npz")
        return stored["X_train"] / 1000.0 - 1, stored["y_train"], "USPS"
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = rng.integers(len(X), size=7291)
    return X[rows] / 8 - 1 + 0.1 * rng.normal(size=(7291, 64)), y[rows], "digits"


def run() -> list[Row]:
    X, y, name = images()
    K = Gaussian(gamma=0.01)(X)
    targets = Squared().coding.encode(y, "multiclass", 10)

    def path(structure):
        inputs = Inputs.of(Dense(K, owned=False), fit_intercept=True)
        problem = formulate(inputs, targets, Squared(), structure).problem
        grid = alpha_grid(problem, 30, 1e-5)
        for solution in solve_path(problem, grid, tol=1e-6, max_iter=1000):
            assert solution.certificate.status == "optimal"

    # one run of each, in turn: minutes each
    decomposition, frobenius, low_rank = alternately(
        1,
        lambda: scipy.linalg.eigh(K),
        lambda: path(Frobenius()),
        lambda: path(LowRank()),
    )
    yardstick = "scipy.linalg.eigh(K)"
    work = f"{name}, n = {len(X)}, 30 alphas with certificates, "
    return [
        Row(work + "Frobenius", frobenius, decomposition, yardstick, 1 / 1.3),
        Row(work + "LowRank", low_rank, decomposition, yardstick, 1 / 1.3),
    ]
