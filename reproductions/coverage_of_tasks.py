"""How often intervals hold new targets of tasks of few rows.

A draw takes 20 tasks at random (`reproductions/task_sets.py`) and of each 2, 3, 5 or 10
rows to learn from; up to 20 others of the same tasks are predicted. Figures are the
percentage of these inside intervals of 90 %, `predict_interval(X, 0.9, task=task)`, the
mean over five draws ± its standard error, and in brackets the mean width of the
intervals relative to those of the last column.

**default** is `OutputKernelRegressorCV` as it comes, **frobenius** and **low_rank** are
searches with that structure alone, whose output kernel is learned freely, and
**identity** has independent tasks. **of the mean** are the mean of all training targets
and their standard deviation, with the quantile of a normal distribution.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from benchmarks.measure import machine
from scipy.stats import norm

from okl import OutputKernelRegressorCV
from reproductions.report import table, write_page
from reproductions.task_sets import Long, drawn_tasks, task_sets

LEVEL, N_DRAWS, N_TASKS, SIZES = 0.9, 5, 20, (2, 3, 5, 10)
STRUCTURES = {
    "default": None,
    "frobenius": "frobenius",
    "low_rank": "low_rank",
    "identity": "identity",
}


def one_draw(data: Long, draw: int, n_rows: int) -> dict[str, tuple[float, float]]:
    """Return the share of targets inside, and the mean width, of each method."""
    X, y, task = data
    train, test = drawn_tasks(data, draw, N_TASKS, n_rows)
    mean, deviation = X[train].mean(axis=0), X[train].std(axis=0)
    rows = (X - mean) / np.where(deviation > 0, deviation, 1.0)
    size = norm.ppf((1 + LEVEL) / 2) * y[train].std(ddof=1)
    ends = {"of the mean": (y[train].mean() - size, y[train].mean() + size)}
    for name, structure in STRUCTURES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # edges of grids
            model = OutputKernelRegressorCV(structures=structure)
            model.fit(rows[train], y[train], task=task[train])
        ends[name] = model.predict_interval(rows[test], LEVEL, task=task[test])
    return {
        name: (
            float(np.mean((low <= y[test]) & (y[test] <= high))),
            float(np.mean(high - low) / (2 * size)),
        )
        for name, (low, high) in ends.items()
    }


def run() -> None:
    methods = [*STRUCTURES, "of the mean"]
    lines = []
    for name, data in task_sets():
        for n_rows in SIZES:
            found = [one_draw(data, draw, n_rows) for draw in range(N_DRAWS)]
            cells = []
            for method in methods:
                shares, widths = np.array([one[method] for one in found]).T
                error = 100 * shares.std(ddof=1) / N_DRAWS**0.5
                said = f"{100 * shares.mean():.0f} ± {error:.0f}"
                width = "" if method == methods[-1] else f" ({widths.mean():.2f})"
                cells.append(said + width)
            lines.append((name, n_rows, *cells))
            print(lines[-1], file=sys.stderr, flush=True)
    write_page(
        "coverage_of_tasks",
        f"""# How often intervals of tasks of few rows hold new targets

`python -m reproductions coverage_of_tasks`. {__doc__.split(chr(10) * 2, 1)[1]}
{table(["set", "rows of a task", *methods], lines)}

Machine: {machine()}.
""",
    )
