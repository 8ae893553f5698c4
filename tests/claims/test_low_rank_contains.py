"""What `LowRank` contains: Dinuzzo & Fukumizu (2011), section 4.

Minimised over L, the penalty leaves the nuclear norm, L = (Theta'K Theta)^(1/2):

    ||Y - K Theta||^2 / 2 + alpha tr (Theta'K Theta)^(1/2),   rank Theta <= rank,

which for K = XX' and B = X'Theta is ||Y - XB||^2 / 2 + alpha ||B||_*. Its solutions are
known in closed form where X or K is orthogonal, or where Y = X, for any alpha. As alpha
goes to zero they tend, at the rate alpha, to those without a penalty.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression

from okl import OutputKernelRegressor, ReducedRankRegression
from okl.structures import LowRank
from tests.samples import draw, orthogonal, psd

pytestmark = pytest.mark.filterwarnings(
    "error::sklearn.exceptions.ConvergenceWarning"  # every fit is to be a solution
)


def tolerance(rank):
    # without a bound the gap closes to 1e-12; under a bound it stays open, and the
    # Newton steps go on until they promise no more than this
    return 1e-12 if rank is None else 1e-15


def fit(kernel, X, Y, alpha, rank=None, *, intercept=True):
    return OutputKernelRegressor(
        kernel,
        LowRank(rank),
        alpha,
        fit_intercept=intercept,
        tol=tolerance(rank),
        normalize_y=False,
    ).fit(X, Y)


def reach(Y, rank, growth):
    """Return how far from the solution a fit may be, for what it promises.

    Its objective P is within tol P of the least, and P <= ||Y||^2 / 2, which f = 0 has.
    Where P grows by growth / 2 times the squared distance, to second order, that is a
    distance of sqrt(tol ||Y||^2 / growth).
    """
    return np.linalg.norm(Y) * (tolerance(rank) / growth) ** 0.5


def growth_of_loss(Y, rank):
    """Return by what ||Y - Z||^2 / 2 grows around the best Z of some rank.

    One without a bound. Under a bound what grows least is a turn, by the same angle, of
    the last singular vectors u_r and v_r that are kept into the first that are not.
    """
    if rank is None:
        return 1.0
    s = np.linalg.svd(Y, compute_uv=False)
    return 1 - s[rank] / s[rank - 1]


def coefficients(X, Y, alpha, rank=None):
    """Return B of a linear kernel."""
    return X.T @ fit("linear", X, Y, alpha, rank).dual_coef_


# What a limit makes of an error of its three models.
AMPLIFIED = (1 + 6 + 8) / 3


def limit(solve, alpha):
    """Extrapolate to alpha = 0, with a check that the distance is linear in alpha."""
    values = [solve(alpha / k) for k in (1, 2, 4)]
    found = (values[0] - 6 * values[1] + 8 * values[2]) / 3  # exact on parabolas
    distances = np.array([np.abs(value - found).max() for value in values])
    assert_allclose(distances[:-1] / distances[1:], 2, rtol=0.05)
    return found


def truncated(Z, rank):
    """Return the best approximation of a matrix of some rank (Eckart & Young)."""
    U, s, Vt = np.linalg.svd(Z, full_matrices=False)
    return (U[:, :rank] * s[:rank]) @ Vt[:rank]


def regression(n=30, d=6, m=5, x_rank=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    if x_rank is not None:
        X = X[:, :x_rank] @ rng.normal(size=(x_rank, d))
    Y = X @ rng.normal(size=(d, m)) + rng.normal(size=(n, m))
    return X, Y + rng.normal(size=m)


@pytest.mark.parametrize("rank", [None, 2])
@pytest.mark.parametrize("alpha", [0.03, 1.0])
def test_the_penalty_is_the_nuclear_norm(alpha, rank):  # Lemma 6
    _, Y, K = draw(12, 5)
    model = fit("precomputed", K, Y, alpha, rank, intercept=False)
    theta = model.dual_coef_
    L, square = model.output_kernel_, theta.T @ K @ theta
    # the objective errs by the square of what L errs by, and is certified to 1e-12
    assert_allclose(L @ L, square, atol=1e-6 * np.trace(square))
    residual = Y - K @ theta
    singular = np.linalg.svd(np.linalg.cholesky(K).T @ theta, compute_uv=False)
    expected = np.vdot(residual, residual) / 2 + alpha * singular.sum()
    assert_allclose(model.certificate_.primal, expected, rtol=1e-12)


@pytest.mark.parametrize("shape", [(30, 6, 5), (8, 20, 4), (12, 6, 15)])
@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.5])
def test_a_linear_kernel_is_nuclear_norm_regression(shape, fraction):
    X, Y = regression(*shape)
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    alpha = fraction * np.linalg.norm(Xc.T @ Yc, 2)
    B = coefficients(X, Y, alpha)
    # a solution is a fixed point of the proximal gradient step, nothing else is
    length = np.linalg.norm(Xc, 2) ** -2
    ahead = B + length * Xc.T @ (Yc - Xc @ B)
    U, s, Vt = np.linalg.svd(ahead, full_matrices=False)
    step = (U * np.clip(s - length * alpha, 0, None)) @ Vt
    assert_allclose(step, B, atol=1e-6 * s[0])
    assert np.linalg.matrix_rank(step, tol=1e-9) == np.sum(s > length * alpha)


def check_least_squares(X, Y, expected, rank=None):
    """Compare the limit of a linear kernel with coefficients known otherwise."""
    alpha = 1e-3 * np.linalg.norm(X.T @ Y, 2)
    B = limit(lambda a: coefficients(X, Y, a, rank), alpha)
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    U, s, Vt = np.linalg.svd(Xc, full_matrices=False)
    kept = s > 1e-9 * s[0]
    reachable = U[:, kept].T @ Yc
    distance = AMPLIFIED * reach(Yc, rank, growth_of_loss(reachable, rank))
    assert distance < 1e-4 * np.linalg.norm(reachable)
    assert_allclose(Xc @ B, Xc @ expected, atol=distance)
    # of all with these predictions the smallest: in the span of the rows
    assert_allclose(B, Vt[kept].T @ (Vt[kept] @ B), atol=1e-10 * np.abs(B).max())
    assert_allclose(B, expected, atol=distance / s[kept][-1])


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("shape", [(30, 6, 5), (30, 4, 9), (6, 20, 4), (12, 6, 15)])
def test_small_alpha_is_reduced_rank_regression(shape, rank):
    X, Y = regression(*shape)
    expected = ReducedRankRegression(rank).fit(X, Y).coef_.T
    check_least_squares(X, Y, expected, rank)


@pytest.mark.parametrize("rank", [1, 2])
def test_of_many_reduced_rank_regressions_it_is_the_one_of_smallest_norm(rank):
    # the paper says "the" solution: with dependent features there are many
    X, Y = regression(30, 8, 5, x_rank=4)
    expected = ReducedRankRegression(rank).fit(X, Y).coef_.T
    check_least_squares(X, Y, expected, rank)


@pytest.mark.parametrize("shape", [(30, 6, 5), (6, 20, 4)])
def test_small_alpha_without_a_bound_is_least_squares(shape):
    X, Y = regression(*shape)
    check_least_squares(X, Y, LinearRegression().fit(X, Y).coef_.T)


def correlated(n=20):
    rng = np.random.default_rng(0)
    scales = np.diag([5, 3, 2, 1.5, 1, 0.5])
    return rng.normal(size=(n, 6)) @ scales @ orthogonal(6) + rng.normal(size=6)


@pytest.mark.parametrize("rank", [1, 2, 4, None])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 10.0])
def test_predicting_the_rows_themselves_is_shrunken_pca(alpha, rank):
    # In the eigenvectors of X'X the objective of L = Q diag(w) Q' is linear in the
    # squares of Q, so it is smallest where they are a permutation: L is diagonal too,
    # each entry minimises d^2 / (d^2 w + alpha) + w or is zero, and large d gain most.
    X = correlated()
    Xc = X - X.mean(axis=0)
    pca = PCA(rank).fit(X)
    shrinkage = np.clip(1 - alpha / pca.singular_values_**2, 0, None)
    expected = (pca.components_.T * shrinkage) @ pca.components_
    model = fit("linear", X, X, alpha, rank)
    distance = reach(Xc, rank, growth_of_loss(Xc, rank))
    assert_allclose(Xc @ (X.T @ model.dual_coef_), Xc @ expected, atol=distance)
    # "in all these linear problems" L = (B'B)^(1/2), here B itself. The second
    # derivative of the above in w is alpha at the optimum, that of a turn is larger
    distance = reach(Xc, rank, alpha)
    assert_allclose(model.output_kernel_, expected, atol=distance)
    assert model.rank_ == np.count_nonzero(shrinkage)


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_small_alpha_is_pca(rank):
    X = correlated()
    pca = PCA(rank).fit(X)
    model = fit("linear", X, X, 1e-10, rank)
    projected = pca.inverse_transform(pca.transform(X))
    Xc = X - X.mean(axis=0)
    distance = reach(Xc, rank, growth_of_loss(Xc, rank))
    assert_allclose(model.predict(X), projected, atol=distance)


@pytest.mark.parametrize("rank", [1, 3, None])
@pytest.mark.parametrize("alpha", [1e-3, 0.5, 1.5])
@pytest.mark.parametrize("shape", [(8, 6), (6, 9)])
def test_unrelated_samples_are_soft_thresholding(shape, alpha, rank):
    Y = np.random.default_rng(0).normal(size=shape)
    U, s, Vt = np.linalg.svd(Y, full_matrices=False)
    largest, s = s[0], np.clip(s - alpha, 0, None)
    s[rank or len(s) :] = 0
    K = np.eye(len(Y))
    model = fit("precomputed", K, Y, alpha, rank, intercept=False)
    distance = reach(Y, rank, growth_of_loss(Y, rank))
    assert_allclose(model.predict(K), (U * s) @ Vt, atol=distance)
    # each eigenvalue w of L minimises (alpha / 2) (s^2 / (w + alpha) + w): of second
    # derivative alpha / s at w = s - alpha. A turn grows by the other at least
    distance = reach(Y, rank, min(alpha / largest, growth_of_loss(Y, rank) / 2))
    assert_allclose(model.output_kernel_, (Vt.T * s) @ Vt, atol=distance)


@pytest.mark.parametrize("rank", [1, 2, 4])
@pytest.mark.parametrize("shape", [(8, 6), (6, 9)])
def test_small_alpha_is_low_rank_approximation_whatever_the_kernel(shape, rank):
    n, Y = shape[0], np.random.default_rng(0).normal(size=shape)
    for K in (np.eye(n), psd(n, 1) + 0.1 * np.eye(n), 50 * (psd(n, 2) + np.eye(n))):

        def approximation(alpha, K=K):
            model = fit("precomputed", K, Y, alpha, rank, intercept=False)
            return model.predict(K)

        alpha = 1e-3 * np.linalg.norm(Y.T @ K @ Y, 2) ** 0.5
        found = limit(approximation, alpha)
        distance = AMPLIFIED * reach(Y, rank, growth_of_loss(Y, rank))
        assert_allclose(found, truncated(Y, rank), atol=distance)


def test_a_singular_kernel_approximates_what_it_can_reach():
    # the paper asks for a non-singular K: else Y counts by its part in the range of K
    Y, basis = np.random.default_rng(0).normal(size=(8, 6)), orthogonal(8, 1, 5)
    K = (basis * [3.0, 2.0, 1.0, 1.0, 0.5]) @ basis.T
    expected = truncated(basis @ basis.T @ Y, 2)

    def approximation(alpha):
        return fit("precomputed", K, Y, alpha, 2, intercept=False).predict(K)

    distance = AMPLIFIED * reach(Y, 2, growth_of_loss(basis.T @ Y, 2))
    assert_allclose(limit(approximation, 1e-3), expected, atol=distance)
    assert np.abs(expected - truncated(Y, 2)).max() > 0.1
