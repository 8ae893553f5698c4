"""Grids of alphas, and scores of one fold."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from okl.losses import Logistic, Squared
from okl.operators import Dense, Features, OperatorTerms, counted_products
from okl.problems import Inputs, Observed
from okl.selection import path
from okl.selection.held_out import end_of_path, score_fold
from okl.selection.path import alpha_grid, largest_alpha, largest_of_paths
from okl.solvers import solve_path
from okl.structures import Cluster, Fixed, Frobenius, Identity, LowRank, TraceBall
from tests.samples import alpha_max, draw, gaussian, psd, solve


def problem(structure, K, Y, intercept=False):
    return solve(K, Y, structure, 1.0, intercept=intercept).formulation.problem


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize(("n", "m"), [(12, 4), (4, 12)])
def test_largest_alpha(intercept, n, m):
    _, Y, K = draw(n, m)
    for structure in (LowRank(), Frobenius()):
        found = largest_alpha(problem(structure, K, Y, intercept))
        assert found == pytest.approx(alpha_max(K, Y, intercept), rel=1e-12)


@pytest.mark.parametrize(
    ("structure", "largest"),
    [
        (Identity(), 1.0),
        (Fixed(psd(4, 3)), np.linalg.eigvalsh(psd(4, 3))[-1]),
        (TraceBall(), 1.0),
        (TraceBall(0.1), 1.0),
        # between has room for r - 1 = 2 of the directions off the average
        (Cluster(3, 10.0, 0.5, 1.0), 2.0),
        (Cluster(1, 10.0, 1.0, 0.25), 4.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_largest_alpha_where_the_output_kernel_is_bounded(
    structure, largest, intercept
):
    _, Y, K = draw(12, 4)
    H = np.eye(12) - 1 / 12 if intercept else np.eye(12)
    top = np.linalg.eigvalsh(H @ K @ H)[-1]
    of = problem(structure, K, Y, intercept)
    vars(of.operator).pop("spectrum", None)
    for decomposes in (False, True):
        found = largest_alpha(of, decomposes=decomposes)
        assert found == pytest.approx(top * largest, rel=1e-10)
        assert ("spectrum" in vars(of.operator)) == (decomposes and of.exact)
    # from there on half of the centred targets, or more, is left
    (solution,) = solve_path(of, [top * largest], tol=1e-8, max_iter=300)
    left = of.targets - of.operator @ solution.dual_coef
    assert np.vdot(left, of.targets) >= np.vdot(of.targets, of.targets) / 2


def test_grid():
    _, Y, K = draw(12, 4)
    of = problem(LowRank(), K, Y)
    top = alpha_max(K, Y)
    assert_allclose(alpha_grid(of, 5, 1e-4), top * 10.0 ** -np.arange(5), rtol=1e-12)
    assert_allclose(alpha_grid(of, 1, 0.5), [top])
    assert_array_equal(alpha_grid(of, [1, 3, 2], 1e-5), [3, 2, 1])


@pytest.mark.parametrize("structure", [Identity(), LowRank(), Frobenius()], ids=repr)
def test_nothing_to_scale_by(structure):
    _, Y, K = draw(6, 2)
    for of in (problem(structure, 0 * K, Y), problem(structure, K, 0 * Y)):
        grid = alpha_grid(of, 3, 1e-2)
        assert np.all(np.isfinite(grid) & (grid > 0))
        assert np.all(np.diff(grid) < 0)


@pytest.mark.parametrize("structure", [LowRank(), Frobenius()], ids=repr)
def test_rounding_is_nothing_to_scale_by(structure):
    # what centring leaves of constant targets is 1e-15 of them, or 1e-31 with K
    for n in range(5, 30):
        of = problem(structure, draw(n, 3).K, np.full((n, 3), 3.3), intercept=True)
        assert alpha_grid(of, 3, 1e-2)[0] > 1e-8


@pytest.mark.parametrize("structure", [LowRank(), Frobenius()], ids=str)
def test_a_path_of_any_solver_is_certified(structure):
    _, Y, K = draw(14, 4)
    of = problem(structure, K, Y)
    alphas = alpha_grid(of, 8, 1e-4)
    solutions = solve_path(of, alphas, tol=1e-5, max_iter=400)
    assert [s.certificate.status for s in solutions] == ["optimal"] * 8


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize("centred_before", [False, True])
def test_scores_of_a_fold(intercept, centred_before):
    X, Y, _ = draw(16, 3)
    train, test = np.arange(3, 16), np.arange(3)
    structures = [Identity(), Frobenius()]
    grids = np.array([[2.0, 0.1], [3.0, 0.2]])
    seen = []

    def judge(predictions, rows):
        assert_array_equal(rows, test)
        seen.append(predictions)
        return -float(np.mean((predictions - Y[rows]) ** 2))

    results = []
    operators = [Dense(X @ X.T), Features(X)]
    if centred_before and intercept:
        operators = [Inputs.of(o, fit_intercept=True).operator for o in operators]
    for operator in operators:
        results.append(
            score_fold(
                operator,
                Observed(Y, Squared()),
                structures,
                grids,
                train,
                test,
                judge,
                fit_intercept=intercept,
                tol=1e-9,
                max_iter=100,
            )
        )
    assert results[0].largest_gap == 0.0
    assert_allclose(results[0].scores, results[1].scores, rtol=1e-5)
    K = X @ X.T
    block = K[np.ix_(train, train)]
    for row, structure in enumerate(structures):
        for column, alpha in enumerate(grids[row]):
            found = solve(
                block, Y[train], structure, alpha, intercept=intercept, tol=1e-9
            )
            predictions = K[np.ix_(test, train)] @ found.dual_coef
            if intercept:
                predictions = predictions + found.intercept
            assert_allclose(seen[2 * row + column], predictions, atol=1e-4)


def test_the_largest_gap_of_a_fold():
    X, Y, _ = draw(16, 3)
    found = score_fold(
        Dense(X @ X.T),
        Observed(Y, Squared()),
        [Frobenius()],
        np.array([[1e-2, 1e-3]]),
        np.arange(10),
        np.arange(10, 16),
        lambda predictions, rows: 0.0,
        fit_intercept=True,
        tol=1e-12,
        max_iter=1,
    )
    assert found.largest_gap > 1e-12


@pytest.mark.parametrize("decomposes", [False, True])
def test_eigenvalues_that_are_nearly_equal_are_not_told_apart(decomposes):
    # rows on a line: many eigenvalues are close to the largest
    X = np.arange(600.0)[:, None]
    K = gaussian(X, gamma=1.0)
    signs = np.where(np.random.default_rng(0).random((600, 2)) < 0.5, -1.0, 1.0)
    inputs = Inputs.of(Dense(K), fit_intercept=False)
    of = Observed(signs, Logistic()).formulate(inputs, Identity()).problem
    with counted_products() as count:
        found = largest_alpha(of, decomposes=decomposes)
    assert found == pytest.approx(np.linalg.eigvalsh(K)[-1], rel=0.01)
    assert count.total < 600


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_several_kernels_need_not_be_decomposed(intercept):
    X = np.random.default_rng(0).normal(size=(60, 3))
    terms = tuple(Dense(gaussian(X, gamma=gamma)) for gamma in (0.1, 1.0))
    signs = np.where(X[:, :2] > 0, 1.0, -1.0)
    inputs = Inputs.of(OperatorTerms(terms), fit_intercept=intercept)
    of = Observed(signs, Logistic()).formulate(inputs, Identity()).problem
    found = largest_alpha(of, decomposes=False)
    assert not any("spectrum" in vars(term) for term in of.operator.terms)
    assert found == pytest.approx(largest_alpha(of), rel=0.01)
    assert all("spectrum" in vars(term) for term in of.operator.terms)


def test_paths_that_cannot_end_early_need_no_largest_alpha(monkeypatch):
    of = problem(Identity(), draw(12, 4).K, draw(12, 4).Y)
    grids = np.array([[2.0, 0.1]])
    (found,) = largest_of_paths([of], [2.0, 0.1], grids)
    assert found == pytest.approx(largest_alpha(of))
    monkeypatch.setattr(
        path, "largest_alpha", lambda *args, **kwargs: pytest.fail("not needed")
    )
    for given in ([], [2.0, 0.1]), ([of], 2):
        assert_array_equal(largest_of_paths(*given, grids), [2.0])
    assert_array_equal(largest_of_paths([of], [2.0], grids[:, :1]), [2.0])


def test_no_path_ends_above_the_alpha_that_a_kernel_was_learned_with():
    grids = np.geomspace(1e4, 1e-4, 9)[None]
    usual = largest_of_paths([], 9, grids)
    assert_allclose(usual, 1e4)
    assert_allclose(largest_of_paths([], 9, grids, 0.1), usual)
    (largest,) = largest_of_paths([], 9, grids, 1e-6)
    # until the best is the alpha that was learned, 0.01, or below
    worse_first = [-1.0, -1.0, 0.0, *[-1.0] * 6]  # the best is 100
    assert end_of_path(worse_first, list(grids[0]), usual[0]) > 9
    assert end_of_path(worse_first, list(grids[0]), largest) == 0.0
    low = [*[-1.0] * 6, 0.0, *[-1.0] * 2]  # the best is 0.01
    assert end_of_path(low, list(grids[0]), largest) > 0.0009
