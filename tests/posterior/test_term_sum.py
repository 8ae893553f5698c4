"""Several kernels, rows with a term of their own, missing targets: written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl import OutputKernelRegressor
from okl.kernels import Gaussian, Linear, Row
from okl.output_kernels import SpectralKernel
from okl.posterior import RowsLeftOut, RowTermPosterior, TermSumPosterior
from okl.structures import Fixed
from tests.samples import draw, psd

N_ROWS, M, ALPHA = 12, 3, 0.3
NEW = np.random.default_rng(9).normal(size=(5, 3))
KERNELS = [Gaussian(0.3), Linear()]
# connected outputs, outputs in two blocks, and unrelated ones
BLOCKS = np.array([[1.0, 0.4, 0.0], [0.4, 0.5, 0.0], [0.0, 0.0, 0.7]])
LS = {"full": [psd(M, 5), psd(M, 6, rank=1)], "blocks": [BLOCKS, np.eye(M)]}

each_intercept = pytest.mark.parametrize("b", [False, True], ids=["no-b", "b"])
each_weights = pytest.mark.parametrize("kind", ["none", "missing", "entries"])
each_row = pytest.mark.parametrize("row", [False, True], ids=["no-row", "row"])
each_number = pytest.mark.parametrize("n_kernels", [1, 2])


def weights_of(kind):
    """Return weights of the training targets: a row misses all, one none."""
    rng = np.random.default_rng(3)
    if kind == "none":
        return np.ones((N_ROWS, M))
    seen = rng.random((N_ROWS, M)) < 0.6
    seen[0], seen[1] = True, False
    return seen * (1.0 if kind == "missing" else rng.uniform(0.2, 3.0, seen.shape))


def written_out(kernels, Ls, row, weights, X, Y, x, b):
    """Return mean (m,) and covariance (m, m) of f + b at a row, nothing factorised."""
    n, m = weights.shape
    pairs = list(zip(kernels, Ls, strict=True))
    o = weights.ravel() > 0
    system = sum(np.kron(k(X), L) for k, L in pairs)
    system = system + np.kron(np.eye(n), row)
    system[o, o] += ALPHA / weights.ravel()[o]
    told = sum(np.kron(k(x[None], X), L) for k, L in pairs)[:, o]
    drift = (np.kron(np.ones((n, 1)), np.eye(m)) * b)[o]
    y = Y.ravel()[o]
    inverse = np.linalg.inv(system[np.ix_(o, o)])
    mean = told @ inverse @ y
    covariance = sum(k(x[None]) * L for k, L in pairs) - told @ inverse @ told.T
    if b:
        precision = np.linalg.inv(drift.T @ inverse @ drift)
        beta = precision @ drift.T @ inverse @ y
        left = np.eye(m) - told @ inverse @ drift
        mean, covariance = mean + left @ beta, covariance + left @ precision @ left.T
    return mean, covariance


def posterior_of(n_kernels, Ls, row, weights, X, b):
    return TermSumPosterior(
        tuple(KERNELS[:n_kernels]),
        tuple(SpectralKernel.from_matrix(L) for L in Ls[:n_kernels]),
        X,
        ALPHA,
        weights,
        b,
        row,
    )


@each_number
@each_row
@each_weights
@each_intercept
@pytest.mark.parametrize("which", list(LS))
def test_covariances_and_rows_left_out(n_kernels, row, kind, b, which):
    X, Y, _ = draw(N_ROWS, M)
    own = psd(M, 7) if row else np.zeros((M, M))
    weights, Ls = weights_of(kind), LS[which][:n_kernels]
    given = None if kind == "none" else weights
    posterior = posterior_of(n_kernels, Ls, own if row else None, given, X, b)
    of = KERNELS[:n_kernels], Ls, own

    found = posterior.covariance(NEW)
    for x, covariance in zip(NEW, found, strict=True):
        expected = written_out(*of, weights, X, Y, x, b)[1]
        assert_allclose(covariance, expected, atol=1e-10)
    assert_allclose(posterior(NEW), np.einsum("ijj->ij", found), atol=1e-12)

    if kind == "entries":
        return  # a row may be left with other copies of itself
    means = np.array([written_out(*of, weights, X, Y, x, b)[0] for x in X])
    residuals = np.where(weights > 0, Y - means, np.nan)
    left = RowsLeftOut.of(posterior, X, residuals, given, np.full(M, ALPHA))
    for i in (0, 1, 5):
        rest = np.delete(np.arange(N_ROWS), i)
        mean, S = written_out(*of, weights[rest], X[rest], Y[rest], X[i], b)
        variances = np.diag(S + own) + ALPHA
        assert_allclose(left.variances[i], variances, atol=1e-8)
        seen = weights[i] > 0
        assert_allclose(left.residuals[i, seen], (Y[i] - mean)[seen], atol=1e-8)


@each_intercept
def test_without_missing_targets_it_is_the_closed_form(b):
    X, _, _ = draw(N_ROWS, M)
    L, own = (SpectralKernel.from_matrix(psd(M, seed)) for seed in (5, 7))
    closed = RowTermPosterior.of(KERNELS[0], X, L, own, ALPHA, free_intercept=b)
    other = posterior_of(1, [L.matrix()], own.matrix(), None, X, b)
    assert_allclose(other.covariance(NEW), closed.covariance(NEW), atol=1e-10)


@each_intercept
@pytest.mark.parametrize("n_kernels", [1, 2])
def test_predictions_of_a_fit_given_targets_of_the_same_row(n_kernels, b):
    X, Y, _ = draw(N_ROWS, M)
    weights, own = weights_of("missing"), psd(M, 7)
    Ls = LS["full"][:n_kernels]
    model = OutputKernelRegressor(
        [*KERNELS[:n_kernels], Row()],
        [*map(Fixed, Ls), Fixed(own)],
        ALPHA,
        fit_intercept=b,
        normalize_y=False,
        tol=1e-14,
    ).fit(X, np.where(weights > 0, Y, np.nan))
    N = own + ALPHA * np.eye(M)
    # signal and noise of output j are both in proportion to its errors
    D = np.diag(np.sqrt(model.noise_variance_ / np.diag(N)))
    assert_allclose(model.residual_covariance_, D @ N @ D, rtol=1e-10)
    given = np.random.default_rng(2).normal(size=(5, M))
    given[[0, 0, 1, 2, 3], [0, 1, 2, 0, 1]] = np.nan
    means, covariances = model.predict(NEW, given=given, return_cov=True)
    _, deviations = model.predict(NEW, given=given, return_std=True)
    for x, y, mean, found in zip(NEW, given, means, covariances, strict=True):
        f, S = written_out(KERNELS[:n_kernels], Ls, own, weights, X, Y, x, b)
        S, noise = D @ S @ D, D @ N @ D
        o, u = ~np.isnan(y), np.isnan(y)
        gain = (S + noise)[np.ix_(u, o)] @ np.linalg.inv((S + noise)[np.ix_(o, o)])
        assert_allclose(mean[u], f[u] + gain @ (y - f)[o], atol=1e-6)
        # of f + b: without what no target tells of noise
        alone = noise[np.ix_(u, o)] @ np.linalg.inv(noise[np.ix_(o, o)])
        rest = (S + noise)[np.ix_(u, u)] - gain @ (S + noise)[np.ix_(o, u)]
        rest = rest - (noise[np.ix_(u, u)] - alone @ noise[np.ix_(o, u)])
        assert_allclose(found[np.ix_(u, u)], rest, atol=1e-8)
    assert_allclose(deviations**2, np.einsum("ijj->ij", covariances), atol=1e-10)
