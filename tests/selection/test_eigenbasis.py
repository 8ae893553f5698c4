"""Paths and held-out predictions in the eigenbasis, against those with K itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.losses import Squared
from okl.operators import Dense
from okl.problems import Observed
from okl.selection import eigenbasis
from okl.structures import Frobenius, Identity, LowRank
from tests.instances import STRUCTURES
from tests.samples import gaussian

N, N_TRAIN = 18, 14
ALPHAS = (1.0, 0.05)

each = pytest.mark.parametrize("case", STRUCTURES, ids=lambda case: case.label)
intercept = pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
kinds = pytest.mark.parametrize("kind", ["full", "rank-4", "weights"])


def fold(case, intercept, kind, m=4):
    """Return the formulation of some rows, and K of the other ones with these."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    Y = np.sin(X @ rng.normal(size=(3, m))) + 1.0
    K = X @ X.T + 1.0 if kind == "rank-4" else gaussian(X)
    weights = rng.uniform(0.5, 2.0, size=(N_TRAIN, 1)) if kind == "weights" else None
    observed = Observed(Y[:N_TRAIN], Squared(), weights)
    operator = Dense(K[:N_TRAIN, :N_TRAIN].copy())
    inputs = observed.inputs(operator, fit_intercept=intercept)
    return observed.formulate(inputs, case.make(m)), K[N_TRAIN:, :N_TRAIN]


def path(formulation):
    return eigenbasis.models(formulation.problem, ALPHAS, tol=1e-6, max_iter=500)


def theta(formulation, model):
    """Return Theta of the problem: U times coordinates, and L Y / alpha beyond U."""
    problem, kernel = formulation.problem, model.output_kernel
    U = problem.spectrum.vectors
    outside = problem.targets - U @ (U.T @ problem.targets)
    inside = U @ kernel.from_coordinates(model.coefficients)
    return inside + kernel.multiply(outside) / model.alpha


@each
@intercept
@kinds
@pytest.mark.each_value
def test_a_certificate_there_is_that_with_the_kernel_matrix(case, intercept, kind):
    formulation, _ = fold(case, intercept, kind)
    problem = formulation.problem
    for model in path(formulation):
        with_K = problem.certificate(
            theta(formulation, model), model.output_kernel, model.alpha, tol=1e-6
        )
        if model.solution is None:
            assert problem.known() is not None
            assert abs(with_K.relative_gap) < 1e-9
        else:
            there = model.solution.certificate
            assert there.primal == pytest.approx(with_K.primal, rel=1e-10)
            assert there.dual == pytest.approx(with_K.dual, rel=1e-9)


@each
@intercept
@kinds
@pytest.mark.parametrize("m", [4, 20])
@pytest.mark.each_value
def test_held_out_predictions(case, intercept, kind, m):
    formulation, cross = fold(case, intercept, kind, m)
    found = list(eigenbasis.predictions(formulation, cross, path(formulation)))
    assert [model.alpha for model, _ in found] == list(ALPHAS)
    for model, predictions in found:
        coefficients = formulation.coefficients(theta(formulation, model))
        expected = cross @ coefficients
        if intercept:
            expected = expected + formulation.intercept(coefficients)
        assert_allclose(predictions, expected, atol=1e-8)


@pytest.mark.parametrize("structure", [Identity(), Frobenius(), LowRank()], ids=repr)
@pytest.mark.parametrize("alpha", [0.1, 0.01])
def test_eigenvalues_at_rounding_level_do_not_matter(structure, alpha):
    # their eigenvectors do not sum to zero, and their coefficients are large
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20, 1))
    Y = np.tanh(X @ rng.normal(size=(1, 2))) + 0.3 * rng.normal(size=(20, 2))
    train, test = np.arange(14), np.arange(14, 20)
    K = gaussian(X)
    observed = Observed(Y[train], Squared())
    inputs = observed.inputs(Dense(K[np.ix_(train, train)]), fit_intercept=True)
    formulation = observed.formulate(inputs, structure)
    found = eigenbasis.models(formulation.problem, [alpha], tol=1e-10, max_iter=500)
    cross = K[np.ix_(test, train)]
    ((model, predictions),) = eigenbasis.predictions(formulation, cross, found)
    # f and b of the best model for that L, the kernel matrix as it is
    L = model.output_kernel.matrix()
    system = np.kron(K[np.ix_(train, train)], L) + alpha * np.eye(28)
    ones = np.kron(np.ones((14, 1)), np.eye(2))
    system = np.block([[system, ones], [ones.T, np.zeros((2, 2))]])
    C = np.linalg.solve(system, np.r_[Y[train].ravel(), 0.0, 0.0])
    expected = cross @ C[:28].reshape(14, 2) @ L + C[28:]
    assert_allclose(predictions, expected, atol=1e-6)


def test_batches_keep_the_order(monkeypatch):
    formulation, cross = fold(STRUCTURES[0], True, "full")
    whole = [
        p for _, p in eigenbasis.predictions(formulation, cross, path(formulation))
    ]
    monkeypatch.setattr(eigenbasis, "_COLUMNS", 1)
    parts = [
        p for _, p in eigenbasis.predictions(formulation, cross, path(formulation))
    ]
    assert_allclose(parts, whole, rtol=1e-12)
