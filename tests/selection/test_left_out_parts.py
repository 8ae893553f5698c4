"""Rows left out of outputs that were observed in rows of their own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from okl.coding.tasks import Tasks
from okl.kernels import Gaussian, KernelTerms, Linear, PerOutput
from okl.losses import Huber, Squared
from okl.operators import Dense, operator_of
from okl.problems import Observed
from okl.selection.left_out_parts import left_out_parts

N, M = 12, 4
GRID = np.geomspace(10.0, 1e-3, 5)


def table(*, holes=True, seed=0):
    """Return K and targets, of which the first and the third have the same rows."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(N, 2)), rng.normal(size=(N, M))
    there = np.ones((N, M))
    if holes:
        there[3:6, [0, 2]] = 0.0
        there[2:, 1] = 0.0
        there[0, 3] = 0.0
    return Gaussian(0.5)(X), Y * there, there


def parts_of(K, Y, weights=None, *, loss=None, fit_intercept=True, budget=np.inf):
    observed = Observed(Y, loss or Squared(), weights)
    inputs = observed.inputs(Dense(K), fit_intercept=fit_intercept)
    return left_out_parts(inputs, observed, budget=budget)


def refitted(K, y, alpha, row, *, fit_intercept):
    """Return the residual of a row that a fit of all others has not seen."""
    others = np.delete(np.arange(len(y)), row)
    size = len(others)
    system = np.zeros((size + 1, size + 1))
    system[:size, :size] = K[np.ix_(others, others)] + alpha * np.eye(size)
    system[size, :size] = system[:size, size] = float(fit_intercept)
    system[size, size] = 1.0 - fit_intercept
    solved = np.linalg.solve(system, np.append(y[others], 0.0))
    return y[row] - K[row, others] @ solved[:size] - solved[size] * fit_intercept


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_each_output_is_left_out_of_its_own_rows(fit_intercept):
    K, Y, there = table()
    parts = parts_of(K, Y, there, fit_intercept=fit_intercept)
    assert sorted(map(len, (one.columns for one in parts.parts))) == [1, 1, 2]
    assert_array_equal(parts.weights, there)
    for alpha in (0.1, 2.0):
        expected = np.zeros((N, M))
        for j in range(M):
            rows = np.flatnonzero(there[:, j])
            own = K[np.ix_(rows, rows)], Y[rows, j], alpha
            expected[rows, j] = [
                refitted(*own, k, fit_intercept=fit_intercept) for k in range(len(rows))
            ]
        assert_allclose(parts.residuals(alpha), expected, atol=1e-9)


def test_losses_are_those_of_the_residuals():
    K, Y, there = table()
    parts = parts_of(K, Y, there)
    losses, best = parts.losses(GRID)
    each = np.array([parts.residuals(alpha) for alpha in GRID])
    assert_allclose(losses, np.sum(each**2, axis=1), rtol=1e-9)
    own = np.argmin(losses, axis=0)
    assert_allclose(best, each[own, :, np.arange(M)].T, rtol=1e-9)


def test_complete_targets_are_one_part_with_the_weights_of_rows():
    K, Y, _ = table(holes=False)
    weights = np.linspace(1.0, 2.0, N)[:, None]
    (part,) = parts_of(K, Y).parts
    assert_array_equal(part.columns, np.arange(M))
    weighted = parts_of(K, Y, weights)
    assert_allclose(weighted.weights, np.tile(weights, M))
    losses, _ = weighted.losses(GRID)
    expected = np.sum(weights * weighted.residuals(GRID[2]) ** 2, axis=0)
    assert_allclose(losses[2], expected, rtol=1e-9)


def test_an_output_that_was_never_observed_is_in_no_part():
    K, Y, there = table()
    there[:, 1] = 0.0
    parts = parts_of(K, Y * there, there)
    assert_array_equal(np.sort(np.hstack([p.columns for p in parts.parts])), [0, 2, 3])
    assert np.all(parts.losses(GRID)[0][:, 1] == 0)
    assert np.all(parts.residuals(1.0)[:, 1] == 0)


@pytest.mark.parametrize(
    "case", ["weights", "huber", "memory", "work", "tasks", "kernels", "terms"]
)
def test_elsewhere_there_are_none(case, monkeypatch):
    K, Y, there = table()
    X = np.random.default_rng(0).normal(size=(N, 2))
    loss, weights, tasks, budget = Squared(), there, None, np.inf
    kernel = Gaussian(0.5)
    if case == "weights":
        weights = 2.0 * there
    elif case == "huber":
        loss = Huber()
    elif case == "memory":
        budget = 100.0
    elif case == "work":
        monkeypatch.setattr("okl.selection.left_out_parts._MOST_WORK", 100.0)
    elif case == "tasks":
        Y, weights, tasks = Y[:, :1], there[:, :1], Tasks(np.arange(N) % 2, 2)
    elif case == "kernels":
        kernel = PerOutput([Gaussian(0.5), Gaussian(0.1), Linear(), Linear()])
    else:
        kernel = KernelTerms([Gaussian(0.5), Linear()])
    observed = Observed(Y, loss, weights, tasks)
    inputs = observed.inputs(operator_of(kernel, X), fit_intercept=True)
    assert left_out_parts(inputs, observed, budget=budget) is None
    assert parts_of(K, *table()[1:]) is not None or case == "work"
