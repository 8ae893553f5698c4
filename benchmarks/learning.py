"""What it takes to learn a width for each feature, by one thread's processor time."""

from __future__ import annotations

from time import process_time

import numpy as np

from benchmarks.measure import Row
from okl.kernels import Gaussian
from okl.losses import Squared
from okl.problems import Observed
from okl.selection.criteria import LeaveOneOutError, RestrictedLikelihood
from okl.selection.learning import learn
from okl.structures import Identity

N, D, M = 1000, 16, 14
# Seconds of each criterion.
LIMITS = ((RestrictedLikelihood, 4.0), (LeaveOneOutError, 8.0))


def run() -> list[Row]:
    """Learn 16 widths and alpha, where six of the features count."""
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(N, D)), rng.normal(size=(D, M))
    weights[6:] = 0.0
    Y = np.sin(X @ weights / 2) + 0.1 * rng.normal(size=(N, M))
    observed = Observed((Y - Y.mean(axis=0)) / Y.std(axis=0), Squared())
    rows = []
    for criterion, limit in LIMITS:
        start = process_time()
        found = learn(
            X,
            observed,
            Gaussian(np.full(D, 1 / D)),
            Identity(),
            1.0,
            criterion(observed, fit_intercept=True),
            fit_intercept=True,
        )
        seconds = process_time() - start
        evaluations = int(found.trace[-1]["evaluations"])
        work = f"{D} widths and alpha by {criterion.__name__}, n = {N}, m = {M}"
        note = f"processor time of {evaluations} evaluations"
        rows.append(Row(work, seconds, limit, "the limit set", 1.0, note=note))
    return rows
