"""An alpha for each output: the loss of output j is divided by alpha_j."""

import pickle
import tracemalloc

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.kernel_ridge import KernelRidge

from okl import OutputKernelClassifier, OutputKernelRegressor, certify
from okl.kernels import Gaussian, PerOutput
from okl.structures import (
    Cluster,
    Fixed,
    Frobenius,
    LowRank,
    Mean,
    Scaled,
    Sparse,
)
from tests import reference
from tests.samples import draw, psd

N, M = 16, 3
ALPHAS = np.array([0.2, 3.0, 0.7])
STRUCTURES = ["identity", Mean(2.0), "frobenius", "low_rank", Sparse(0.5, 1e-2)]


def observed(Y):
    """Return targets some of which are missing."""
    return np.where(np.random.default_rng(3).uniform(size=Y.shape) < 0.2, np.nan, Y)


@pytest.mark.parametrize("n_outputs", [M, 20], ids=["few", "more-than-rows"])
def test_independent_outputs_are_kernel_ridges(n_outputs):
    X, Y, _ = draw(N, n_outputs)
    alphas = np.geomspace(0.01, 10, n_outputs)
    model = OutputKernelRegressor(
        Gaussian(0.5), "identity", alphas, fit_intercept=False, normalize_y=False
    ).fit(X, Y)
    assert model.certificate_.status == "optimal"
    ridge = KernelRidge(alpha=alphas, kernel="rbf", gamma=0.5).fit(X, Y)
    assert_allclose(model.predict(X), ridge.predict(X), atol=1e-10)
    assert_allclose(model.dual_coef_, ridge.dual_coef_, atol=1e-9)


def test_independent_outputs_take_no_matrix_of_outputs():
    n_outputs = 3000
    X, Y, _ = draw(N, n_outputs)
    alphas = np.geomspace(0.01, 10, n_outputs)
    tracemalloc.start()
    model = OutputKernelRegressor(Gaussian(0.5), "identity", alphas).fit(X, Y)
    again = certify(model, X, Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert again.status == "optimal"
    assert peak < 8 * n_outputs**2 / 8


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
def test_independent_outputs_are_fits_of_their_own(missing):
    X, Y, _ = draw(N, M)
    Y = observed(100 * Y) if missing else 100 * Y
    model = OutputKernelRegressor("rbf", "identity", ALPHAS, tol=1e-12).fit(X, Y)
    mean, std = model.predict(X, return_std=True)
    for j, alpha in enumerate(ALPHAS):
        seen = np.isfinite(Y[:, j])
        alone = OutputKernelRegressor(model.kernel_, "identity", alpha)
        alone.fit(X[seen], Y[seen, j])
        own, own_std = alone.predict(X, return_std=True)
        assert_allclose(mean[:, j], own, rtol=1e-5)
        assert_allclose(std[:, j], own_std, rtol=1e-5)
        assert_allclose(model.y_scale_[j], alone.y_scale_)


@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.parametrize("structure", [*STRUCTURES, Cluster(2)], ids=repr)
def test_equal_alphas_are_one(structure, loss):
    X, Y, _ = draw(N, M)
    several = OutputKernelRegressor("rbf", structure, [0.3] * M, loss=loss).fit(X, Y)
    one = OutputKernelRegressor("rbf", structure, 0.3, loss=loss).fit(X, Y)
    assert several.certificate_ == one.certificate_
    assert_array_equal(several.predict(X), one.predict(X))


@pytest.mark.parametrize(
    ("loss", "labels"),
    [
        ("squared", "classes"),
        ("squared_hinge", "classes"),
        ("logistic", "indicators"),
        ("hinge", "indicators"),
    ],
)
def test_alphas_of_classes_and_labels(loss, labels):
    X, Y, _ = draw(24, M)
    y = Y.argmax(axis=1) if labels == "classes" else (Y > 0).astype(int)
    model = OutputKernelClassifier("rbf", "frobenius", [0.3] * M, loss=loss)
    one = sklearn.clone(model).set_params(alpha=0.3).fit(X, y)
    assert model.fit(X, y).certificate_ == one.certificate_
    different = sklearn.clone(model).set_params(alpha=ALPHAS).fit(X, y)
    assert different.certificate_.status == "optimal"
    again = certify(different, X, y)
    assert_allclose(again.primal, different.certificate_.primal, rtol=1e-9)
    # an alpha so large that a class has its intercept and nothing else
    flat = sklearn.clone(model).set_params(alpha=[0.3, 1e7, 0.3], structure="identity")
    scores = flat.fit(X, y).decision_function(X)
    assert np.ptp(scores[:, 1]) < 1e-4 < np.ptp(scores[:, 0])


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize("structure", [Fixed(psd(M, 5)), Frobenius(), LowRank()])
def test_optimum_of_a_conic_solver(structure, intercept):
    _, Y, K = draw(8, M)
    model = OutputKernelRegressor(
        "precomputed",
        structure,
        ALPHAS,
        fit_intercept=intercept,
        tol=1e-9,
        normalize_y=False,
    ).fit(K, Y)
    divided = np.ones_like(Y) / ALPHAS
    value, F = reference.conic_optimum(K, Y, 1.0, structure, intercept, weights=divided)
    overall = ALPHAS.prod() ** (1 / M)
    assert_allclose(model.certificate_.primal / overall, value, rtol=1e-6)
    assert_allclose(model.predict(K), F, atol=2e-3 * np.abs(F).max())


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
def test_order_and_units_of_outputs_do_not_matter(structure, missing):
    X, Y, _ = draw(N, M)
    Y = observed(Y) if missing else Y
    order, units = np.array([2, 0, 1]), np.array([10.0, 0.1, 3.0])
    model = OutputKernelRegressor("rbf", structure, ALPHAS, tol=1e-9).fit(X, Y)
    other = OutputKernelRegressor("rbf", structure, ALPHAS[order], tol=1e-9)
    other.fit(X, (units * Y)[:, order])
    assert model.certificate_.status == "optimal"
    assert_allclose(other.certificate_.primal, model.certificate_.primal, rtol=1e-7)
    assert_allclose(
        other.predict(X) / units[order], model.predict(X)[:, order], atol=1e-3
    )
    assert_allclose(other.y_scale_, (units * model.y_scale_)[order])
    again = certify(model, X, Y)
    assert_allclose(again.primal, model.certificate_.primal, rtol=1e-9)
    assert again.status == "optimal"


def test_outputs_in_units_of_their_own_have_alphas_of_their_own():
    X, Y, _ = draw(N, M)
    scales = np.array([0.5, 2.0, 1.0])
    model = OutputKernelRegressor("rbf", Scaled(Frobenius(), scales), ALPHAS).fit(X, Y)
    assert model.certificate_.status == "optimal"
    # the norm of D^-1 L D^-1, D the scales
    L = model.output_kernel_ / np.outer(model.y_scale_, model.y_scale_)
    K, residuals = model.kernel_(X), (Y - model.predict(X)) / model.y_scale_
    C = residuals / ALPHAS
    inside = scales[:, None] * (C.T @ K @ C / 2) * scales
    assert_allclose(L / np.outer(scales, scales), inside, atol=1e-3 * np.max(inside))


def test_alphas_of_rows_that_weigh_differently():
    X, Y, _ = draw(N, M)
    weights = np.random.default_rng(0).uniform(0.5, 2, size=N)
    model = OutputKernelRegressor("rbf", "identity", ALPHAS).fit(X, Y, weights)
    for j, alpha in enumerate(ALPHAS):
        alone = OutputKernelRegressor(model.kernel_, "identity", alpha)
        alone.fit(X, Y[:, j], weights)
        assert_allclose(model.predict(X)[:, j], alone.predict(X), atol=1e-9)


def test_long_form_has_an_alpha_for_each_task():
    X, Y, _ = draw(N, M)
    rows, tasks = np.nonzero(np.isfinite(observed(Y)))
    long = OutputKernelRegressor(Gaussian(0.5), "frobenius", ALPHAS, tol=1e-9)
    long.fit(X[rows], Y[rows, tasks], task=tasks)
    wide = OutputKernelRegressor(Gaussian(0.5), "frobenius", ALPHAS, tol=1e-9)
    wide.fit(X, observed(Y))
    assert_allclose(long.certificate_.primal, wide.certificate_.primal, rtol=1e-7)
    assert_allclose(long.predict(X), wide.predict(X), atol=1e-3)
    again = certify(long, X[rows], Y[rows, tasks], task=tasks)
    assert_allclose(again.primal, long.certificate_.primal, rtol=1e-9)
    # which rows measure the noise of related outputs differs between the forms
    for model in (long, wide):
        model.set_params(structure="identity", tol=1e-12)
    long.fit(X[rows], Y[rows, tasks], task=tasks)
    std = wide.fit(X, observed(Y)).predict(X, return_std=True)[1]
    assert_allclose(long.predict(X, return_std=True)[1], std, rtol=1e-4)


def test_kernels_of_outputs():
    X, Y, _ = draw(N, M)
    kernels = [Gaussian(g) for g in (0.1, 0.5, 2.0)]
    model = OutputKernelRegressor(PerOutput(kernels), "identity", ALPHAS, tol=1e-12)
    model.fit(X, Y)
    for j, (kernel, alpha) in enumerate(zip(kernels, ALPHAS, strict=True)):
        alone = OutputKernelRegressor(kernel, "identity", alpha).fit(X, Y[:, j])
        own, std = alone.predict(X, return_std=True)
        assert_allclose(model.predict(X)[:, j], own, atol=1e-5)
        assert_allclose(model.predict(X, return_std=True)[1][:, j], std, rtol=1e-5)


def test_alphas_are_parameters_like_others():
    X, Y, _ = draw(N, M)
    model = OutputKernelRegressor("rbf", "frobenius", ALPHAS)
    assert_array_equal(sklearn.clone(model).get_params()["alpha"], ALPHAS)
    model.fit(X, Y)
    loaded = pickle.loads(pickle.dumps(model))
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert certify(loaded, X, Y).status == "optimal"
    assert model.structure_.get_params() == Frobenius().get_params()


@pytest.mark.parametrize(
    ("alpha", "message"),
    [
        ([1.0, 2.0], "alpha has 2 entries, and there are 3 outputs"),
        ([1.0, -2.0, 1.0], "For output 1: alpha must be a finite number > 0, got -2"),
        (
            [1.0, 2.0, np.nan],
            "For output 2: alpha must be a finite number > 0, got nan",
        ),
        (np.ones((3, 1)), "alpha must be a number, or an array of numbers with one"),
        (["a", "b", "c"], "alpha must be a number, or an array of numbers with one"),
        ("0.1", "alpha must be a finite number > 0, got '0.1'"),
        ([], "alpha must be a number, or an array of numbers with one"),
    ],
)
def test_alphas_that_do_not_fit(alpha, message):
    X, Y, _ = draw(N, M)
    with pytest.raises(ValueError, match=message):
        OutputKernelRegressor(alpha=alpha).fit(X, Y)


def test_softmax_has_one_alpha():
    X, Y, _ = draw(N, M)
    model = OutputKernelClassifier(alpha=ALPHAS, loss="softmax")
    with pytest.raises(ValueError, match="'softmax' couples all outputs"):
        model.fit(X, Y.argmax(axis=1))
