"""A search of 25 alphas on five folds, against the eigendecompositions it has to do."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.linalg import eigh
from sklearn.model_selection import KFold

from benchmarks.measure import Row, alternately
from okl import OutputKernelRegressorCV
from okl.kernels import Gaussian

N, M, N_ALPHAS, REPEATS = 1000, 14, 25, 7
STRUCTURES = ("identity", "frobenius", "low_rank")


def run() -> list[Row]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 10))
    Y = np.sin(X @ rng.normal(size=(10, M)) / 3) + 0.1 * rng.normal(size=(N, M))
    kernel, folds = Gaussian(0.1), KFold(5, shuffle=True, random_state=0)
    K = kernel(X)
    blocks = [K, *(K[np.ix_(train, train)] for train, _ in folds.split(X))]

    def decompositions():
        for block in blocks:
            eigh(block)

    rows = []
    for structure in STRUCTURES:
        search = OutputKernelRegressorCV(kernel, structure, alphas=N_ALPHAS, cv=folds)
        ours, theirs = alternately(REPEATS, partial(search.fit, X, Y), decompositions)
        rows.append(
            Row(
                f"search, n = {N}, m = {M}, 5 folds, {N_ALPHAS} alphas, {structure}",
                ours,
                theirs,
                "scipy.linalg.eigh of the six kernel matrices",
                1 / 1.5,
            )
        )
    return rows
