"""Kernels whose eigenvalues span many decades, outputs of different scales."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl import OutputKernelRegressor, output_kernel_path
from okl.structures import LowRank
from tests.samples import solve


def hard(seed):
    """Draw a kernel of random rank and spectrum, targets of random scales."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 30)), int(rng.integers(1, 12))
    rank = int(rng.integers(1, n + 1))
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0][:, :rank]
    K = (Q * 10.0 ** rng.uniform(-rng.uniform(0, 8), 1, size=rank)) @ Q.T
    scales = 10.0 ** rng.uniform(-rng.choice([0, 2, 3]), 0, size=m)
    Y = rng.normal(size=(n, m)) * scales * 10.0 ** rng.uniform(-3, 3)
    if rng.random() < 0.3:
        half = max(1, m // 2)
        Y = Y @ rng.normal(size=(m, m))[:, :half] @ rng.normal(size=(half, m))
    return (K + K.T) / 2, Y, bool(rng.random() < 0.5)


def check(seed, structure):
    K, Y, intercept = hard(seed)
    path = output_kernel_path(
        K,
        Y,
        kernel="precomputed",
        structure=structure,
        fit_intercept=intercept,
        alphas=7,
        eps=1e-4,
        normalize_y=False,
    )
    allowed = {"optimal"} if structure.rank is None else {"optimal", "rank_limited"}
    assert {certificate.status for certificate in path.certificates} <= allowed
    # so many iterations would be a cycle
    assert max(model.n_iter_ for model in path) <= 100
    position = seed % 7
    cold = OutputKernelRegressor(
        "precomputed",
        structure,
        path.alphas[position],
        fit_intercept=intercept,
        normalize_y=False,
    ).fit(K, Y)
    warm = path.certificates[position]
    assert warm.dual <= cold.certificate_.primal * (1 + 1e-9)
    assert cold.certificate_.dual <= warm.primal * (1 + 1e-9)
    if structure.rank is None:
        assert_allclose(cold.certificate_.primal, warm.primal, rtol=2e-6)


def frobenius(seed):
    K, Y, intercept = hard(seed)
    path = output_kernel_path(
        K,
        Y,
        kernel="precomputed",
        fit_intercept=intercept,
        alphas=7,
        eps=1e-4,
        normalize_y=False,
    )
    return path, intercept, K, Y


SEEDS = [*range(12), 18, 29, 31, 65, 71, 76, 89, 98, 101, 106, 118, 119, 124, 134, 140]


@pytest.mark.parametrize("seed", SEEDS)
def test_trace(seed):
    # a step across ranks that raises the objective takes turns with Newton's for ever
    check(seed, LowRank())


@pytest.mark.parametrize("seed", SEEDS)
def test_bounded_rank(seed):
    check(seed, LowRank(2))


@pytest.mark.parametrize("seed", SEEDS)
def test_frobenius(seed):
    # the gap may grow for a while where the dual objective rises: not yet the end
    path, intercept, K, Y = frobenius(seed)
    assert {certificate.status for certificate in path.certificates} == {"optimal"}
    cold = OutputKernelRegressor(
        "precomputed",
        "frobenius",
        path.alphas[seed % 7],
        fit_intercept=intercept,
        normalize_y=False,
    ).fit(K, Y)
    assert_allclose(
        cold.certificate_.primal, path.certificates[seed % 7].primal, rtol=2e-6
    )


@pytest.mark.parametrize("seed", [89, 98, 118, 140])
@pytest.mark.parametrize("fraction", [0.3, 0.05, 0.01])
def test_newton_steps_of_the_trace_structure_are_monotone(seed, fraction):
    K, Y, _ = hard(seed)
    alpha = fraction * np.linalg.norm(Y.T @ K @ Y, 2) ** 0.5
    found = solve(K, Y, LowRank(), alpha, tol=1e-8)
    primal = np.array([record["primal"] for record in found.solution.history])
    assert np.all(np.diff(primal) <= 1e-12 * primal[0])


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_many_more(block):
    for seed in range(1000 + 30 * block, 1030 + 30 * block):
        check(seed, LowRank())
        check(seed, LowRank(2))
        path, *_ = frobenius(seed)
        assert {certificate.status for certificate in path.certificates} == {"optimal"}
