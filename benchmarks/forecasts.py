"""Searches against their own forecasts of seconds and memory.

The first seven are typical ones; the last four are in the table of docs/choosing.md:
sparse rows, thousands of columns (a width for each, or one for all), and more than 5000
rows.
"""

from __future__ import annotations

from time import perf_counter, process_time
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.measure import Row, peak_bytes
from okl import ClassTree, OutputKernelClassifierCV, OutputKernelRegressorCV
from okl.losses import Quantile
from okl.structures import Tree

# name: the search, and what its data are drawn by
SEARCHES = {
    "regression, learned kernel, n = 1000, d = 16, m = 14": (1000, 16, 14),
    "regression, short list, n = 1000, d = 10, m = 6": (1000, 10, 6),
    "quantile, learned kernel, n = 1000, d = 8, m = 3": (1000, 8, 3),
    "huber, learned kernel, n = 1000, d = 8, m = 3": (1000, 8, 3),
    "classes, learned kernel, n = 600, d = 10, 5 classes": (600, 10, 5),
    "text, 1000 rows of 2000 words, 5 classes": (1000, 2000, 5),
    "text, 600 rows of 1000 words, 12 classes in a tree": (600, 1000, 12),
    "text, 4000 rows of 5000 words, 20 classes": (4000, 5000, 20),
    "regression, n = 300, d = 1000, m = 3": (300, 1000, 3),
    "regression, n = 300, d = 5000, m = 3": (300, 5000, 3),
    "regression, n = 6000, d = 10, m = 3": (6000, 10, 3),
}


def drawn(name: str) -> tuple[Any, Any, Any]:
    """Return a search, its rows and its targets."""
    rng = np.random.default_rng(0)
    n, d, m = SEARCHES[name]
    if name.startswith("text"):
        y = rng.integers(m, size=n)
        common = rng.dirichlet(np.full(d, 0.2))
        own = 0.6 * common + 0.4 * rng.dirichlet(np.full(d, 0.02), size=m)
        X = sparse.csr_array([rng.multinomial(40, own[c]) for c in y], dtype=float)
        if "tree" not in name:
            return OutputKernelClassifierCV(), X, y
        tree = ClassTree.from_paths([f"{c // 4}/{c // 2}./{c}.." for c in range(m)])
        search = OutputKernelClassifierCV(structures=["identity", Tree(tree)])
        return search, X, np.array(tree.classes_)[y]
    X = rng.normal(size=(n, d))
    Y = np.sin(X[:, :3] @ rng.normal(size=(3, m))) + 0.3 * rng.normal(size=(n, m))
    if name.startswith("classes"):
        return OutputKernelClassifierCV(), X, np.argmax(Y, axis=1)
    kernels = "short_list" if "short" in name else None
    losses = {"quantile": Quantile(0.9), "huber": "huber"}
    loss = losses.get(name.partition(",")[0], "squared")
    return OutputKernelRegressorCV(kernels=kernels, loss=loss), X, Y


def run() -> list[Row]:
    rows = []
    for name in SEARCHES:
        search, X, y = drawn(name)
        said = search.forecast(X, y)
        start, busy = perf_counter(), process_time()
        search.fit(X, y)
        # other programs slow the clock, threads add up in processor time
        took = min(perf_counter() - start, process_time() - busy)
        rows.append(Row(f"search, {name}", took, said.seconds, "its forecast", 1 / 3))
        code = f"""
import warnings
from benchmarks.forecasts import drawn
warnings.simplefilter("ignore")
search, X, y = drawn({name!r})
search.forecast(X, y)
# measure
search.fit(X, y)
"""
        used, mib = peak_bytes(code) / 2**20, said.memory / 2**20
        rows.append(
            Row(f"search, {name}, memory", used, mib, "its forecast", 0.8, unit="MiB")
        )
    return rows
