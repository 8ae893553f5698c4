"""The restricted likelihood against the density of contrasts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import block_diag, null_space
from scipy.stats import multivariate_normal

from okl.losses import Squared
from okl.problems import Observed
from okl.selection.criteria import RestrictedLikelihood
from okl.structures import Fixed, Identity
from tests.samples import draw, psd
from tests.selection.criteria.differences import (
    OBSERVED,
    ROW_WEIGHTS,
    M,
    N,
    value,
)

ALPHA = 0.4


def best_density(y, covariance, groups, *, intercept):
    """Return log p of y at the best variance, intercepts integrated out.

    A flat prior on the constant of each group of entries leaves the density of what is
    orthogonal to them; for orthonormal constants 1 / sqrt(n) it is that very integral.
    """
    if intercept:
        contrasts = null_space(np.stack(groups))
        y, covariance = contrasts.T @ y, contrasts.T @ covariance @ contrasts
    variance = y @ np.linalg.solve(covariance, y) / len(y)
    return multivariate_normal(cov=variance * covariance).logpdf(y), len(y)


def expected(y, covariance, groups, *, intercept):
    """Return J of these entries: it leaves constants of the density out."""
    density, size = best_density(y, covariance, groups, intercept=intercept)
    rest = size / 2 * (np.log(2 * np.pi) + 1)
    if intercept:
        rest -= sum(np.log(np.sum(group)) for group in groups) / 2
    return -density - rest


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize("kind", ["complete", "rows", "entries"])
def test_independent_outputs_have_a_variance_each(intercept, kind):
    _, Y, K = draw(N, M)
    weights = {"complete": None, "rows": ROW_WEIGHTS, "entries": OBSERVED}[kind]
    criterion = RestrictedLikelihood(
        Observed(Y, Squared(), weights), fit_intercept=intercept
    )
    full = np.ones((N, M)) if weights is None else np.broadcast_to(weights, Y.shape)
    total = 0.0
    for j in range(M):
        rows = np.flatnonzero(full[:, j])
        noise = np.diag(1 / full[rows, j])
        covariance = K[np.ix_(rows, rows)] / ALPHA + noise
        groups = [np.ones(len(rows))]
        total += expected(Y[rows, j], covariance, groups, intercept=intercept)
    assert_allclose(value(criterion, K, ALPHA, Identity()), total, rtol=1e-9)


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_related_outputs_have_one_variance(intercept):
    _, Y, K = draw(N, M)
    L = psd(M, 5)
    criterion = RestrictedLikelihood(Observed(Y, Squared()), fit_intercept=intercept)
    covariance = np.kron(L, K) / ALPHA + np.eye(N * M)
    groups = list(block_diag(*[np.ones(N)] * M))
    total = expected(Y.T.ravel(), covariance, groups, intercept=intercept)
    assert_allclose(value(criterion, K, ALPHA, Fixed(L)), total, rtol=1e-9)
