"""The sparse structure step: conic solvers, the published splitting, and 500 outputs.

The step minimises over L for a given P. P comes from outputs in clusters of ten, in
different units: for a random P of weak correlations the optimal L is diagonal, which
proves nothing.
"""

from __future__ import annotations

from itertools import islice
from time import perf_counter

import cvxpy as cp
import numpy as np
from scipy.linalg import cholesky, eigvalsh, inv

from benchmarks.measure import Row, best_of, peak_bytes
from okl.structures import Sparse
from okl.structures.splitting import primal_dual_splitting

EPS, TOL = 1e-3, 1e-6


def instance(n_outputs: int, seed: int = 0) -> np.ndarray:
    """Return P = F'F / 2T + 1e-3 I."""
    rng = np.random.default_rng(seed)
    groups = np.arange(n_outputs) // 10
    F = rng.normal(size=(2 * n_outputs, groups[-1] + 1))[:, groups]
    F = F + 0.4 * rng.normal(size=F.shape)
    F = F * rng.uniform(0.5, 2, n_outputs)
    return F.T @ F / (2 * n_outputs) + 1e-3 * np.eye(n_outputs)


def objective(L: np.ndarray, P: np.ndarray, structure: Sparse) -> float:
    """Return the objective, infinite for an L that is not positive definite."""
    if eigvalsh(L)[0] <= 0:
        return float("inf")
    return float(np.vdot(inv(L), P)) / 2 + structure.penalty(L)


def conic(P: np.ndarray, structure: Sparse, solver: str) -> tuple[float, np.ndarray]:
    """Return the seconds of the solver, its compilation included, and L."""
    T = len(P)
    L = cp.Variable((T, T), PSD=True)
    root = cholesky(P + structure.eps * np.eye(T), lower=True)
    penalty = structure.mu * cp.trace(L) + (1 - structure.mu) * cp.sum(cp.abs(L))
    problem = cp.Problem(cp.Minimize((cp.matrix_frac(root, L) + penalty) / 2))
    start = perf_counter()
    problem.solve(solver=solver)
    return perf_counter() - start, L.value


def splitting(
    P: np.ndarray, structure: Sparse, optimum: float
) -> tuple[float, int, float]:
    """Return seconds, iterations and error where it stopped, to 1e-6 or 5000."""
    seconds, error, number = 0.0, float("inf"), 0
    start = perf_counter()
    Q = P + structure.eps * np.eye(len(P))
    iterates = primal_dual_splitting(Q, structure.prox)
    while number < 5000 and error > TOL:
        *_, L = islice(iterates, 100)
        number += 100
        seconds += perf_counter() - start  # looking at the error costs it nothing
        error = objective(L, P, structure) / optimum - 1
        start = perf_counter()
    return seconds, number, error


_LARGE = """
import numpy as np
from benchmarks.sparse_step import instance
from okl.structures import Sparse
P = instance(500)
Sparse().update(instance(20))
# measure
Sparse({mu}).update(P, tol=1e-6)
"""


def run() -> list[Row]:
    rows = []
    for mu in (0.3, 0.95):
        structure, P = Sparse(mu, EPS), instance(60)
        L = structure.update(P, tol=TOL)
        best = objective(structure.update(P, tol=1e-12), P, structure)
        assert objective(L, P, structure) <= best * (1 + TOL)
        ours = best_of(20, lambda s=structure, P=P: s.update(P, tol=TOL))
        work = f"sparse step, T = 60, mu = {mu}, {np.mean(L == 0):.0%} zeros"
        for solver, reach in (("CLARABEL", 1000), ("SCS", 10)):
            seconds, found = conic(P, structure, solver)
            error = objective(found, P, structure) / best - 1
            note = f"its L is {error:.1e} above the optimum"
            rows.append(Row(work, ours, seconds, f"CVXPY, {solver}", reach, note=note))
        seconds, iterations, error = splitting(P, structure, best)
        note = f"{iterations} iterations, {error:.1e} above the optimum"
        rows.append(
            Row(work, ours, seconds, "published splitting, corrected", 100, note=note)
        )
    for mu in (0.3, 0.95):
        P = instance(500)
        ours = best_of(2, lambda mu=mu, P=P: Sparse(mu, EPS).update(P, tol=TOL))
        work = f"sparse step, T = 500, mu = {mu}"
        rows.append(Row(work, ours, 30, "30 s", 1))
        peak = peak_bytes(_LARGE.format(mu=mu)) / 1e9
        rows.append(Row(work + ", peak memory", peak, 1, "1 GB", 1, unit="GB"))
    return rows
