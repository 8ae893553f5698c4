"""What weights mean: rows that count several times, or not at all, and entries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.kernel_ridge import KernelRidge

from okl import OutputKernelClassifier, OutputKernelRegressor
from okl.losses import Hinge, Huber, Logistic, Softmax, Squared, SquaredHinge
from okl.structures import Frobenius, Identity, LowRank, Mean, Sparse
from tests.samples import draw, solve, targets_for

N, M = 12, 3
LOSSES = [Squared(), Huber(0.8), Logistic(), Softmax(), Hinge(), SquaredHinge()]
each = pytest.mark.parametrize("loss", LOSSES, ids=repr)
structures = pytest.mark.parametrize(
    "structure",
    [Mean(2.0), Frobenius(), LowRank(), Sparse(0.3, 1e-2)],
    ids=lambda structure: structure.name,
)
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
COUNTS = np.array([1, 0, 3, 1, 2, 1, 1, 2, 0, 1, 4, 1])


def fit(K, Y, structure, loss, intercept, weights=None, alpha=0.3):
    """Fit closely enough to compare models: predictions differ by a root of the gap."""
    found = solve(
        K,
        Y,
        structure,
        alpha,
        loss=loss,
        intercept=intercept,
        weights=weights,
        tol=1e-7,
    )
    assert found.solution.certificate.status == "optimal"
    return found


def same_model(one, two, K_one, K_two, loss):
    values = [found.solution.certificate.primal for found in (one, two)]
    assert_allclose(*values, rtol=2e-6)
    F, G = one.predict(K_one), two.predict(K_two)
    if loss.name == "softmax":  # a number added to all scores of all rows is free
        F, G = F - F.mean(), G - G.mean()
    assert_allclose(F, G, atol=2e-3 * np.abs(G).max())


@each
@structures
@intercepts
@pytest.mark.each_value
def test_integer_weights_are_repeated_rows(loss, structure, intercept):
    K, Y = targets_for(loss, N, M)
    rows = np.repeat(np.arange(N), COUNTS)
    weights = COUNTS[:, None].astype(float)
    one = fit(K, Y, structure, loss, intercept, weights)
    two = fit(K[np.ix_(rows, rows)], Y[rows], structure, loss, intercept)
    same_model(one, two, K, K[:, rows], loss)
    # a row without weight has no say
    assert_allclose(one.dual_coef[COUNTS == 0], 0, atol=1e-9)


@pytest.mark.parametrize("constant", [False, True], ids=["linear", "with-constant"])
@pytest.mark.parametrize("loss", ["huber", "logistic", "softmax"])
@pytest.mark.parametrize("without", [5, N - 2], ids=["some", "most"])
@intercepts
def test_few_features_give_no_dual_variables_to_rows_without_weight(
    loss, constant, without, intercept
):
    # what a step adds to the weights of features may be made of any rows; where most
    # have no weight, fewer are left than there are features
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(N, 3)), rng.normal(size=(N, M))
    if constant:
        X[:, 0] = 1.0
    weights = np.ones(N)
    weights[:without] = 0.0
    of = OutputKernelRegressor if loss == "huber" else OutputKernelClassifier
    if loss != "huber":
        Y[-2:] = [[-1.0, 1.0, 2.0], [3.0, -1.0, -2.0]]
        Y = Y.argmax(axis=1) if loss == "softmax" else (Y > 0).astype(int)
    model = of(structure="identity", alpha=0.1, loss=loss, kernel="linear")
    model.set_params(fit_intercept=intercept).fit(X, Y, sample_weight=weights)
    assert model.certificate_.status == "optimal"
    left = np.abs(model.dual_coef_[:without]).max()
    assert left <= 1e-12 * np.abs(model.dual_coef_).max()


@each
@structures
@intercepts
@pytest.mark.each_value
def test_equal_weights_multiply_the_loss(loss, structure, intercept):
    K, Y = targets_for(loss, N, M)
    one = fit(K, Y, structure, loss, intercept, np.full((N, 1), 5.0), alpha=1.5)
    two = fit(K, Y, structure, loss, intercept, alpha=0.3)
    assert one.solution.certificate.primal == pytest.approx(
        5 * two.solution.certificate.primal, rel=1e-6
    )
    L = two.output_kernel.matrix()
    assert_allclose(one.output_kernel.matrix(), L, atol=5e-3 * np.abs(L).max())


@each
@structures
@intercepts
@pytest.mark.each_value
def test_what_is_missing_does_not_matter(loss, structure, intercept):
    K, Y = targets_for(loss, N, M)
    rng = np.random.default_rng(1)
    missing = rng.random((N, 1 if loss.name == "softmax" else M)) < 0.3
    weights = np.where(missing, 0.0, 1.0)
    one = fit(K, Y, structure, loss, intercept, weights)
    filled = np.where(missing, 1e3 - Y, Y)
    two = fit(K, filled, structure, loss, intercept, weights)
    assert_array_equal(one.predict(K), two.predict(K))
    assert one.solution.certificate == two.solution.certificate


@pytest.mark.parametrize("alpha", [1e-2, 1.0, 30.0])
def test_the_squared_loss_is_weighted_kernel_ridge(alpha):
    _, Y, K = draw(N, M)
    w = np.random.default_rng(0).uniform(0.1, 5.0, size=N)
    theirs = KernelRidge(alpha=alpha, kernel="precomputed").fit(K, Y, sample_weight=w)
    found = solve(K, Y, Identity(), alpha, weights=w[:, None], tol=1e-12)
    expected = theirs.predict(K)
    assert_allclose(found.predict(K), expected, atol=1e-5 * np.abs(expected).max())


@structures
@intercepts
def test_the_squared_loss_is_one_without_weights(structure, intercept):
    # with u = W^(1/2) 1 normalised and H = I - uu', the problem of H W^(1/2) K W^(1/2)
    # H and H W^(1/2) Y without intercept; C = W^(1/2) C_w, b = mean of Y - KCL
    _, Y, K = draw(N, M)
    w = np.random.default_rng(0).uniform(0.1, 5.0, size=N)
    one = fit(K, Y, structure, Squared(), intercept, w[:, None])
    root = np.diag(np.sqrt(w))
    if intercept:
        u = np.sqrt(w / w.sum())
        root = (np.eye(N) - np.outer(u, u)) @ root
    two = fit(root @ K @ root.T, root @ Y, structure, Squared(), False)
    F = K @ root.T @ two.dual_coef
    if intercept:
        F = F + w @ (Y - F) / w.sum()
    values = [found.solution.certificate.primal for found in (one, two)]
    assert_allclose(*values, rtol=2e-6)
    assert_allclose(one.predict(K), F, atol=2e-3 * np.abs(F).max())
