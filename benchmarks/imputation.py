"""The cost of predicting outputs given others of the row, and of filling in tables.

Conditional prediction: 1000 training rows, 14 outputs, 16 columns; 1000 new rows with
50 patterns of known outputs. The first call, which decomposes the kernel matrix and
computes predictions of left-out rows, is compared with two seconds.

A table of 5000 x 30 of which 30 % is missing, without inputs: `OutputKernelImputer`
against scikit-learn's `IterativeImputer` with `BayesianRidge` at ten rounds.
"""

from __future__ import annotations

import warnings
from time import process_time

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

from benchmarks.measure import Row, alternately, best_of
from okl import OutputKernelImputer, OutputKernelRegressor
from okl.kernels import Gaussian


def run() -> list[Row]:
    return [*conditional(), table()]


def conditional() -> list[Row]:
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(1000, 16)), rng.normal(size=(1000, 16))
    W, mixing = rng.normal(size=(16, 14)) / 4, rng.normal(size=(14, 14)) / 4
    Y = np.sin(X @ W) + 0.5 * rng.normal(size=(1000, 14)) @ mixing
    truth = np.sin(new @ W) + 0.5 * rng.normal(size=(1000, 14)) @ mixing
    patterns = rng.random((50, 14)) < 0.5
    given = np.where(patterns[rng.integers(50, size=1000)], np.nan, truth)
    rows = []
    for structure in ("identity", "frobenius"):
        best, of_processor = float("inf"), float("inf")
        for _ in range(3):
            model = OutputKernelRegressor(Gaussian(0.02), structure, 1.0).fit(X, Y)
            start = process_time()
            seconds = best_of(
                1,
                lambda model=model: model.predict(new, given=given, return_std=True),
            )
            best = min(best, seconds)
            of_processor = min(of_processor, process_time() - start)
        work = "n = 1000, m = 14, 1000 new rows, 50 patterns of known outputs, "
        note = f"{of_processor:.2f} s of processor time"
        rows.append(Row(work + structure, best, 2.0, "two seconds", 1.0, note=note))
    return rows


def table() -> Row:
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(5, 30))
    whole = rng.normal(size=(5000, 5)) @ mixing + 0.7 * rng.normal(size=(5000, 30))
    holes = rng.random(whole.shape) < 0.3
    given = np.where(holes, np.nan, whole)
    found = {}

    def fill(imputer: object) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            filled = imputer.fit_transform(given)
        error = np.sqrt(np.mean((filled - whole)[holes] ** 2))
        found[type(imputer).__name__] = float(error)

    ours, theirs = alternately(
        3,
        lambda: fill(OutputKernelImputer()),
        lambda: fill(IterativeImputer(max_iter=10, random_state=0)),
    )
    errors = " and ".join(f"{error:.3f}" for error in found.values())
    work = "a table of 5000 x 30, 30 % missing, no inputs, filled in"
    yardstick = "IterativeImputer, 10 rounds"
    return Row(work, ours, theirs, yardstick, 1.0, note=f"errors {errors}")
