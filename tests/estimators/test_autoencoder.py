"""The kernel autoencoder: principal components, round trips, certificate, errors."""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from okl import KernelAutoencoder, OutputKernelRegressor, certify
from okl.kernels import Gaussian
from okl.structures import LowRank
from tests.samples import centered, gaussian


def draw(n=30, m=6, seed=0):
    """Draw rows near a curved surface, away from the origin, and new ones."""
    rng = np.random.default_rng(seed)
    u, v = rng.uniform(-2, 2, size=(2, n + 7))
    surface = np.column_stack([u, v, u * v, np.sin(2 * u), v**2])
    mixed = surface @ rng.normal(size=(5, m)) + 0.3 * rng.normal(size=(n + 7, m)) + 2
    return mixed[:n], mixed[n:]


SHAPES = [(30, 6), (12, 50), (15, 15)]


@pytest.mark.parametrize(("n", "m"), SHAPES)
@pytest.mark.parametrize("p", [1, 3])
def test_a_linear_kernel_and_no_penalty_are_pca(n, m, p):
    # off by alpha / s_p^2 and, K being solved at a condition of s_1^2 / alpha, by the
    # machine epsilon times that: this alpha makes both small
    X, X_new = draw(n, m)
    pca = PCA(p, svd_solver="full").fit(X)
    alpha = 1e-8 * pca.singular_values_[0] ** 2
    model = KernelAutoencoder(p, "linear", alpha).fit(X)
    scale = np.abs(pca.transform(X)).max()
    assert_allclose(model.components_, pca.components_, atol=1e-6)
    assert_allclose(model.singular_values_, pca.singular_values_, rtol=1e-6)
    assert_allclose(model.mean_, pca.mean_, rtol=1e-15)
    for rows in (X, X_new):
        codes, theirs = model.transform(rows), pca.transform(rows)
        assert_allclose(codes, theirs, atol=1e-6 * scale)
        assert_allclose(
            model.inverse_transform(codes),
            pca.inverse_transform(theirs),
            atol=1e-6 * scale,
        )


@pytest.mark.parametrize(("n", "m"), SHAPES)
@pytest.mark.parametrize("p", [1, 4, 6])
@pytest.mark.parametrize("share", [1e-4, 0.1, 0.99, 1.01])
def test_a_linear_kernel_shrinks_the_principal_components(n, m, p, share):
    # the closed form of nuclear-norm regularisation with X as its own target
    X, X_new = draw(n, m)
    pca = PCA(p, svd_solver="full").fit(X)
    alpha = share * pca.singular_values_[0] ** 2
    factors = np.clip(1 - alpha / pca.singular_values_**2, 0, None)
    model = KernelAutoencoder(p, "linear", alpha, tol=1e-13).fit(X)
    codes = pca.transform(X_new) * factors
    scale = np.abs(pca.transform(X)).max()
    left = factors > 0
    assert model.rank_ == left.sum()
    assert_allclose(model.components_[left], pca.components_[left], atol=1e-9)
    assert_allclose(model.singular_values_, factors * pca.singular_values_, rtol=1e-9)
    assert_allclose(model.transform(X_new), codes, atol=1e-9 * scale)
    # what alpha removes leaves its place empty
    assert_array_equal(model.components_[~left], 0)
    assert_array_equal(model.transform(X_new)[:, ~left], 0)


@pytest.mark.parametrize("share", [1e-3, 0.3])
def test_without_intercept_a_linear_kernel_is_a_truncated_svd(share):
    X, X_new = draw()
    _, values, right = np.linalg.svd(X, full_matrices=False)
    alpha = share * values[0] ** 2
    model = KernelAutoencoder(3, "linear", alpha, fit_intercept=False).fit(X)
    shrunk = right.T[:, :3] * np.clip(1 - alpha / values[:3] ** 2, 0, None)
    rebuilt = model.inverse_transform(model.transform(X_new))
    assert_allclose(rebuilt, X_new @ shrunk @ right[:3], atol=1e-9 * np.abs(X).max())
    assert_array_equal(model.mean_, 0)
    assert_array_equal(model.inverse_transform(np.zeros((1, 3))), 0)


def test_no_penalty_and_a_nonlinear_kernel_truncate_the_svd_of_the_rows():
    # section 4.1.2: any nonsingular kernel fits the best approximation of rank p
    X, _ = draw()
    pca = PCA(2, svd_solver="full").fit(X)
    model = KernelAutoencoder(2, Gaussian(2.0), 1e-6, tol=1e-10).fit(X)
    scale = np.abs(pca.transform(X)).max()
    assert_allclose(model.components_, pca.components_, atol=1e-6)
    assert_allclose(model.transform(X), pca.transform(X), atol=1e-6 * scale)


@pytest.mark.parametrize("intercept", [True, False], ids=["b", "no-b"])
@pytest.mark.parametrize("p", [1, 3, 6])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
def test_reconstructions_are_those_of_the_regressor_on_its_own_rows(
    kernel, p, intercept
):
    X, X_new = draw()
    options = {"alpha": 0.05, "fit_intercept": intercept, "tol": 1e-9}
    model = KernelAutoencoder(p, kernel, **options).fit(X)
    regressor = OutputKernelRegressor(
        kernel, LowRank(p), **options, normalize_y=False
    ).fit(X, X)
    scale = np.abs(X).max()
    for rows in (X, X_new):
        codes = model.transform(rows)
        rebuilt = model.inverse_transform(codes)
        assert codes.shape == (len(rows), p)
        assert_allclose(rebuilt, regressor.predict(rows), atol=1e-11 * scale)
        # what was decoded has the code as its coordinates
        coordinates = (rebuilt - model.mean_) @ model.components_.T
        assert_allclose(coordinates, codes, atol=1e-11 * scale)
    assert model.certificate_ == regressor.certificate_


def test_codes_are_uncorrelated_and_ordered_like_principal_components():
    X, _ = draw()
    model = KernelAutoencoder(4, Gaussian(0.1), 0.01).fit(X)
    codes = model.transform(X)
    assert_allclose(model.components_ @ model.components_.T, np.eye(4), atol=1e-13)
    moment = codes.T @ codes
    largest = moment[0, 0]
    assert_allclose(moment, np.diag(model.singular_values_**2), atol=1e-12 * largest)
    assert np.all(np.diff(model.singular_values_) < 0)
    assert_allclose(codes.mean(axis=0), 0, atol=1e-13 * largest)
    rows = np.arange(4), np.abs(model.components_).argmax(axis=1)
    assert np.all(model.components_[rows] > 0)
    rebuilt = model.inverse_transform(codes)
    error = np.sqrt(((X - rebuilt) ** 2).sum())
    assert_allclose(model.reconstruction_error_, error, rtol=1e-13)
    # L has the components as its range
    inside = model.components_.T @ model.components_ @ model.output_kernel_
    assert_allclose(inside, model.output_kernel_, atol=1e-13 * largest)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("alpha", [1.0, 0.01])
def test_no_other_factor_is_better(p, alpha):
    # phi(B) of the solver's docstring, minimised from many starts by another method
    X, _ = draw(25, 4, seed=3)
    K, Y = centered(gaussian(X, gamma=0.2), X)

    def objective(entries):
        B = entries.reshape(4, p)
        # C of the best f: K C L + alpha C = Y, in the eigenbasis of L
        values, vectors = np.linalg.eigh(B @ B.T)
        columns = zip(np.clip(values, 0, None), vectors.T, strict=True)
        C = sum(
            np.outer(
                np.linalg.solve(value * K + alpha * np.eye(len(K)), Y @ vector), vector
            )
            for value, vector in columns
        )
        gradient = alpha * (B - C.T @ K @ C @ B)
        return alpha / 2 * (np.vdot(C, Y) + np.vdot(B, B)), gradient.ravel()

    rng = np.random.default_rng(0)
    lowest = min(
        minimize(objective, rng.normal(size=4 * p), jac=True, tol=1e-10).fun
        for _ in range(5)
    )
    model = KernelAutoencoder(p, Gaussian(0.2), alpha, tol=1e-8).fit(X)
    assert_allclose(model.certificate_.primal, lowest, rtol=1e-7)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_permuting_features_permutes_the_components(kernel):
    X, X_new = draw()
    order = np.random.default_rng(1).permutation(X.shape[1])
    # compared to 1e-7, which is the root of a gap
    options = {"kernel": kernel, "alpha": 0.01, "tol": 1e-15}
    model = KernelAutoencoder(3, **options).fit(X)
    permuted = KernelAutoencoder(3, **options).fit(X[:, order])
    assert_allclose(permuted.components_, model.components_[:, order], atol=1e-7)
    codes = model.transform(X_new)
    scale = np.abs(codes).max()
    assert_allclose(permuted.transform(X_new[:, order]), codes, atol=1e-7 * scale)


@pytest.mark.parametrize("p", [2, 6])
@pytest.mark.parametrize("intercept", [True, False], ids=["b", "no-b"])
def test_the_certificate_can_be_recomputed(p, intercept):
    X, _ = draw()
    model = KernelAutoencoder(p, Gaussian(0.1), 0.5, fit_intercept=intercept).fit(X)
    again = certify(
        gaussian(X, gamma=0.1),
        X,
        model.dual_coef_,
        alpha=0.5,
        structure=LowRank(p),
        output_kernel_factor=model.output_kernel_factor_,
        intercept=model.intercept_ if intercept else None,
    )
    assert_allclose(again.primal, model.certificate_.primal, rtol=1e-10)
    assert_allclose(again.dual, model.certificate_.dual, rtol=1e-10)
    assert model.certificate_.status == ("optimal" if p == 6 else "rank_limited")


def test_fit_transform_is_fit_and_then_transform():
    X, _ = draw()
    codes = KernelAutoencoder(3, alpha=0.1).fit_transform(X)
    assert_array_equal(codes, KernelAutoencoder(3, alpha=0.1).fit(X).transform(X))


def test_many_features_are_never_related_pairwise():
    X = np.random.default_rng(0).normal(size=(20, 5000))
    tracemalloc.start()
    codes = KernelAutoencoder(3, "linear").fit(X).transform(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert codes.shape == (20, 3)
    assert peak < 8 * 5000**2 / 10


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_data_frames(library):
    X, X_new = draw(m=3)
    names = ["age", "size", "mass"]
    frame = library.DataFrame(dict(zip(names, X.T, strict=True)))
    model = KernelAutoencoder(2, alpha=0.1).fit(frame)
    assert list(model.feature_names_in_) == names
    plain = KernelAutoencoder(2, alpha=0.1).fit(X)
    assert_allclose(model.transform(frame), plain.transform(X), rtol=1e-10)
    model.set_output(transform=library.__name__)
    new = library.DataFrame(dict(zip(names, X_new.T, strict=True)))
    codes = model.transform(new)
    assert type(codes) is library.DataFrame
    expected = ["kernelautoencoder0", "kernelautoencoder1"]
    assert list(codes.columns) == list(model.get_feature_names_out()) == expected
    rebuilt = model.inverse_transform(codes)
    expected = plain.inverse_transform(plain.transform(X_new))
    assert_allclose(rebuilt, expected, rtol=1e-10)
    wrong = library.DataFrame(dict(zip(["years", "size", "mass"], X.T, strict=True)))
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(wrong)


def test_pickle_clone_and_pipeline():
    X, X_new = draw()
    model = KernelAutoencoder(3, Gaussian(0.1), 0.2, tol=1e-7).fit(X)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.transform(X_new), model.transform(X_new))
    refitted = clone(model).fit(X)
    assert_array_equal(refitted.transform(X_new), model.transform(X_new))
    pipeline = make_pipeline(StandardScaler(), KernelAutoencoder(6, alpha=1e-6)).fit(X)
    rebuilt = pipeline.inverse_transform(pipeline.transform(X))
    assert_allclose(rebuilt, X, atol=1e-3)
    pipeline.set_params(kernelautoencoder__n_components=2)
    assert pipeline.fit_transform(X).shape == (len(X), 2)


def test_constant_rows_leave_nothing_to_code():
    model = KernelAutoencoder(2).fit(np.full((5, 3), 4.0))
    assert model.rank_ == 0
    assert_array_equal(model.components_, np.zeros((2, 3)))
    assert_array_equal(model.transform(np.ones((2, 3))), np.zeros((2, 2)))
    assert_array_equal(model.inverse_transform(np.ones((1, 2))), [[4.0, 4.0, 4.0]])


def test_a_fit_that_ends_early_says_so():
    X, _ = draw()
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        KernelAutoencoder(6, Gaussian(0.1), 1e-3, max_iter=1).fit(X)


X, _ = draw(10, 4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_components": 0}, "n_components must be an integer >= 1, got 0"),
        ({"n_components": 1.5}, "n_components must be an integer >= 1, got 1.5"),
        ({"n_components": True}, "n_components must be an integer >= 1, got True"),
        ({"n_components": None}, "n_components must be an integer >= 1, got None"),
        (
            {"n_components": 5},
            r"n_components=5 is more than min\(n_samples, n_features\) = 4.*"
            "Choose n_components <= 4",
        ),
        ({"kernel": "precomputed"}, "leaves no rows to reconstruct.*Pass the rows"),
        ({"kernel": "gauss"}, "Unknown kernel 'gauss'"),
        ({"alpha": 0.0}, "alpha must be a finite number > 0, got 0.0"),
        ({"alpha": [1.0] * 4}, r"alpha must be a finite number > 0, got \[1.0"),
        ({"tol": 0.0}, "tol must be a finite number > 0, got 0.0"),
        ({"max_iter": 0}, "max_iter must be an integer >= 1, got 0"),
        ({"solver": "closed_form"}, "needs a structure that fixes"),
    ],
)
def test_parameters(change, message):
    model = KernelAutoencoder(**change)
    with pytest.raises(ValueError, match=message):
        model.fit(X)
    assert not hasattr(model, "components_")


def test_fewer_rows_than_components():
    with pytest.raises(
        ValueError, match=r"n_components=3 is more than.*= 2, .* 2 rows"
    ):
        KernelAutoencoder(3).fit(X[:2])


def test_rows_that_cannot_be_used():
    with pytest.raises(TypeError, match=r"Sparse data was passed.*toarray"):
        KernelAutoencoder().fit(sp.csr_matrix(X))
    with pytest.raises(ValueError, match="Input X contains NaN"):
        KernelAutoencoder().fit(np.where(X > 2, np.nan, X))
    model = KernelAutoencoder()
    for method in (model.transform, model.inverse_transform):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            method(X[:, :2])
    model.fit(X)
    with pytest.raises(ValueError, match="X has 3 features, but KernelAutoencoder"):
        model.transform(X[:, :3])
    with pytest.raises(ValueError, match=r"X has 3 columns, but the codes.*have 2"):
        model.inverse_transform(X[:, :3])


@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_the_score_is_the_variance_that_is_explained(n, m):
    X, X_new = draw(n, m)
    pca = PCA(3, svd_solver="full").fit(X)
    alpha = 1e-8 * pca.singular_values_[0] ** 2
    model = KernelAutoencoder(3, "linear", alpha).fit(X)
    assert_allclose(model.score(X), pca.explained_variance_ratio_.sum(), rtol=1e-6)
    curved = KernelAutoencoder(3, Gaussian(0.05), 1e-2).fit(X)
    reconstructed = curved.inverse_transform(curved.transform(X_new))
    variance = np.sum((X_new - X_new.mean(axis=0)) ** 2)
    expected = 1 - np.sum((X_new - reconstructed) ** 2) / variance
    assert_allclose(curved.score(X_new), expected)
    with pytest.raises(NotFittedError):
        clone(model).score(X)


def test_a_search_without_targets():
    X, _ = draw(60)
    grid = {"alpha": [1e2, 1e-1], "kernel__gamma": [0.01, 10.0]}
    search = GridSearchCV(KernelAutoencoder(3), grid, cv=3).fit(X)
    assert search.best_params_ == {"alpha": 0.1, "kernel__gamma": 0.01}
    scores = cross_val_score(search.best_estimator_, X, cv=3)
    assert_allclose(scores.mean(), search.best_score_)
    assert scores.mean() > 0.8
