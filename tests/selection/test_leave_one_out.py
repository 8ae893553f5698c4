"""The closed form of leave-one-out against refitting without each row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import block_diag
from sklearn.linear_model import RidgeCV

from okl import OutputKernelRegressorCV
from okl.kernels import Matern
from okl.losses import Squared
from okl.operators import Dense, Features
from okl.problems import Inputs, Observed
from okl.selection.leave_one_out import has_closed_form, leave_one_out
from okl.solvers import solve_path
from okl.structures import Fixed, Frobenius, Identity, Mean
from tests.samples import draw, psd

ALPHAS = [3.0, 0.1]


def residuals_of(K, Y, structure, intercept, weights=None, rows=None):
    observed = Observed(Y, Squared(), weights)
    operator = Dense(K.copy()) if rows is None else Features(rows.copy())
    inputs = observed.inputs(operator, fit_intercept=intercept)
    formulation = observed.formulate(inputs, structure)
    assert has_closed_form(formulation)
    return list(leave_one_out(inputs, formulation, ALPHAS))


def refitted(K, Y, structure, intercept, alpha, weights=None):
    """Fit without each row in turn, by the library's own fits."""
    out = np.empty_like(Y)
    for i in range(len(Y)):
        rest = np.delete(np.arange(len(Y)), i)
        some = Observed(Y, Squared(), weights).restrict(rest)
        operator = Dense(K[np.ix_(rest, rest)])
        inputs = some.inputs(operator, fit_intercept=intercept)
        formulation = some.formulate(inputs, structure)
        (solution,) = solve_path(formulation.problem, [alpha], tol=1e-10, max_iter=10)
        theta = formulation.coefficients(solution.dual_coef)
        intercepts = formulation.intercept(theta, solution.intercept)
        prediction = K[i, rest] @ theta
        out[i] = Y[i] - prediction - (0.0 if intercepts is None else intercepts)
    return out


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize(
    "structure",
    [Identity(), Mean(), Fixed(psd(3, 3)), Fixed(psd(3, 1)), Fixed(np.zeros((3, 3)))],
    ids=["identity", "mean", "fixed", "singular", "zero"],
)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
def test_leaving_out_is_refitting(structure, intercept, weighted):
    _, Y, K = draw(12, 3)
    # a row is left out whole, whatever its weight
    weights = np.linspace(0.2, 5.0, 12)[:, None] if weighted else None
    found = residuals_of(K, Y, structure, intercept, weights)
    for alpha, residuals in zip(ALPHAS, found, strict=True):
        expected = refitted(K, Y, structure, intercept, alpha, weights)
        assert_allclose(residuals, expected, rtol=1e-8, atol=1e-9)


def test_a_row_without_weight_is_not_left_out():
    _, Y, K = draw(9, 3)
    weights = (np.arange(9) % 4).astype(float)
    some = weights > 0
    found = residuals_of(K, Y, Mean(), True, weights[:, None])
    rest = residuals_of(
        K[np.ix_(some, some)], Y[some], Mean(), True, weights[some, None]
    )
    for every, few in zip(found, rest, strict=True):
        assert_allclose(every[some], few, rtol=1e-8, atol=1e-9)
        assert np.all(every[~some] == 0)


@pytest.mark.parametrize("factor", [1.0, 0.05, 20.0])
def test_weights_that_tell_the_noise_choose_as_ridge_does(factor):
    # with a part of a heavy row left to tell its noise the alpha chosen was a
    # thousandth, and the error of new rows fifteen times as large
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    std = rng.uniform(0.2, 0.8, size=120)
    y = X @ [1.0, 0.5, 0.0] + std * rng.normal(size=120)
    alphas, weights = factor * np.geomspace(300.0, 0.01, 9), factor / std**2
    ridge = RidgeCV(alphas).fit(X, y, sample_weight=weights)
    model = OutputKernelRegressorCV(
        "linear", "identity", alphas=alphas, normalize_y=False
    )
    assert model.fit(X, y, sample_weight=weights).alpha_ == ridge.alpha_


def test_features_and_more_outputs_than_rows():
    X, _, _ = draw(20, 3)
    Y = np.random.default_rng(1).normal(size=(20, 30))
    K = X @ X.T
    for alpha, a, b in zip(
        ALPHAS,
        residuals_of(K, Y, Identity(), True, rows=X),
        residuals_of(K, Y, Identity(), True),
        strict=True,
    ):
        assert_allclose(a, b, rtol=1e-8, atol=1e-9)
        ridge = RidgeCV([alpha], store_cv_results=True).fit(X, Y)
        assert_allclose(a**2, ridge.cv_results_[:, :, 0], rtol=1e-6, atol=1e-10)


def test_a_small_alpha_leaves_residuals_accurate():
    """An interpolating fit: residual and share are both tiny."""
    _, Y, K = draw(10, 2)
    K = block_diag(K[:5, :5], K[5:, 5:])
    observed = Observed(Y, Squared())
    inputs = Inputs.of(Dense(K.copy()), fit_intercept=False)
    formulation = observed.formulate(inputs, Identity())
    (residuals,) = leave_one_out(inputs, formulation, [1e-9])
    inverse = np.linalg.inv(K)  # of alpha = 0
    expected = inverse @ Y / np.diagonal(inverse)[:, None]
    assert_allclose(residuals, expected, rtol=1e-5)


def test_where_the_closed_form_does_not_hold():
    _, Y, K = draw(8, 3)
    entries = np.ones_like(Y)
    entries[0, 0] = 0.0
    for structure, weights in [(Frobenius(), None), (Identity(), entries)]:
        observed = Observed(Y, Squared(), weights)
        inputs = observed.inputs(Dense(K.copy()), fit_intercept=True)
        assert not has_closed_form(observed.formulate(inputs, structure))


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
def test_flat_kernels(weighted):
    # rounding may leave the intercept's direction among the eigenvectors of K: in this
    # order of the rows or in that one
    X, Y, _ = draw(20, 2)
    weights = np.linspace(0.2, 0.9, 20)[:, None] if weighted else None
    rng = np.random.default_rng(0)
    for length in np.geomspace(2, 200, 20):
        order = rng.permutation(20)
        own = None if weights is None else weights[order]
        K = Matern(length, 2.5)(X[order], X[order])
        found = residuals_of(K, Y[order], Identity(), True, own)
        for alpha, residuals in zip(ALPHAS, found, strict=True):
            expected = refitted(K, Y[order], Identity(), True, alpha, own)
            assert_allclose(residuals, expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("factor", [2.0, 7.0])
def test_a_weight_that_all_rows_share_chooses_nothing_else(factor):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]]) + 0.3 * rng.normal(size=(40, 2))
    one = OutputKernelRegressorCV("rbf", "identity").fit(X, Y)
    same = OutputKernelRegressorCV("rbf", "identity").fit(
        X, Y, sample_weight=np.full(40, factor)
    )
    assert_allclose(same.alpha_, factor * one.alpha_, rtol=1e-8)
    assert_allclose(same.predict(X), one.predict(X), atol=1e-8)
