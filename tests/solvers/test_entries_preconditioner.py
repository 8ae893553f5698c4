"""Few entries that count: their matrix is factorised as it is."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.losses import Logistic
from okl.losses.separable import DiagonalCurvature
from okl.operators import Dense
from okl.output_kernels import SpectralKernel
from okl.problems import Inputs, formulate
from okl.solvers import NewtonCG
from okl.solvers.predictor.entries_preconditioner import entries_preconditioner
from okl.solvers.predictor.hessian import HessianSystem
from okl.solvers.predictor.preconditioner_form import form_of
from okl.structures import Fixed
from tests.samples import gaussian, psd

N, M, ALPHA = 60, 8, 1e-3


def system(*, intercept):
    """The equations of tasks: a label in each row, the others missing."""
    rng = np.random.default_rng(0)
    L, K = psd(M, 3), gaussian(rng.normal(size=(N, 4)))
    targets = rng.choice([-1.0, 1.0], size=(N, M))
    weights = (np.arange(M) == rng.integers(M, size=N)[:, None]).astype(float)
    inputs = Inputs.of(Dense(K), fit_intercept=intercept)
    problem = formulate(inputs, targets, Logistic(), Fixed(L), weights).problem
    prepared = NewtonCG().prepare_for(problem, SpectralKernel.from_matrix(L))
    curvature = problem.curvature(rng.normal(size=(N, M)))
    columns = prepared.approximation.columns
    equations = HessianSystem(prepared, curvature, ALPHA, columns)
    return equations, equations.project(rng.normal(size=(N, M)) * (weights > 0))


def test_it_is_the_inverse():
    equations, right = system(intercept=False)
    joint, curvature = equations.prepared.joint, equations.curvature
    apply = entries_preconditioner(joint, curvature, ALPHA, centered=False)
    assert_allclose(apply(equations.product(right)[0]), right, atol=1e-7)
    assert_allclose(equations.product(apply(right))[0], right, atol=1e-7)
    # as on all other entries the matrix is
    assert_allclose(apply(right + 1.0), apply(right) + apply(np.ones((N, M))))
    assert_allclose(apply(np.ones((N, M)))[curvature.diagonal == 0], 1 / ALPHA)


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_few_products_are_enough(intercept, monkeypatch):
    def products():
        equations, right = system(intercept=intercept)
        lefts = [step.left for step in equations.steps(right)]
        return int(np.argmax(np.asarray(lefts) <= 1e-8)) + 1

    assert products() <= (3 if intercept else 1)
    form = "okl.solvers.predictor.preconditioner_form."
    monkeypatch.setattr(form + "n_entries", lambda *given: N * M)
    monkeypatch.setattr(form + "apart_cost", lambda *given: None)
    monkeypatch.setattr(form + "_SMALL", 10 * M)
    monkeypatch.setattr(form + "_PRODUCTS", 0)
    assert products() > 2 * M


def test_it_is_chosen_where_it_is_small_or_quick(monkeypatch):
    equations, _ = system(intercept=False)
    joint, curvature = equations.prepared.joint, equations.curvature
    quick = form_of(joint, 2, curvature, ALPHA)
    assert quick.name == "entries"
    assert quick.cost == pytest.approx(N / (3 * M))
    form = "okl.solvers.predictor.preconditioner_form."
    monkeypatch.setattr(form + "_PRODUCTS", 0)
    assert form_of(joint, N, curvature, ALPHA).name == "entries"
    assert form_of(joint, 2, curvature, ALPHA).name == "joint"
    monkeypatch.setattr(form + "MOST_ENTRIES", N**2)
    assert form_of(joint, N, curvature, ALPHA).name == "joint"


def test_without_entries_that_count_it_is_a_number():
    equations, right = system(intercept=True)
    none = DiagonalCurvature.of(np.zeros((N, M)))
    apply = entries_preconditioner(equations.prepared.joint, none, ALPHA, centered=True)
    assert_allclose(apply(right), right / ALPHA)
