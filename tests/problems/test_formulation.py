"""What is removed before a solver sees the data, and put back afterwards."""

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl import OutputKernelRegressor
from okl.certificates import GapScale
from okl.coding.tasks import Tasks
from okl.losses import Huber, Squared
from okl.operators import Dense
from okl.problems import Inputs, Problem, Rotated, TargetMatrix, formulate
from okl.problems.reduction import reduce_outputs
from okl.solvers import Request
from okl.structures import Cluster, Fixed, Frobenius, Identity, LowRank, Sparse
from tests.instances import STRUCTURES
from tests.samples import centered, draw, psd, solve


def targets_of_rank(n, m, rank, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, m))


SHAPES = [(8, 3), (3, 8), (5, 5), (1, 4), (4, 1), (1, 1)]


@pytest.mark.parametrize(("n", "m"), SHAPES)
@pytest.mark.parametrize("rank", [1, 2, 99])
@pytest.mark.parametrize("xp", [np, strict], ids=["numpy", "strict"])
def test_reduction_keeps_everything_in_as_few_columns_as_the_rank(n, m, rank, xp):
    rank = min(n, m, rank)
    Y = targets_of_rank(n, m, rank)
    reduced, Q = reduce_outputs(xp.asarray(Y))
    reduced = np.asarray(reduced)
    assert reduced.shape == (n, rank)
    if Q is None:
        assert rank == m
        Q = np.eye(m)
    Q = np.asarray(Q)
    assert Q.shape == (m, rank)
    assert_allclose(Q.T @ Q, np.eye(rank), atol=1e-13)
    assert_allclose(reduced @ Q.T, Y, atol=1e-13)
    assert_allclose(reduced, Y @ Q, atol=1e-13)


@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_no_targets_at_all_are_one_column_of_zeros(n, m):
    reduced, Q = reduce_outputs(np.zeros((n, m)))
    assert reduced.shape == (n, 1)
    assert_allclose(reduced, 0)
    Q = np.eye(m) if Q is None else Q
    assert_allclose(Q.T @ Q, 1)


@pytest.mark.parametrize("scale", [1e-100, 1e-12, 1e12, 1e100])
@pytest.mark.parametrize(("n", "m"), [(8, 3), (3, 8)])
def test_the_rank_does_not_depend_on_the_unit(scale, n, m):
    reduced, _ = reduce_outputs(scale * targets_of_rank(n, m, 2))
    assert reduced.shape == (n, 2)


def test_centred_class_indicators_lose_one_output():
    labels = np.arange(12) % 4
    Y = np.where(labels[:, None] == np.arange(4), 1.0, -1.0)
    assert reduce_outputs(Y - Y.mean(axis=0))[0].shape == (12, 3)
    assert reduce_outputs(Y)[0].shape == (12, 4)


@pytest.mark.parametrize("structure", [Frobenius(), LowRank()])
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize(("n", "m", "rank"), [(10, 5, 2), (6, 9, 6), (5, 30, 3)])
def test_the_reduced_problem_has_the_solution_of_the_whole(
    structure, intercept, n, m, rank
):
    K, alpha = draw(n, 1).K, 0.2
    Y = targets_of_rank(n, m, rank) + 1.0
    reduced = solve(K, Y, structure, alpha, intercept=intercept, tol=1e-11)
    r = reduced.formulation.problem.targets.shape[1]
    assert r <= min(n - intercept, rank + (not intercept))
    Kc, Yc = centered(K, Y) if intercept else (K, Y)
    whole = Problem(
        Squared(),
        Yc,
        TargetMatrix(Dense(Kc.copy())),
        structure,
        intercept,
        GapScale(1e-16),
    )
    from okl.solvers import choose_solver

    solver = choose_solver("auto", whole)
    direct = solver.solve(
        solver.prepare(whole), Request(alpha, tol=1e-11, max_iter=500)
    )
    assert_allclose(
        reduced.solution.certificate.primal, direct.certificate.primal, rtol=1e-9
    )
    L = direct.output_kernel.matrix()
    assert_allclose(reduced.output_kernel.matrix(), L, atol=1e-4 * np.abs(L).max())
    F = Kc @ direct.dual_coef
    assert_allclose(Kc @ reduced.dual_coef, F, atol=1e-4 * np.abs(F).max())


@pytest.mark.parametrize("structure", ["frobenius", "low_rank"])
def test_very_many_outputs_equal_the_small_problem(structure):
    n, m = 20, 2000
    K = draw(n, 1).K
    Y = targets_of_rank(n, m, n)
    model = OutputKernelRegressor(
        "precomputed", structure, 5.0, fit_intercept=False, tol=1e-10, normalize_y=False
    ).fit(K, Y)
    # the same problem in n outputs: YY' = ZZ'
    values, vectors = np.linalg.eigh(Y @ Y.T)
    Z = vectors * np.sqrt(values)
    small = OutputKernelRegressor(
        "precomputed", structure, 5.0, fit_intercept=False, tol=1e-10, normalize_y=False
    ).fit(K, Z)
    assert_allclose(model.certificate_.primal, small.certificate_.primal, rtol=1e-9)
    F, G = model.predict(K), small.predict(K)
    assert_allclose(F @ F.T, G @ G.T, atol=1e-4 * np.linalg.norm(G @ G.T))
    assert_allclose(
        np.linalg.svd(model.output_kernel_factor_)[1] ** 2,
        np.linalg.eigvalsh(small.output_kernel_)[::-1][: model.rank_],
        rtol=1e-3,
    )


def test_many_outputs_never_make_a_square_array():
    import tracemalloc

    n, m = 6, 3000
    K, Y = draw(n, 1).K, targets_of_rank(n, m, n)
    for structure in ("identity", "frobenius", "low_rank"):
        model = OutputKernelRegressor("precomputed", structure)
        tracemalloc.start()
        try:
            model.fit(K, Y).predict(K)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 8 * m * m / 10, structure


@pytest.mark.parametrize(
    ("structure", "m", "reduces"),
    [
        (Frobenius(), 4, True),
        (LowRank(), 30, True),
        (Identity(), 4, False),
        (Fixed(psd(30)), 30, False),
    ],
)
def test_only_what_may_be_reduced_is_reduced(structure, m, reduces):
    K, Y = draw(10, 1).K, targets_of_rank(10, m, 2)
    formulation = formulate(
        Inputs.of(Dense(K), fit_intercept=False), Y, Squared(), structure
    )
    assert (formulation.basis is not None) == reduces
    assert formulation.problem.targets.shape[1] == (2 if reduces else m)


@pytest.mark.parametrize("case", STRUCTURES, ids=lambda case: case.label)
def test_intercept_is_centring(case):
    _, Y, K = draw(12, 4)
    free = solve(K, Y, case.make(4), 0.3, intercept=True, tol=1e-9)
    Kc, Yc = centered(K, Y)
    without = solve(Kc, Yc, case.make(4), 0.3, tol=1e-9)
    assert_allclose(
        free.solution.certificate.primal, without.solution.certificate.primal, rtol=1e-8
    )
    F = K @ free.dual_coef + free.intercept
    scale = np.abs(Yc).max()
    assert_allclose(F - F.mean(axis=0), Kc @ without.dual_coef, atol=1e-4 * scale)
    # stationary in b: residuals sum to zero
    assert_allclose((Y - F).sum(axis=0), 0, atol=1e-11 * np.abs(Y).max())
    assert_allclose(free.dual_coef.sum(axis=0), 0, atol=1e-10)


@pytest.mark.parametrize("rank", [3, 12])
@pytest.mark.parametrize("case", STRUCTURES, ids=lambda case: case.label)
@pytest.mark.parametrize("xp", [np, strict], ids=["numpy", "strict"])
@pytest.mark.each_value
def test_rotated_bounds_are_those_of_the_problem(case, rank, xp):
    structure = case.make(4)
    _, Y, _ = draw(12, 4)
    problem = Problem(
        Squared(),
        xp.asarray(Y),
        TargetMatrix(Dense(xp.asarray(psd(12, rank=rank)))),
        structure,
        False,
        GapScale(1e-16),
    )
    rotated = Rotated.of(problem)
    known = structure.known(problem.targets)
    from okl.output_kernels import SpectralKernel

    kernel = known or SpectralKernel.from_matrix(xp.asarray(psd(4)))
    k = rotated.eigenvalues.shape[0]  # rows outside the range of K may follow
    start = np.random.default_rng(0).normal(size=(k, 4))
    start[rank:] = np.asarray(rotated.targets)[rank:] / 0.5
    start = xp.asarray(start)
    coefficients = kernel.multiply(start)
    primal, dual = rotated.bounds(coefficients, kernel, 0.5)
    whole = problem.certificate(rotated.lift(coefficients), kernel, 0.5, tol=1e-6)
    assert primal == pytest.approx(whole.primal, rel=1e-12)
    assert dual == pytest.approx(whole.dual, rel=1e-9)
    F = np.asarray(problem.operator @ rotated.lift(coefficients))
    U = np.asarray(problem.operator.spectrum.vectors)
    assert U.shape == (12, rank)
    scaled = np.asarray(rotated.eigenvalues * coefficients)
    assert_allclose(F, U @ scaled[:rank], atol=1e-12)
    assert_allclose(scaled[rank:], 0.0)


@pytest.mark.parametrize(
    ("loss", "structure", "message"),
    [
        (Squared(), Sparse(mu=2.0), r"mu must be a number from 0.*got 2\.0"),
        (Squared(), Cluster(5), "at most the number of outputs, 3 here .*got 5"),
        (Huber(-1.0), Frobenius(), "delta must be a finite number > 0, got -1"),
    ],
)
def test_parameters_out_of_range_are_no_problem(loss, structure, message):
    K, Y, _ = draw(12, 3)
    tasks = Tasks(np.arange(12) % 3, 3)
    for targets, given in ((Y, None), (Y[:, :1], tasks)):
        inputs = Inputs.of(Dense(K @ K.T), fit_intercept=False)
        with pytest.raises(ValueError, match=message):
            formulate(inputs, targets, loss, structure, tasks=given)
