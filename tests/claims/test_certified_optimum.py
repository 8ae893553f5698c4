"""The optimum is the one that a conic solver finds for an independent formulation.

With K = AA' and F = AZ the norm is tr(L^-1 Z'Z): jointly convex in (Z, L), and for
the trace structure min over L of tr(L^-1 Z'Z) / 2 + tr(L) / 2 is the nuclear norm of Z.
"""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl import OutputKernelRegressor
from okl.structures import (
    Cluster,
    Fixed,
    Frobenius,
    Graph,
    Identity,
    LowRank,
    Mean,
    Sparse,
    TraceBall,
)
from tests import reference
from tests.instances import ring
from tests.samples import draw, psd

N, M = 8, 4


CASES = {
    "identity": Identity(),
    "fixed": Fixed(psd(M, 5)),
    "fixed-singular": Fixed(psd(M, 6, rank=2)),
    "graph": Graph(ring(M), 0.5),
    "frobenius": Frobenius(),
    "low-rank": LowRank(),
    "mean": Mean(2.0),
    "trace-ball": TraceBall(),
    "trace-ball-eps": TraceBall(1e-2),
    "cluster": Cluster(2),
    "cluster-wide": Cluster(3, 50.0, 0.2, 2.0),
    "sparse": Sparse(0.3, 1e-2),
    "sparse-trace": Sparse(1.0, 1e-3),
}


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize("structure", CASES.values(), ids=CASES)
@pytest.mark.parametrize(("seed", "alpha"), [(0, 0.5), (1, 0.05), (2, 5.0)])
@pytest.mark.each_value
def test_optimum_of_a_conic_solver(structure, intercept, seed, alpha):
    _, Y, K = draw(N, M, seed)
    model = OutputKernelRegressor(
        "precomputed",
        structure,
        alpha,
        fit_intercept=intercept,
        tol=1e-9,
        normalize_y=False,
    ).fit(K, Y)
    value, F = reference.conic_optimum(K, Y, alpha, structure, intercept)
    assert_allclose(model.certificate_.primal, value, rtol=1e-6)
    assert_allclose(model.certificate_.dual, value, rtol=1e-6)
    assert_allclose(model.predict(K), F, atol=2e-3 * np.abs(F).max())


@pytest.mark.parametrize("structure", [Frobenius(), LowRank()], ids=repr)
@pytest.mark.parametrize(("n", "m", "rank"), [(4, 6, None), (8, 3, 2), (7, 1, None)])
def test_other_shapes(structure, n, m, rank):
    _, Y, K = draw(n, m)
    K = K if rank is None else psd(n, rank=rank)
    model = OutputKernelRegressor(
        "precomputed", structure, 0.3, fit_intercept=False, tol=1e-9, normalize_y=False
    ).fit(K, Y)
    value, _ = reference.conic_optimum(K, Y, 0.3, structure, False)
    assert_allclose(model.certificate_.primal, value, rtol=1e-6)
    assert_allclose(model.certificate_.dual, value, rtol=1e-6)


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize(("seed", "alpha"), [(0, 0.5), (1, 0.05), (2, 3.0)])
def test_the_trace_structure_is_the_nuclear_norm(intercept, seed, alpha):
    _, Y, K = draw(N, M, seed)
    A = reference.root_of(K)
    Z = cp.Variable((A.shape[1], M))
    b = cp.Variable((1, M)) if intercept else np.zeros((1, M))
    F = A @ Z + np.ones((N, 1)) @ b
    problem = cp.Problem(cp.Minimize(cp.sum_squares(Y - F) / 2 + alpha * cp.normNuc(Z)))
    problem.solve(solver=cp.CLARABEL)
    model = OutputKernelRegressor(
        "precomputed",
        "low_rank",
        alpha,
        fit_intercept=intercept,
        tol=1e-9,
        normalize_y=False,
    ).fit(K, Y)
    assert_allclose(model.certificate_.primal, problem.value, rtol=1e-6)
    values = np.linalg.svd(Z.value)[1]
    assert model.rank_ == np.sum(values > 1e-4 * values[0])
    found = np.linalg.eigvalsh(model.output_kernel_)[::-1]
    assert_allclose(found, values, atol=2e-3 * values[0])


def test_frobenius_dual_by_a_conic_solver():
    # the dual itself, maximised over C, meets the primal
    _, Y, K = draw(6, 3)
    A, alpha = reference.root_of(K), 0.4
    C, T = cp.Variable((6, 3)), cp.Variable((3, 3), symmetric=True)
    inside = A.T @ C
    block = cp.bmat([[T, inside.T], [inside, np.eye(A.shape[1])]])
    value = (
        alpha * cp.sum(cp.multiply(C, Y))
        - alpha**2 * cp.sum_squares(C) / 2
        - alpha * cp.sum_squares(T / 2) / 2
    )
    problem = cp.Problem(cp.Maximize(value), [block >> 0])
    problem.solve(solver=cp.CLARABEL)
    model = OutputKernelRegressor(
        "precomputed",
        "frobenius",
        alpha,
        fit_intercept=False,
        tol=1e-10,
        normalize_y=False,
    ).fit(K, Y)
    assert_allclose(model.certificate_.dual, problem.value, rtol=1e-6)
