"""The proximal method of multipliers, and the Newton method inside."""

from itertools import product

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from okl import OutputKernelClassifier
from okl.losses import Envelope, Hinge
from okl.operators import Dense, Features
from okl.solvers import NewtonCG, SemismoothNewton
from okl.solvers.predictor import active_system
from okl.structures import Fixed, Frobenius, Identity, LowRank, Mean, TraceBall
from tests.covering import later
from tests.samples import psd, solve, targets_for
from tests.solvers.test_newton_cg import weights_for

N, M = 20, 4
KNOWN = [Identity(), Mean(2.0), Fixed(psd(M, 6, rank=2))]
known = pytest.mark.parametrize("structure", KNOWN, ids=lambda s: s.name)
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])


@known
@intercepts
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("moreau_parameter", [0.5, 30.0])
def test_newton_on_active_entries_is_newton_on_all(
    structure, intercept, weighted, moreau_parameter
):
    loss = Envelope(Hinge(), moreau_parameter, 0.1)
    K, Y = targets_for(Hinge(), N, M)
    weights = weights_for(Hinge(), N, M) if weighted else None
    options = {"loss": loss, "intercept": intercept, "weights": weights, "tol": 1e-10}
    one, two = (
        solve(K, Y, structure, 0.1, solver=solver, **options)
        for solver in (SemismoothNewton(), NewtonCG())
    )
    assert one.solution.certificate.status == "optimal"
    assert_allclose(
        one.solution.certificate.primal, two.solution.certificate.primal, rtol=1e-9
    )
    F = two.predict(K)
    assert_allclose(one.predict(K), F, atol=1e-4 * np.abs(F).max())


@pytest.mark.parametrize(
    "structure", [Identity(), Mean(2.0), Fixed(psd(M, 5))], ids=lambda s: s.name
)
@intercepts
def test_conjugate_gradients_find_the_same_steps(structure, intercept, monkeypatch):
    K, Y = targets_for(Hinge(), N, M)
    options = {"loss": Hinge(), "intercept": intercept, "tol": 1e-7}
    one = solve(K, Y, structure, 0.1, **options)
    for name, number in {"DIRECT": 0, "_MILD": 0, "_PRODUCTS": 0}.items():
        monkeypatch.setattr(active_system, name, number)
    two = solve(K, Y, structure, 0.1, **options)
    for found in (one, two):
        assert found.solution.certificate.status == "optimal"
    F = one.predict(K)
    if intercept:
        F = F - F.mean(axis=0)
    G = two.predict(K)
    if intercept:
        G = G - G.mean(axis=0)
    assert_allclose(G, F, atol=1e-3 * np.abs(F).max())


@pytest.mark.parametrize(
    "structure", [KNOWN[1], Frobenius(), *later(TraceBall(), *KNOWN[::2])], ids=repr
)
@pytest.mark.parametrize(
    "setting",
    [*product([False, True], repeat=2)],
    ids=["no-b", "no-b-weights", "b", "b-weights"],
)
def test_any_array_namespace(structure, setting):
    n, (intercept, weighted) = 8, setting
    K, Y = targets_for(Hinge(), n, M)
    weights = weights_for(Hinge(), n, M) if weighted else None
    options = {"loss": Hinge(), "intercept": intercept, "weights": weights}
    here = solve(K, Y, structure, 0.3, **options)
    there = solve(K, Y, structure, 0.3, xp=strict, **options)
    assert there.dual_coef.__array_namespace__() is strict
    assert there.solution.dual_point.__array_namespace__() is strict
    assert there.solution.certificate.status == "optimal"
    assert_allclose(
        there.solution.certificate.primal,
        here.solution.certificate.primal,
        rtol=2e-6,
    )


@pytest.mark.parametrize("structure", [Mean(2.0), Frobenius()], ids=repr)
def test_twice_the_same_is_the_same_to_the_last_bit(structure):
    K, Y = targets_for(Hinge(), N, M)
    one, two = (
        solve(K, Y, structure, 0.1, loss=Hinge(), intercept=True) for _ in range(2)
    )
    assert_array_equal(one.dual_coef, two.dual_coef)
    assert_array_equal(one.intercept, two.intercept)


@pytest.mark.parametrize("structure", [Mean(2.0), Frobenius()], ids=repr)
@intercepts
def test_a_start_does_not_change_the_optimum(structure, intercept):
    K, Y = targets_for(Hinge(), N, M)
    options = {"loss": Hinge(), "intercept": intercept}
    near = solve(K, Y, structure, 0.1, **options).solution
    cold = solve(K, Y, structure, 0.05, **options).solution
    warm = solve(K, Y, structure, 0.05, start=near.start, **options).solution
    assert warm.certificate.status == "optimal"
    assert_allclose(warm.certificate.primal, cold.certificate.primal, rtol=1e-6)


@intercepts
def test_dual_variables_are_feasible_exactly(intercept):
    K, Y = targets_for(Hinge(), 60, M)
    for structure in (*KNOWN, Frobenius(), LowRank()):
        found = solve(K, Y, structure, 0.1, loss=Hinge(), intercept=intercept)
        q = Y * found.solution.dual_point
        assert q.min() >= 0
        assert q.max() <= 1
        if intercept:
            assert_allclose(q.sum(), (Y * Y * q).sum())
            sums = found.solution.dual_point.sum(axis=0)
            assert_allclose(sums, 0, atol=1e-12 * q.sum())


@pytest.mark.parametrize("make", [lambda A: Dense(A @ A.T), Features], ids=["K", "A"])
def test_a_block_of_an_operator(make):
    A = np.random.default_rng(0).normal(size=(9, 3))
    rows = np.array([4, 0, 4, 7])
    assert_allclose(make(A).block(rows), (A @ A.T)[np.ix_(rows, rows)], atol=1e-14)


@pytest.mark.parametrize("alpha", [1e-4, *later(1e-5)])
def test_a_bounded_rank_at_a_tiny_alpha_ends_below_the_loss_of_no_kernel(alpha):
    # where C'KC is 1e11 no damping up to 1e8 made a step lower; and of two models with
    # gaps of all but one, that with an objective of 1e10 was taken
    X, y = (part[:150] for part in load_digits(return_X_y=True))
    model = OutputKernelClassifier(
        "linear", LowRank(2), alpha, loss="hinge", fit_intercept=False
    )
    certificate = model.fit(X, y).certificate_
    assert certificate.status == "rank_limited"
    assert certificate.primal < 150 * 10
