"""The processor time, of one thread, for learning a width of each feature.

Timed are one criterion from one start, and the whole of ``kernel="auto"``, which
compares candidates by rows left out, chooses alpha and fits: with independent outputs,
and with a search of structures on five folds after it.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

from benchmarks.measure import Row
from okl import OutputKernelRegressorCV
from okl.kernels import Gaussian
from okl.losses import Squared
from okl.problems import Observed
from okl.selection.criteria import LeaveOneOutError, RestrictedLikelihood
from okl.selection.learning import learn
from okl.structures import Identity

N, D, M = 1000, 16, 14
# Seconds of each criterion.
LIMITS = ((RestrictedLikelihood, 4.0), (LeaveOneOutError, 8.0))
# And of ``kernel="auto"``, with these structures.
AUTO_LIMITS = ((["identity"], 4.0), (["identity", "frobenius", "low_rank"], 8.0))


def draw(n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and outputs, where six of the features count."""
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(n, D)), rng.normal(size=(D, M))
    weights[6:] = 0.0
    return X, np.sin(X @ weights / 2) + 0.1 * rng.normal(size=(n, M))


def run(n: int = N) -> list[Row]:
    """Learn 16 widths and alpha, by one criterion and by default."""
    X, Y = draw(n)
    observed = Observed((Y - Y.mean(axis=0)) / Y.std(axis=0), Squared())
    rows = []
    for criterion, limit in LIMITS:
        seconds, found = _timed(
            lambda criterion=criterion: learn(
                X,
                observed,
                Gaussian(np.full(D, 1 / D)),
                Identity(),
                1.0,
                criterion(observed, fit_intercept=True),
                fit_intercept=True,
            )
        )
        evaluations = int(found.trace[-1]["evaluations"])
        work = f"{D} widths and alpha by {criterion.__name__}, n = {n}, m = {M}"
        note = f"processor time of {evaluations} evaluations"
        rows.append(Row(work, seconds, limit, "the limit set", 1.0, note=note))
    for structures, limit in AUTO_LIMITS:
        model = OutputKernelRegressorCV("auto", structures)
        seconds, model = _timed(lambda model=model: model.fit(X, Y))
        work = f'kernel="auto", {", ".join(structures)}: fit, n = {n}, d = {D}, m = {M}'
        note = f"processor time; {type(model.structure_).__name__} was chosen"
        rows.append(Row(work, seconds, limit, "the limit set", 1.0, note=note))
    return rows


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = process_time()
    found = work()
    return process_time() - start, found
