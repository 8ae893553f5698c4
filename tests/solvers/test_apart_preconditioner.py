"""Outputs that L hardly couples: preconditioned by a system of each."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.losses import Huber, Logistic
from okl.losses.separable import DiagonalCurvature
from okl.operators import Dense, Features, Kronecker
from okl.output_kernels import SpectralKernel
from okl.problems import Inputs, formulate
from okl.solvers import NewtonCG
from okl.solvers.predictor.apart_preconditioner import apart_cost, apart_preconditioner
from okl.solvers.predictor.hessian import HessianSystem
from okl.structures import Fixed
from tests.samples import psd, targets_for

N, M, ALPHA = 150, 5, 1e-3
LITTLE = np.diag(1.0 + np.arange(M)) + 0.3 * psd(M, 3)


def system(L, *, alpha=ALPHA, share=0.6, intercept=True):
    """The equations where a part of the entries has curvature."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4))
    K = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2) / 2)
    inputs = Inputs.of(Dense(K), fit_intercept=intercept)
    targets = targets_for(Huber(), N, M)[1]
    problem = formulate(inputs, targets, Huber(), Fixed(L)).problem
    prepared = NewtonCG().prepare_for(problem, SpectralKernel.from_matrix(L))
    W = DiagonalCurvature.of((rng.random((N, M)) < share).astype(float))
    columns = prepared.approximation.columns
    return HessianSystem(prepared, W, alpha, columns), rng.normal(size=(N, M))


def products(equations, right):
    right = equations.project(equations.curvature.project(right))
    for count, step in enumerate(equations.steps(right), 1):
        if step.left <= 1e-6:
            return count
    return count


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_few_products_are_enough_at_any_alpha(intercept, monkeypatch):
    for alpha in (1e-3, 1e-5):
        equations, right = system(LITTLE, alpha=alpha, intercept=intercept)
        assert products(equations, right) <= 15
    form = "okl.solvers.predictor.preconditioner_form."
    monkeypatch.setattr(form + "apart_cost", lambda *given: None)
    monkeypatch.setattr(form + "n_entries", lambda *given: N * M)
    equations, right = system(LITTLE, intercept=intercept)
    assert products(equations, right) > 30


def test_it_is_the_inverse_where_outputs_are_apart():
    equations, right = system(np.diag(1.0 + np.arange(M)) + 1e-12, intercept=False)
    joint, W = equations.prepared.joint, equations.curvature
    apply = apart_preconditioner(joint, W, ALPHA, centered=False)
    assert_allclose(apply(equations.product(right)[0]), right, atol=1e-6)


def test_rows_that_are_there_again_have_an_inverse_at_any_alpha():
    X = np.repeat(np.random.default_rng(0).normal(size=(N // 3, 3)), 3, axis=0)
    K = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2) / 2)
    joint = Kronecker(Dense(K), SpectralKernel.from_matrix(LITTLE))
    W = DiagonalCurvature.of(np.ones((N, M)))
    apply = apart_preconditioner(joint, W, 1e-18, centered=True)
    for vector in np.linalg.eigh(K)[1].T[:40]:
        right = np.tile(vector[:, None], M)
        assert np.all(np.sum(right * apply(right), axis=0) > 0)


def test_it_is_made_where_that_saves_more_than_it_takes():
    equations, _ = system(LITTLE)
    joint, W = equations.prepared.joint, equations.curvature
    sizes = np.sum(W.diagonal > 0, axis=0)
    assert apart_cost(joint, W, ALPHA) == pytest.approx(np.mean(sizes**3) / (3 * N**2))
    # the systems have a part of the entries of five matrices of the size of K
    for workspace, made in ((0.0, False), (1.0, False), (5.0, True)):
        stored = Dense(np.eye(N), workspace=workspace)
        cost = apart_cost(Kronecker(stored, joint.output_kernel), W, ALPHA)
        assert (cost is not None) == made
    # with few features there are not many steps at any alpha
    few = Features(np.random.default_rng(0).normal(size=(N, 5)))
    narrow = Kronecker(few, joint.output_kernel)
    assert apart_cost(narrow, W, ALPHA / 1000) is None
    # conjugate gradients are quick at a large alpha
    assert apart_cost(joint, W, 10.0) is None
    # an L of low rank is not nearly diagonal
    singular = Kronecker(
        Dense(np.eye(N)), SpectralKernel.from_matrix(psd(M, 3, rank=2))
    )
    assert apart_cost(singular, W, ALPHA) is None
    assert (
        apart_cost(Kronecker(Dense(np.eye(N)), SpectralKernel(np.ones(M))), W, ALPHA)
        is None
    )
    # nor is it worth it where most entries are light, the sure ones of a logistic loss
    scores = np.linspace(-20, 20, N * M).reshape(N, M)
    mostly_sure = Logistic().curvature(np.ones((N, M)), scores)
    assert apart_cost(joint, mostly_sure, ALPHA / 100) is None
    # a damped Huber loss has some curvature everywhere
    damped = DiagonalCurvature.of(np.maximum(W.diagonal, 1e-3))
    assert apart_cost(joint, damped, ALPHA / 100) == pytest.approx(N / 3)
