"""Data that break formulas: no NaN, no RuntimeWarning, and an honest certificate."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from okl import OutputKernelRegressor, output_kernel_path
from okl.structures import Cluster, LowRank
from tests.samples import draw

N, M = 25, 4


def random():
    return draw(N, M)[:2]


def unrelated():
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 2)), rng.normal(size=(30, 4))


def duplicated_rows():
    X, Y, _ = draw(8, M)
    return np.repeat(X, 3, axis=0), np.repeat(Y, 3, axis=0)


def contradicting_rows():
    return np.repeat(draw(8, 1).X, 3, axis=0), draw(24, M).Y


def rank_one():
    X, Y, _ = draw(N, 1)
    return X, Y * np.array([1.0, 2.0, -1.0, 0.5])


def one_constant_output():
    X, Y, _ = draw(N, 1)
    return X, np.column_stack([Y, np.full(N, 3.3)])


def one_row():
    return draw(1, M)[:2]


def two_rows():
    return draw(2, M)[:2]


def one_output():
    return draw(N, 1)[:2]


def constant_X():
    X, Y, _ = draw(N, M)
    return np.full_like(X, 0.1), Y


def zero_X():
    X, Y, _ = draw(N, M)
    return np.zeros_like(X), Y


def constant_targets():
    return draw(N, 1).X, np.full((N, 3), 3.3)


def zero_targets():
    return draw(N, 1).X, np.zeros((N, 3))


def scales():
    X, Y, _ = draw(N, M)
    return X, Y * np.array([1e-3, 0.1, 10, 1e3])


def wide():
    return draw(6, 30)[:2]


def large_targets():
    X, Y, _ = draw(N, M)
    return X, 1e6 * Y


def small_targets():
    X, Y, _ = draw(N, M)
    return X, 1e-6 * Y


def large_offset():
    X, Y, _ = draw(N, M)
    return X, Y + 1e6


def large_rows():
    X, Y, _ = draw(N, M)
    return 1e3 * X, Y


def small_rows():
    X, Y, _ = draw(N, M)
    return 1e-3 * X, Y


DATA = [
    random,
    unrelated,
    duplicated_rows,
    contradicting_rows,
    rank_one,
    one_constant_output,
    one_row,
    two_rows,
    one_output,
    constant_X,
    zero_X,
    constant_targets,
    zero_targets,
    scales,
    wide,
    large_targets,
    small_targets,
    large_offset,
    large_rows,
    small_rows,
]
each = pytest.mark.parametrize("data", DATA, ids=lambda data: data.__name__)
kernels = pytest.mark.parametrize("kernel", ["rbf", "linear"])
structures = pytest.mark.parametrize(
    "structure", ["identity", "frobenius", "low_rank", LowRank(2)], ids=str
)
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])


@each
@kernels
@structures
@intercepts
@pytest.mark.each_value
def test_every_alpha_of_a_path_is_certified(data, kernel, structure, intercept):
    # What has gone wrong here: a dual point scaled outside the range of K too (linear
    # kernel, trace), residuals that carry the rounding of K Theta for a large Theta
    # (small alpha), and alpha_max taken from what centring leaves of a constant.
    X, Y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = output_kernel_path(
            X,
            Y,
            kernel=kernel,
            structure=structure,
            fit_intercept=intercept,
            alphas=7,
            max_iter=300,
            normalize_y=False,
        )
    bounded = isinstance(structure, LowRank)
    allowed = {"optimal", "rank_limited"} if bounded else {"optimal"}
    for model, certificate in zip(path, path.certificates, strict=True):
        assert np.all(np.isfinite(model.dual_coef_))
        assert np.all(np.isfinite(model.predict(X)))
        # the rounding of K Theta at a small alpha, as below: 2e-11 was seen with the
        # kernels of OpenBLAS for Haswell on two threads
        assert certificate.relative_gap >= -1e-10
        assert certificate.status in allowed


@each
@kernels
@structures
@pytest.mark.parametrize("alpha", [1e-8, 1.0, 1e8])
@pytest.mark.each_value
def test_extreme_alphas_are_finite_and_honest(data, kernel, structure, alpha):
    X, Y = data()
    model = OutputKernelRegressor(
        kernel, structure, alpha, max_iter=200, normalize_y=False
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, Y)
    certificate = model.certificate_
    assert np.all(np.isfinite(model.dual_coef_))
    assert np.all(np.isfinite(model.predict(X)))
    assert np.all(np.isfinite(np.asarray(model.intercept_)))
    assert np.all(np.isfinite(model.output_kernel_))
    assert np.isfinite(certificate.primal)
    assert certificate.relative_gap >= -1e-10
    assert {warning.category for warning in caught} == (
        {ConvergenceWarning} if certificate.failed else set()
    )
    if alpha >= 1:
        assert not certificate.failed


@structures
@pytest.mark.parametrize("value", [0.1, 1 / 3, 123.456])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_constant_rows_and_an_intercept_leave_the_mean(structure, value, make):
    # in sparse rows X.T X - n mu mu' leaves rounding of constant columns
    X, Y = make(np.full((N, 3), value)), draw(N, M).Y
    path = output_kernel_path(X, Y, kernel="linear", structure=structure, alphas=5)
    assert path.alphas[0] > 1e-8
    for model in path:
        assert model.certificate_.status == "optimal"
        np.testing.assert_allclose(
            model.predict(X), np.tile(Y.mean(axis=0), (N, 1)), atol=1e-4
        )


@structures
def test_a_constant_output_is_its_intercept(structure):
    X, Y = one_constant_output()
    model = OutputKernelRegressor(structure=structure).fit(X, Y)
    np.testing.assert_allclose(model.predict(X)[:, 1], 3.3, rtol=1e-12)
    all_constant = OutputKernelRegressor(structure=structure).fit(*constant_targets())
    np.testing.assert_allclose(all_constant.predict(X), 3.3, rtol=1e-12)
    assert all_constant.certificate_.status == "optimal"


@structures
@kernels
def test_without_information_in_the_rows_the_mean_is_predicted(structure, kernel):
    X, Y = zero_X()
    model = OutputKernelRegressor(kernel, structure, 0.1).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), np.tile(Y.mean(axis=0), (N, 1)))
    assert model.certificate_.status == "optimal"


@pytest.mark.parametrize("alpha", [1e-10, 1e-8])
@pytest.mark.parametrize(
    "structure",
    ["identity", "mean", Cluster(2), "trace_ball", "sparse", "frobenius"],
    ids=repr,
)
def test_rounding_in_the_eigenvectors_is_no_part_of_the_targets(structure, alpha):
    # K has full rank; what the eigenvectors of HKH miss of Y (1e-13 of it), divided by
    # alpha, was taken for coefficients: gaps of 0.4 to 1
    rng = np.random.default_rng(0)
    A = rng.normal(size=(10, 10))
    Y = rng.normal(size=(10, 2))
    solver = "closed_form" if structure == "identity" else "auto"
    model = OutputKernelRegressor(
        "precomputed", structure, alpha, solver=solver, normalize_y=False
    )
    assert model.fit(A @ A.T, Y).certificate_.status == "optimal"
