"""Data in long form: pupils of schools, and drawn tasks of few rows.

The school data are 15 362 pupils of 139 schools, one score each. The drawn tasks have
linear functions that are alike, and a sine that they share. With the squared loss they
are fitted by Newton's method on one dual variable a row, in a sparse L, or in a factor
of an L of bounded rank (`okl.solvers.observed`), and beside that by rounds.
"""

from __future__ import annotations

import os
import warnings
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.measure import Row, best_of, peak_bytes
from okl import OutputKernelRegressor, OutputKernelRegressorCV, output_kernel_path
from okl.structures import Cluster, LowRank, Sparse

PARTS = (1e-1, 1e-2)  # of alpha_max; the reproduction chooses between them
SECONDS, GIGABYTES = 60.0, 2.0
# Tasks, rows of each, and a structure; the alpha; what is searched, and in what time.
DRAWN = (
    (20, 5, "trace_ball"),
    (20, 5, "frobenius"),
    (20, 50, "frobenius"),
    (20, 50, Cluster(2)),
    (50, 4, "low_rank"),
    (100, 3, Cluster(2)),
    (150, 3, "frobenius"),
    (20, 5, Sparse(0.9)),
    (20, 25, Sparse(0.9)),
    (20, 10, LowRank(3)),
    (20, 200, "frobenius"),
)
DRAWN_ALPHA = 0.01
SEARCHED, OF_SEARCH = ((20, 5), (300, 3)), 30.0

_CODE = """
import numpy as np
from okl import OutputKernelRegressor
from benchmarks.long_form import school
X, y, task = school()
model = OutputKernelRegressor(
    "linear", "frobenius", alpha={alpha}, normalize_y=False
)
model.fit(X[:500], y[:500], task=task[:500])
# measure
model.fit(X, y, task=task)
"""


def school() -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return standardised rows and scores, and the schools; None without the data."""
    root = os.environ.get("OKL_DATA")
    if not root:
        return None
    with np.load(Path(root) / "school" / "school.npz") as stored:
        X, y = stored["X"].astype(float), stored["y"].astype(float)
        return (
            (X - X.mean(axis=0)) / X.std(axis=0),
            (y - y.mean()) / y.std(),
            stored["task"].astype(int),
        )


def drawn(n_tasks: int, n_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, targets and tasks."""
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(n_tasks), n_rows)
    X = rng.normal(size=(len(task), 5))
    weights = rng.normal(size=5) + 0.5 * rng.normal(size=(n_tasks, 5))
    y = np.sum(X * weights[task], axis=1) + np.sin(2 * X[:, 0])
    return X, y + 0.3 * rng.normal(size=len(y)), task


def of_drawn() -> list[Row]:
    rows = []
    for n_tasks, n_rows, structure in DRAWN:
        X, y, task = drawn(n_tasks, n_rows)
        model, by_rounds = (
            OutputKernelRegressor("rbf", structure, alpha=DRAWN_ALPHA, solver=solver)
            for solver in ("auto", "majorization")
        )
        seconds = best_of(3, partial(model.fit, X, y, task=task))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rounds stall, which is noted
            slow = best_of(1, partial(by_rounds.fit, X, y, task=task))
        work = f"{n_tasks} tasks of {n_rows} rows, {structure}, alpha {DRAWN_ALPHA:g}"
        note = " and ".join(
            f"{one.certificate_.status}, objective {one.certificate_.primal:.3g}, "
            f"gap {one.certificate_.relative_gap:.0e}"
            for one in (model, by_rounds)
        )
        rows.append(Row(work, seconds, slow, "by rounds", 1, note=note))
    for n_tasks, n_rows in SEARCHED:
        X, y, task = drawn(n_tasks, n_rows)
        search = OutputKernelRegressorCV()
        seconds = best_of(1, partial(search.fit, X, y, task=task))
        work = f"{n_tasks} tasks of {n_rows} rows, the default search"
        rows.append(Row(work, seconds, OF_SEARCH, f"{OF_SEARCH:g} s", 1))
    return rows


def run() -> list[Row]:
    rows = of_drawn()
    data = school()
    if data is None:
        return rows
    X, y, task = data
    # the grid begins at alpha_max
    path = output_kernel_path(
        X, y, task=task, kernel="linear", alphas=1, tol=1e-2, normalize_y=False
    )
    largest = float(path.alphas[0])
    for part in PARTS:
        model = OutputKernelRegressor(
            "linear", "frobenius", alpha=part * largest, normalize_y=False
        )
        work = f"school in long form, linear, Frobenius, alpha_max * {part:g}, gap 1e-6"
        seconds = best_of(1, lambda model=model: model.fit(X, y, task=task))
        note = f"{model.n_iter_} rounds, gap {model.certificate_.relative_gap:.1e}"
        rows.append(Row(work, seconds, SECONDS, "60 s", 1, note=note))
        peak = peak_bytes(_CODE.format(alpha=part * largest)) / 1e9
        rows.append(Row(f"{work}: memory", peak, GIGABYTES, "2 GB", 1, unit="GB"))
    return rows
