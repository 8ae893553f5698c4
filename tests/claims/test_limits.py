"""Limiting cases that other libraries, or closed forms, solve."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from okl import OutputKernelRegressor, output_kernel_path
from okl.kernels import Gaussian
from okl.structures import Fixed, Graph
from tests.samples import alpha_max, draw, orthogonal

SOLVERS = ["auto", "closed_form"]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("alpha", [1e-2, 1.0, 100.0])
@pytest.mark.parametrize("m", [0, 1, 4, 25])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "linear-wide"])
def test_identity_is_kernel_ridge(solver, alpha, m, kernel):
    X, Y, _ = draw(20, max(m, 1), n_features=30 if kernel == "linear-wide" else 3)
    Y = Y if m else Y[:, 0]
    X_new = draw(7, 1, seed=9, n_features=X.shape[1]).X
    if kernel == "rbf":
        ours, theirs = Gaussian(0.5), KernelRidge(alpha=alpha, kernel="rbf", gamma=0.5)
    else:
        ours, theirs = "linear", KernelRidge(alpha=alpha)
    model = OutputKernelRegressor(
        ours, "identity", alpha, fit_intercept=False, solver=solver
    ).fit(X, Y)
    theirs.fit(X, Y)
    scale = np.abs(theirs.dual_coef_).max()
    assert model.dual_coef_.shape == theirs.dual_coef_.shape
    assert_allclose(model.dual_coef_, theirs.dual_coef_, atol=1e-11 * scale)
    assert_allclose(model.predict(X_new), theirs.predict(X_new), atol=1e-11 * scale)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("alpha", [1e-2, 1.0, 100.0])
@pytest.mark.parametrize("n_features", [3, 40])
@pytest.mark.parametrize("sparse", [False, True])
def test_identity_with_an_intercept_is_ridge(solver, alpha, n_features, sparse):
    X, Y, _ = draw(20, 3, n_features=n_features)
    X = X + 2.0
    theirs = Ridge(alpha=alpha).fit(X, Y)
    given = sp.csr_matrix(X) if sparse else X
    model = OutputKernelRegressor("linear", "identity", alpha, solver=solver)
    model.fit(given, Y)
    coef = X.T @ model.dual_coef_
    assert_allclose(coef, theirs.coef_.T, atol=1e-10)
    # dense rows are seen from their means
    center = 0 if sparse else model.kernel_.center @ coef
    assert_allclose(model.intercept_ - center, theirs.intercept_, atol=1e-10)
    assert_allclose(model.predict(given), theirs.predict(X), atol=1e-10)


@pytest.mark.parametrize("m", [3, 12])
def test_output_kernels_that_are_the_identity(m):
    # with more outputs than samples the problem is solved in the span of the targets,
    # but L is I all the same, not the projection on that span
    X, Y, _ = draw(8, m)
    identity = OutputKernelRegressor(structure="identity", normalize_y=False).fit(X, Y)
    for structure in (Fixed(np.eye(m)), Graph(np.zeros((m, m)), 1.0)):
        model = OutputKernelRegressor(structure=structure, normalize_y=False).fit(X, Y)
        assert_allclose(model.dual_coef_, identity.dual_coef_, atol=1e-11)
        assert_allclose(model.output_kernel_, np.eye(m), atol=1e-14)
    assert_allclose(identity.output_kernel_, np.eye(m), atol=1e-14)
    assert identity.rank_ == m
    assert identity.output_kernel_factor_.shape == (m, m)


def test_a_multiple_of_the_identity_divides_alpha():
    X, Y, _ = draw(15, 3)
    one = OutputKernelRegressor(structure=Fixed(4 * np.eye(3)), alpha=2.0).fit(X, Y)
    two = OutputKernelRegressor(structure="identity", alpha=0.5).fit(X, Y)
    assert_allclose(one.predict(X), two.predict(X), atol=1e-12)


def test_a_strong_graph_ties_the_outputs_together():
    X, Y, _ = draw(15, 3)
    tied = Graph(1e9 * (np.ones((3, 3)) - np.eye(3)), 1.0)
    model = OutputKernelRegressor(structure=tied, alpha=1.0, normalize_y=False).fit(
        X, Y
    )
    centered = model.predict(X) - model.intercept_
    # 3 outputs: three times the loss, three times the norm
    mean = OutputKernelRegressor(
        structure="identity", alpha=1.0, normalize_y=False
    ).fit(X, Y.mean(axis=1))
    expected = mean.predict(X) - mean.intercept_
    assert_allclose(centered, np.tile(expected[:, None], 3), atol=1e-6)


@pytest.mark.parametrize("alpha", [0.01, 1.0, 3.0])
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_trace_and_orthonormal_features_are_singular_value_thresholding(
    alpha, intercept
):
    X = orthogonal(20, 0, 4)
    if intercept:  # centred and orthonormal
        X = np.linalg.qr(X - X.mean(axis=0))[0]
    Y = X @ np.random.default_rng(1).normal(size=(4, 6)) * 3 + draw(20, 6).Y
    Yc = Y - Y.mean(axis=0) if intercept else Y
    U, s, Vt = np.linalg.svd(X.T @ Yc, full_matrices=False)
    expected = (U * np.clip(s - alpha, 0, None)) @ Vt
    model = OutputKernelRegressor(
        "linear",
        "low_rank",
        alpha,
        fit_intercept=intercept,
        tol=1e-11,
        normalize_y=False,
    ).fit(X, Y)
    assert model.rank_ == np.sum(s > alpha)
    assert_allclose(X.T @ model.dual_coef_, expected, atol=1e-5 * s[0])
    L = (Vt.T * np.clip(s - alpha, 0, None)) @ Vt
    assert_allclose(model.output_kernel_, L, atol=1e-5 * s[0])


@pytest.mark.parametrize("alpha", [0.01, 1.0, 30.0])
def test_one_output_with_the_frobenius_structure_is_a_scalar_equation(alpha):
    # l = c'Kc / 2 with c = (l K + alpha I)^-1 y, a ridge with a chosen alpha / l
    _, Y, K = draw(15, 1)
    model = OutputKernelRegressor(
        "precomputed",
        "frobenius",
        alpha,
        fit_intercept=False,
        tol=1e-12,
        normalize_y=False,
    ).fit(K, Y)
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        c = np.linalg.solve(middle * K + alpha * np.eye(15), Y)
        low, high = (
            (middle, high) if (c.T @ K @ c).item() / 2 > middle else (low, middle)
        )
    assert model.output_kernel_.item() == pytest.approx(low, rel=1e-5)
    assert_allclose(model.dual_coef_, low * c, rtol=1e-4, atol=1e-6 * np.abs(c).max())


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize("m", [1, 4, 15])
def test_nothing_is_learned_from_alpha_max_on(intercept, m):
    _, Y, K = draw(12, m)
    top = alpha_max(K, Y, intercept)
    for factor in (1.0 + 1e-9, 2.0, 1e6):
        model = OutputKernelRegressor(
            "precomputed",
            "low_rank",
            factor * top,
            fit_intercept=intercept,
            normalize_y=False,
        ).fit(K, Y)
        assert model.rank_ == 0
        assert np.all(model.output_kernel_ == 0)
        assert np.all(model.dual_coef_ == 0)
        assert model.output_kernel_factor_.shape == (m, 0)
        mean = Y.mean(axis=0) if intercept else np.zeros(m)
        assert_allclose(model.predict(K), np.tile(mean, (12, 1)), atol=1e-14)
    below = OutputKernelRegressor(
        "precomputed",
        "low_rank",
        0.99 * top,
        fit_intercept=intercept,
        tol=1e-9,
        normalize_y=False,
    ).fit(K, Y)
    assert below.rank_ == 1
    assert below.certificate_.status == "optimal"


@pytest.mark.parametrize("structure", ["frobenius", "low_rank"])
def test_small_alpha_interpolates_and_large_alpha_shrinks(structure):
    _, Y, K = draw(10, 3)
    small = OutputKernelRegressor("precomputed", structure, 1e-7).fit(K, Y)
    assert_allclose(small.predict(K), Y, atol=1e-4)
    large = OutputKernelRegressor("precomputed", structure, 1e7).fit(K, Y)
    assert_allclose(large.predict(K), np.tile(Y.mean(axis=0), (10, 1)), atol=1e-4)


def test_the_paths_first_alpha_is_alpha_max():
    _, Y, K = draw(12, 4)
    for intercept in (False, True):
        path = output_kernel_path(
            K,
            Y,
            kernel="precomputed",
            structure="low_rank",
            fit_intercept=intercept,
            normalize_y=False,
        )
        assert path.alphas[0] == pytest.approx(alpha_max(K, Y, intercept), rel=1e-12)
        # not 1e-16 of rank 1 where rounding leaves alpha one ulp below
        assert path[0].rank_ == 0
        assert path[1].rank_ == 1
