"""Cross-validation over alphas and structures: eigendecompositions of K, counted."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import patch

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.measure import Row, best_of
from okl import OutputKernelRegressorCV
from okl.operators import Dense
from okl.structures import Sparse

N_FOLDS, N_ALPHAS = 5, 10
MUS = (0.1, 0.3, 0.5, 0.7, 0.9)


def robot() -> tuple[np.ndarray, np.ndarray, str]:
    """The SARCOS arm where the data is at hand, else random rows of that size."""
    folder = os.environ.get("OKL_DATA")
    if folder:
        stored = np.load(Path(folder) / "sarcos4449" / "sarcos4449.npz")
        return stored["X"], stored["Y"], "sarcos"
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4449, 21))
    return X, np.sin(X @ rng.normal(size=(21, 7))), "random rows"


def run() -> list[Row]:
    X, Y, name = robot()
    X, Y = StandardScaler().fit_transform(X), StandardScaler().fit_transform(Y)
    search = OutputKernelRegressorCV(
        "rbf", [Sparse(mu) for mu in MUS], alphas=N_ALPHAS, cv=N_FOLDS
    )
    counted = []
    decompose = Dense._decompose

    def counting(operator):
        counted.append(operator.n_samples)
        return decompose(operator)

    with patch.object(Dense, "_decompose", counting):
        seconds = best_of(1, lambda: search.fit(X, Y))
    work = f"{name}, {N_FOLDS} folds, {N_ALPHAS} alphas x {len(MUS)} mu"
    return [
        Row(
            work,
            len(counted),
            N_FOLDS + 1,
            "one eigendecomposition per fold, and one for the last fit",
            1,
            unit="eigendecompositions",
            note=f"{seconds:.0f} s, R2 = {search.best_score_:.4f} at "
            f"{search.structure_}, alpha = {search.alpha_:.3g}",
        )
    ]
