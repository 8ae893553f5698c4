"""Each kernel against scikit-learn's function and against its formula."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.gaussian_process.kernels import Matern as GaussianProcessMatern
from sklearn.metrics import pairwise
from sklearn.svm import SVC

from okl.kernels import (
    Constant,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
)

rng = np.random.default_rng(3)
X = rng.normal(size=(9, 4))
Z = rng.normal(size=(5, 4))
WEIGHTS = np.array([0.3, 2.0, 0.05, 1.0])
differences = X[:, None] - Z[None]


@pytest.mark.parametrize("gamma", [0.2, 1, np.float32(3.0)])
def test_one_gamma_is_sklearns_function(gamma):
    number = float(gamma)
    assert_allclose(Gaussian(gamma)(X, Z), pairwise.rbf_kernel(X, Z, number))
    assert_allclose(Laplacian(gamma)(X, Z), pairwise.laplacian_kernel(X, Z, number))
    assert_allclose(
        Polynomial(4, gamma, 0.5)(X, Z),
        pairwise.polynomial_kernel(X, Z, 4, number, 0.5),
    )


def test_linear_is_sklearns_function():
    assert_array_equal(Linear()(X, Z), pairwise.linear_kernel(X, Z))


def test_a_trend_goes_no_further_than_its_limits():
    limits = np.stack([Z.min(axis=0), Z.max(axis=0)])
    clipped = np.clip(X, *limits)
    kernel = Linear([0.5, 0.0, -1.0, 3.0], 2.0, limits)
    assert_allclose(kernel(X, Z), Linear([0.5, 0.0, -1.0, 3.0], 2.0)(clipped, Z))
    assert_allclose(kernel(Z), Linear([0.5, 0.0, -1.0, 3.0], 2.0)(Z))


def test_one_gamma_per_feature():
    assert_allclose(
        Gaussian(WEIGHTS)(X, Z), np.exp(-(differences**2 * WEIGHTS).sum(axis=2))
    )
    assert_allclose(
        Laplacian(list(WEIGHTS))(X, Z),
        np.exp(-(abs(differences) * WEIGHTS).sum(axis=2)),
    )
    assert_allclose(
        Polynomial(2, tuple(WEIGHTS), 3)(X, Z), (X * WEIGHTS @ Z.T + 3) ** 2
    )


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("length_scale", [1.0, 0.3, WEIGHTS])
def test_matern_is_the_one_of_gaussian_processes(nu, length_scale):
    ours, theirs = Matern(length_scale, nu), GaussianProcessMatern(length_scale, nu=nu)
    assert_allclose(ours(X, Z), theirs(X, Z), rtol=1e-12)
    assert_allclose(ours(X), theirs(X), rtol=1e-12)


def test_matern_is_accurate_far_from_the_origin():
    # Expanding ||x - z||^2 would lose all digits of the small distances here.
    far = 1e6 + np.array([[0.0], [1e-3], [1e-3]])
    expected = np.exp(-abs(far - far.T))
    assert_allclose(Matern(1.0, 0.5)(far), expected, rtol=1e-14)


@pytest.mark.parametrize("Kernel", [Gaussian, Laplacian, Polynomial])
@pytest.mark.parametrize("to_array", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_scale_is_the_one_of_svc(Kernel, to_array):
    X_sparse = X * (X > 0)
    data = to_array(X_sparse)
    svc = SVC(gamma="scale").fit(data, np.arange(len(X)) % 2)
    assert Kernel().resolve(data).gamma == pytest.approx(svc._gamma, rel=1e-12)
    assert Kernel().resolve(data).gamma == pytest.approx(1 / (4 * X_sparse.var()))


@pytest.mark.parametrize("to_array", [np.asarray, sparse.csr_array])
def test_scale_counts_rows_as_often_as_they_weigh(to_array):
    counts = np.arange(len(X)) % 4
    repeated = Gaussian().resolve(to_array(np.repeat(X, counts, axis=0))).gamma
    weighted = Gaussian().resolve(to_array(X), counts.astype(float)).gamma
    assert weighted == pytest.approx(repeated, rel=1e-12)
    constant = np.full((4, 2), 0.1)
    constant[1] = 7.0
    alone = Gaussian().resolve(to_array(constant), np.array([1.0, 0.0, 1.0, 1.0]))
    assert alone.gamma == 1.0


@pytest.mark.parametrize("to_array", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_scale_of_constant_rows_is_one(value, to_array):
    constant = to_array(np.full((6, 3), value))
    assert Gaussian().resolve(constant).gamma == 1.0


@pytest.mark.parametrize("to_array", [np.asarray, sparse.csr_array])
def test_scale_of_a_length_is_half_the_mean_squared_distance_squared(to_array):
    offset = X + np.array([0.0, 30.0, -5.0, 0.0])
    distances = ((offset[:, None] - offset) ** 2).sum(axis=-1)
    kernel = Matern("scale").resolve(to_array(offset))
    assert kernel.length_scale**2 == pytest.approx(distances.mean() / 2, rel=1e-12)
    counts = np.arange(len(X)) % 4
    repeated = Matern("scale").resolve(to_array(np.repeat(offset, counts, axis=0)))
    weighted = Matern("scale").resolve(to_array(offset), counts.astype(float))
    assert weighted.length_scale == pytest.approx(repeated.length_scale, rel=1e-12)
    assert Matern("scale").resolve(to_array(np.full((6, 3), 0.1))).length_scale == 1.0


def test_scale_of_sparse_rows_does_not_cancel():
    shifted = X + 1e7
    gamma = Gaussian().resolve(sparse.csr_array(shifted)).gamma
    assert gamma == pytest.approx(1 / (4 * shifted.var()), rel=1e-6)


def test_svc_takes_our_kernels():
    y = np.arange(len(X)) % 2
    ours = SVC(kernel=Gaussian(0.4)).fit(X, y)
    theirs = SVC(kernel="rbf", gamma=0.4).fit(X, y)
    assert_allclose(ours.decision_function(Z), theirs.decision_function(Z))


def test_gaussian_has_exactly_unit_diagonal_and_exact_symmetry():
    large = 100 * np.random.default_rng(0).normal(size=(300, 7))
    for rows in (large, sparse.csr_array(large)):
        K = Gaussian(1e-5).resolve(rows)(rows)
        assert_array_equal(np.diagonal(K), 1.0)
        assert_array_equal(K, K.T)
        assert not np.array_equal(K, np.eye(300))


def test_constant():
    assert_array_equal(Constant(3)(X, Z), np.full((9, 5), 3.0))
    assert_array_equal(Constant(3).diagonal(X), np.full(9, 3.0))


@given(
    shift=st.lists(st.floats(-10, 10), min_size=4, max_size=4),
    gamma=st.floats(1e-3, 10),
)
def test_stationary_kernels_ignore_a_shift(shift, gamma):
    for kernel in (Gaussian(gamma), Laplacian(gamma), Matern(1 / gamma, 2.5)):
        assert_allclose(kernel(X + shift, Z + shift), kernel(X, Z), atol=1e-10)


@given(scale=st.floats(0.1, 10))
def test_scaling_features_is_scaling_gamma(scale):
    assert_allclose(Gaussian(0.3)(scale * X), Gaussian(0.3 * scale**2)(X), atol=1e-12)
    assert_allclose(Laplacian(0.3)(scale * X), Laplacian(0.3 * scale)(X), atol=1e-12)
    assert_allclose(Matern(0.3)(scale * X), Matern(0.3 / scale)(X), atol=1e-12)


@given(scale=st.floats(0.1, 10))
def test_scale_makes_the_gaussian_ignore_units(scale):
    kernel, rescaled = Gaussian().resolve(X), Gaussian().resolve(scale * X)
    assert_allclose(rescaled(scale * X, scale * Z), kernel(X, Z), atol=1e-10)


@pytest.mark.parametrize(
    "kernel", [Gaussian(0.3), RationalQuadratic(1.5), Matern(1.5), Periodic(2.0)]
)
def test_a_row_far_away_leaves_the_others_as_they_are(kernel):
    # as one that stands for unknown values does
    rows = np.vstack([X, np.full(4, 1e9)])
    assert_allclose(kernel(rows)[:-1, :-1], kernel(X), rtol=1e-12)
    assert_allclose(kernel(Z, rows)[:, :-1], kernel(Z, X), rtol=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "kernel",
    [Gaussian(0.3), Gaussian([5.0, 0.1]), Laplacian([5.0, 0.1])]
    + [Matern(0.2, nu) for nu in (0.5, 1.5, 2.5)],
    ids=repr,
)
@pytest.mark.parametrize("size", [1e100, 1e155, 1e200, 1.7e308])
def test_rows_out_of_range_have_nothing_in_common_with_others(kernel, size):
    near = np.array([[0.0, 1.0], [1.0, -1.0], [0.5, 0.3]])
    far = np.array([[size, 0.0], [-size, size]])
    assert np.all(kernel(far, near) == 0)
    # but with rows that are the same
    assert_allclose(kernel(np.vstack([near, far[:1], far[:1]]))[3:, 3:], 1.0)
