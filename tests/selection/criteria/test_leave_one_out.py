"""The leave-one-out criteria against refits without each row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from okl import OutputKernelRegressor
from okl.losses import Squared
from okl.problems import Observed
from okl.selection.criteria import LeaveOneOutError, LeaveOneOutLikelihood
from okl.structures import Fixed, Identity, Mean
from tests.samples import draw, psd
from tests.selection.criteria.differences import M, N, value

ALPHA = 0.3


def left_out(K, Y, structure, *, intercept):
    """Return residuals of each row, predicted by the estimator from all others."""
    residuals = np.empty_like(Y)
    for i in range(len(Y)):
        rest = np.delete(np.arange(len(Y)), i)
        model = OutputKernelRegressor(
            "precomputed",
            structure,
            ALPHA,
            fit_intercept=intercept,
            normalize_y=False,
            tol=1e-12,
        ).fit(K[np.ix_(rest, rest)], Y[rest])
        residuals[i] = Y[i] - model.predict(K[i : i + 1, rest])[0]
    return residuals


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize(
    "structure",
    [Identity(), Mean(), Fixed(psd(M, 3)), Fixed(psd(M, 3, 1))],
    ids=["identity", "mean", "fixed", "singular"],
)
def test_the_error_is_that_of_refits(structure, intercept):
    _, Y, K = draw(N, M)
    criterion = LeaveOneOutError(Observed(Y, Squared()), fit_intercept=intercept)
    residuals = left_out(K, Y, structure, intercept=intercept)
    expected = N / 2 * np.sum(np.log(np.mean(residuals**2, axis=0)))
    assert_allclose(value(criterion, K, ALPHA, structure), expected, rtol=1e-8)


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_the_likelihood_is_that_of_gaussian_processes(intercept):
    _, Y, K = draw(N, M)
    criterion = LeaveOneOutLikelihood(Observed(Y, Squared()), fit_intercept=intercept)
    residuals = left_out(K, Y, Identity(), intercept=intercept)
    variances = np.empty(N)
    for i in range(N):
        rest = np.delete(np.arange(N), i)
        inverse = np.linalg.inv(K[np.ix_(rest, rest)] / ALPHA + np.eye(N - 1))
        k = K[i, rest] / ALPHA
        variances[i] = 1 + K[i, i] / ALPHA - k @ inverse @ k
        if intercept:  # universal kriging
            one = inverse.sum(axis=0)
            variances[i] += (1 - one @ k) ** 2 / one.sum()
    expected = 0.0
    for r in residuals.T:
        sigma2 = np.mean(r**2 / variances)
        density = norm(scale=np.sqrt(sigma2 * variances)).logpdf(r).sum()
        expected += -density - N / 2 * (np.log(2 * np.pi) + 1)
    assert_allclose(value(criterion, K, ALPHA, Identity()), expected, rtol=1e-8)


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_with_weights_too_it_is_that_of_gaussian_processes(intercept):
    # the noise of a row has the variance alpha / weight, in units of the process
    _, Y, K = draw(N, M)
    weights = np.linspace(0.3, 4.0, N)
    observed = Observed(Y, Squared(), weights[:, None])
    criterion = LeaveOneOutLikelihood(observed, fit_intercept=intercept)
    residuals, variances = np.empty((N, M)), np.empty(N)
    for i in range(N):
        rest = np.delete(np.arange(N), i)
        noise = np.diag(1 / weights[rest])
        inverse = np.linalg.inv(K[np.ix_(rest, rest)] / ALPHA + noise)
        k, left = K[i, rest] / ALPHA, Y[rest]
        variances[i] = 1 / weights[i] + K[i, i] / ALPHA - k @ inverse @ k
        b = np.zeros(M)
        if intercept:
            one = inverse.sum(axis=0)
            b = one @ left / one.sum()
            variances[i] += (1 - one @ k) ** 2 / one.sum()
        residuals[i] = Y[i] - b - k @ inverse @ (left - b)
    expected = 0.0
    for r in residuals.T:
        scale = np.sqrt(np.mean(r**2 / variances) * variances)
        density = norm(scale=scale).logpdf(r).sum()
        expected += -density - N / 2 * (np.log(2 * np.pi) + 1)
    assert_allclose(value(criterion, K, ALPHA, Identity()), expected, rtol=1e-8)


@pytest.mark.parametrize("make", [LeaveOneOutError, LeaveOneOutLikelihood])
@pytest.mark.parametrize("structure", [Identity(), Mean()], ids=["identity", "mean"])
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_only_ratios_of_weights_count(make, structure, intercept):
    _, Y, K = draw(9, M)
    weights = np.arange(9.0)[:, None] % 4

    def at(alpha, factor):
        observed = Observed(Y, Squared(), factor * weights)
        criterion = make(observed, fit_intercept=intercept)
        return value(criterion, K, factor * alpha, structure) / (
            factor if make is LeaveOneOutError else 1.0
        )

    assert_allclose(at(ALPHA, 7.0), at(ALPHA, 1.0), rtol=1e-8)
