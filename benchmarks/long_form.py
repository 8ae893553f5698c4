"""The school data in long form: 15 362 pupils of 139 schools, one score each."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from benchmarks.measure import Row, best_of, peak_bytes
from okl import OutputKernelRegressor, output_kernel_path

PARTS = (1e-1, 1e-2)  # of alpha_max; the reproduction chooses between them
SECONDS, GIGABYTES = 60.0, 2.0

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


def run() -> list[Row]:
    data = school()
    if data is None:
        return []
    X, y, task = data
    # the grid begins at alpha_max
    path = output_kernel_path(
        X, y, task=task, kernel="linear", alphas=1, tol=1e-2, normalize_y=False
    )
    largest = float(path.alphas[0])
    rows = []
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
