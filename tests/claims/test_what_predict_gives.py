"""What is certified is what `predict` gives, whatever the offsets and scales.

A sweep over offsets and scales of columns and of targets. Each fit either has warned,
or `okl.certify`, which evaluates the kernel and the scores of `predict` again, finds
what the fit said of itself.
"""

import warnings
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

from okl import (
    KernelAutoencoder,
    OutputKernelClassifier,
    OutputKernelClassifierCV,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
    certify,
    output_kernel_path,
)
from okl.kernels import (
    Average,
    Columns,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    PerOutput,
    Polynomial,
)
from okl.structures import Fixed

N = 40
KERNELS = {
    "linear": "linear",
    "rbf": "rbf",
    "narrow": Gaussian(1.0),
    "flat": Gaussian(1e-8),
    "matern": Matern(),
    "laplacian": "laplacian",
    "poly": "poly",
    "sum": Linear() + 2 * Gaussian(),
    "product": Linear() * Gaussian(0.1),
    "precomputed": "precomputed",
}
FIXED = Fixed(np.array([[1.0, 0.5], [0.5, 2.0]]))
STRUCTURES = ["identity", "frobenius", "low_rank", FIXED]
# offset and scale of the first column of X, and of Y
FEW = [(0, 1), (1e9, 1), (0, 1e7)]
COLUMNS = [*FEW, (1e3, 1), (1e6, 1), (0, 1e-6), (0, 1e-3), (0, 1e3), (1e9, 1e3)]
TARGETS = [*FEW, (1e5, 1), (0, 1e-6), (1e9, 1e-3)]


def data(column=(0, 1), target=(0, 1), n=N):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    Y = np.sin(X) @ rng.normal(size=(3, 2)) + 0.1 * rng.normal(size=(n, 2))
    for array, (offset, scale) in ((X, column), (Y, target)):
        array[:, 0] = offset + scale * array[:, 0]
    return X, Y


def fitted(estimator, X, y, **given):
    """Return the model, and whether it has warned that it is not optimal."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # columns of other scales are the point here
        warnings.filterwarnings("ignore", message="The columns of X have")
        estimator.fit(X, y, **given)
    assert {w.category for w in caught} <= {ConvergenceWarning}
    return estimator, bool(caught)


def check(estimator, X, y, **given):
    model, warned = fitted(estimator, X, y, **given)
    certificate = model.certificate_
    assert warned == (certificate.status not in ("optimal", "rank_limited"))
    if not warned:
        again = certify(model, X, y, **given)
        assert_allclose(again.primal, certificate.primal, rtol=1e-6)
        if certificate.status == "optimal":
            # of data almost without digits the gap is seen as closely as the objective
            assert again.relative_gap <= certificate.relative_gap + 1e-6
    return model, warned


def sweep(kernel, arrays, structures, losses, max_iter):
    for column, target in arrays:
        X, Y = data(column, target)
        K = X @ X.T if kernel == "precomputed" else X
        for structure, loss, free in product(structures, losses, (True, False)):
            model = OutputKernelRegressor(
                KERNELS[kernel],
                structure,
                loss=loss,
                fit_intercept=free,
                max_iter=max_iter,
            )
            check(model, K, Y)


@pytest.mark.parametrize("kernel", KERNELS)
def test_regression(kernel):
    arrays = [*zip(FEW, [*FEW[:2], FEW[0]], strict=True)]
    sweep(kernel, arrays, ["identity", "low_rank"], ["squared"], 30)


@pytest.mark.parametrize(
    ("kernel", "structure", "loss", "free", "column", "target"),
    [
        ("precomputed", "identity", "huber", True, (1e9, 1), (1e9, 1e-3)),
        ("precomputed", "frobenius", "squared", False, (1e6, 1), (0, 1e7)),
        ("sum", FIXED, "squared", False, (1e6, 1), (0, 1e-6)),
    ],
)
def test_kernel_values_without_digits(kernel, structure, loss, free, column, target):
    # the entries of K were rounded by more than the proof has room for, which was
    # said only of models whose predictions are those that were certified
    X, Y = data(column, target)
    K = X @ X.T if kernel == "precomputed" else X
    model = OutputKernelRegressor(
        KERNELS[kernel], structure, loss=loss, fit_intercept=free, max_iter=100
    )
    assert check(model, K, Y)[1]


@pytest.mark.slow
@pytest.mark.parametrize("structure", STRUCTURES, ids=str)
@pytest.mark.parametrize("kernel", KERNELS)
def test_regression_over_all_offsets_and_scales(kernel, structure):
    arrays = [*product(COLUMNS, TARGETS)]
    sweep(kernel, arrays, [structure], ["squared", "huber"], 100)


@pytest.mark.parametrize("column", FEW, ids=str)
@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge", "softmax"])
def test_classes(loss, column):
    X, Y = data(column)
    labels = np.digitize(Y[:, 1], [-0.5, 0.5])
    for kernel in ("linear", "rbf"):
        check(
            OutputKernelClassifier(kernel, "identity", loss=loss, max_iter=50),
            X,
            labels,
        )


@pytest.mark.parametrize("column", FEW, ids=str)
def test_sparse_rows(column):
    X, Y = data(column)
    for kernel in ("linear", "rbf", Gaussian(1.0)):
        check(OutputKernelRegressor(kernel, "identity"), sp.csr_array(X), Y)


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_missing_targets_and_long_form(target):
    X, Y = data((1e9, 1), target)
    gaps = Y.copy()
    gaps[::3, 0] = np.nan
    task = np.where(np.arange(N) % 3, "a", "b")
    for loss in ("squared", "huber"):
        model = OutputKernelRegressor("linear", "identity", loss=loss, max_iter=50)
        check(model, X, gaps)
        check(model, X, Y[:, 0], task=task)


def test_other_models():
    X, Y = data((1e6, 1))
    weights = np.arange(N) % 3
    check(OutputKernelRegressor("linear", "frobenius"), X, Y, sample_weight=weights)
    check(OutputKernelRegressor("rbf", "frobenius"), X, Y[:, 0])
    per_output = PerOutput([Linear(), Gaussian(0.1)])
    check(OutputKernelRegressor(per_output, "identity"), X, Y)
    check(OutputKernelRegressorCV("linear", "frobenius", alphas=3), X, Y)
    classes = OutputKernelClassifierCV("linear", "identity", alphas=3, loss="squared")
    check(classes, X, Y[:, 0] > 0)
    path = output_kernel_path(X, Y, kernel="linear", alphas=3)
    for model, certificate in zip(path, path.certificates, strict=True):
        assert certificate == model.certificate_
        assert certify(model, X, Y).status == certificate.status == "optimal"
    model = KernelAutoencoder(2, "linear").fit(X)
    assert_allclose(certify(model, X).primal, model.certificate_.primal, rtol=1e-6)


def test_a_poor_model_says_how_far_it_is():
    X, Y = data()
    model = OutputKernelRegressor("linear", "frobenius", max_iter=1, tol=1e-12)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, Y)
    again = certify(model, X, Y)
    assert again.status == "unproved"
    assert "max_iter" not in again.message
    assert_allclose(again.relative_gap, model.certificate_.relative_gap, rtol=1e-3)
    assert certify(model, X, Y + 1).primal > model.certificate_.primal
    best = OutputKernelRegressor("linear", "frobenius").fit(X, Y).certificate_
    assert again.primal - again.gap <= best.primal


def test_certify_wants_the_data_of_the_fit():
    X, Y = data()
    model = OutputKernelRegressor().fit(X, Y)
    for other in (X[1:], X[::-1]):
        with pytest.raises(ValueError, match="rows that the model was fitted to"):
            certify(model, other, Y[: len(other)])
    classifier = OutputKernelClassifier().fit(X, np.where(Y[:, 0] > 0, "a", "b"))
    with pytest.raises(ValueError, match=r"classes_ was \['a' 'b'\]"):
        certify(classifier, X, np.where(Y[:, 0] > 0, "a", "c"))


class TestDates:
    """A column of Unix time, as in the issue that led here."""

    rng = np.random.default_rng(0)
    t = 1.7e9 + rng.uniform(0, 3600, 200)
    X = np.c_[t, rng.standard_normal((200, 2))]
    z = (t - t.mean()) / t.std()
    Y = np.c_[z + X[:, 1], X[:, 2] - z]
    expected = Ridge(alpha=1.0).fit(X, Y).predict(X)

    def test_identity_is_ridge(self):
        model = OutputKernelRegressor("linear", "identity").fit(self.X, self.Y)
        assert_allclose(model.predict(self.X), self.expected, atol=1e-6)
        K = model.kernel_(self.X, model.X_fit_)
        scores = K @ model.dual_coef_ + model.intercept_
        assert_allclose(scores, self.expected, atol=1e-6)

    @pytest.mark.parametrize("structure", ["frobenius", "low_rank", "mean", "sparse"])
    def test_structures(self, structure):
        model = OutputKernelRegressor("linear", structure).fit(self.X, self.Y)
        assert model.score(self.X, self.Y) > 0.9999

    def test_classes_and_searches(self):
        labels = self.z > 0
        model = OutputKernelClassifier("linear", "identity", loss="logistic")
        assert model.fit(self.X, labels).score(self.X, labels) > 0.98
        search = OutputKernelRegressorCV("linear", "identity", alphas=[1.0, 1e4])
        assert search.fit(self.X, self.Y).score(self.X, self.Y) > 0.999

    def test_all_kernels_that_can_be_moved(self):
        kernels = [
            Average([Linear(), Gaussian(1e-7)]),
            Columns(Linear(), [0, 1, 2]),
            3 * Linear(),
            Linear() + Gaussian(1e-7),
        ]
        moved = self.X - self.X.mean(axis=0)
        for kernel in kernels:
            model = OutputKernelRegressor(kernel, "identity").fit(self.X, self.Y)
            near = OutputKernelRegressor(kernel, "identity").fit(moved, self.Y)
            assert_allclose(model.predict(self.X), near.predict(moved), atol=1e-5)


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Laplacian(0.3), Matern()], ids=str)
def test_distances_do_not_see_an_offset(kernel):
    X, Z = data()[0], data()[0][:7] + 0.5
    offset = np.array([2.0**30, -(2.0**30), 0])
    X, Z = (np.round(2**20 * array) / 2**20 for array in (X, Z))  # exact with it
    assert_allclose(kernel(X + offset, Z + offset), kernel(X, Z), atol=1e-14)
    assert_allclose(kernel(X + offset), kernel(X), atol=1e-14)


def test_a_polynomial_is_not_moved():
    X = data()[0]
    kernel = Polynomial(2, 1.0, 0)
    assert kernel.centered(X) is kernel
    assert_allclose(kernel(X + 3), ((X + 3) @ (X + 3).T) ** 2)


@pytest.mark.parametrize("scale", [1e-6, 1e3, 1e5, 1e7])
@pytest.mark.parametrize("free", [True, False])
def test_a_column_of_another_scale_is_as_exact_as_in_ridge(scale, free):
    X, Y = data((0, scale), n=200)
    weights = 1.0 + np.arange(200) % 2
    for given in ({}, {"sample_weight": weights}):
        theirs = Ridge(alpha=1.0, fit_intercept=free, solver="svd").fit(X, Y, **given)
        model = OutputKernelRegressor("linear", "identity", fit_intercept=free)
        model.fit(X, Y, **given)
        assert model.certificate_.status == "optimal"
        assert_allclose(model.predict(X), theirs.predict(X), atol=1e-8)


def test_a_search_is_not_disturbed_by_a_column_of_another_scale():
    alphas, chosen = [0.1, 1.0, 10.0, 1000.0], []
    for scale in (1e5, 1e7):  # large enough that alpha is nothing for this column
        X, Y = data((0, scale), n=100)
        search = OutputKernelRegressorCV("linear", "identity", alphas=alphas)
        search.fit(X, Y)
        chosen.append(search.scores_)
    assert_allclose(*chosen, atol=1e-6)


def test_rounding_is_said_with_what_helps():
    X, Y = data((0, 1e7))
    model = OutputKernelRegressor(Linear() + Gaussian(1e-14), "identity", 1e-3)
    with pytest.warns(ConvergenceWarning, match="Standardise the columns of X"):
        model.fit(X, Y)
    assert model.certificate_.status == "stalled"
    again = certify(model, X, Y)
    assert_allclose(again.primal, model.certificate_.primal, rtol=1e-6)


# An offset of 1e9 leaves targets, and predictions, rounding errors of 1e-7, and the
# objective those of some 1e-8.
@pytest.mark.parametrize(("offset", "tol"), [(1e5, 1e-8), (1e9, 1e-7)])
def test_huber_does_not_see_an_offset_of_the_targets(offset, tol):
    X, Y = data()
    Y[3] += 1e4  # a mean would see it
    gaps = np.where(np.arange(2 * N).reshape(N, 2) % 7, Y, np.nan)
    task = np.arange(N) % 2
    for y, given in ((Y, {}), (gaps, {}), (Y[:, 0], {"task": task})):
        model = OutputKernelRegressor("rbf", "frobenius", loss="huber", tol=tol)
        near = model.fit(X, y, **given).predict(X)
        far = model.fit(X, y + offset, **given).predict(X)
        assert model.certificate_.status == "optimal"
        assert_allclose(far - offset, near, atol=1e-3)


def test_only_a_few_rows_are_evaluated_again(monkeypatch):
    X, Y = data(n=400)
    entries = []
    original = Gaussian.__call__

    def counting(self, X, Z=None):
        K = original(self, X, Z)
        entries.append(K.size)
        return K

    monkeypatch.setattr(Gaussian, "__call__", counting)
    OutputKernelRegressor("rbf", "identity").fit(X, Y)
    assert sum(entries) <= 400**2 + 32 * 400


def test_a_model_that_predicts_something_else_is_found_out(monkeypatch):
    # an injected fault: predictions of another kernel than the one of the fit
    X, Y = data(n=200)
    original = Gaussian.__call__

    def faulty(self, X, Z=None):
        K = original(self, X, Z)
        return K if Z is None else K * (1 + 1e-3)

    monkeypatch.setattr(Gaussian, "__call__", faulty)
    model, warned = fitted(OutputKernelRegressor("rbf", "identity"), X, Y)
    assert warned
    assert model.certificate_.status == "stalled"
    assert certify(model, X, Y).status == "unproved"
