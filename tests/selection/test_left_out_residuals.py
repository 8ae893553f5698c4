"""Rows left out of outputs that were observed in rows of their own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from okl.coding.tasks import Tasks
from okl.kernels import Gaussian, KernelTerms, Linear, PerOutput
from okl.losses import Huber, Squared
from okl.operators import Dense, operator_of
from okl.problems import Observed
from okl.selection import left_out_residuals as module
from okl.selection.left_out_residuals import LeftOutResiduals, can_leave_out

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


def asked(Y, weights, K, *, loss=None, fit_intercept=True):
    observed = Observed(Y, loss or Squared(), weights)
    return observed.inputs(Dense(K), fit_intercept=fit_intercept), observed


def left_out(K, Y, weights=None, *, fit_intercept=True):
    given = asked(Y, weights, K, fit_intercept=fit_intercept)
    assert can_leave_out(*given, np.inf)
    return LeftOutResiduals.of(*given, GRID)


def refitted(K, y, alpha, row, *, fit_intercept):
    """Return the residual of a row that a fit of all others has not seen."""
    others = np.delete(np.arange(len(y)), row)
    size = len(others)
    system = np.zeros((size + 1, size + 1))
    noise = np.broadcast_to(alpha, len(y))[others]
    system[:size, :size] = K[np.ix_(others, others)] + np.diag(noise)
    system[size, :size] = system[:size, size] = float(fit_intercept)
    system[size, size] = 1.0 - fit_intercept
    solved = np.linalg.solve(system, np.append(y[others], 0.0))
    return y[row] - K[row, others] @ solved[:size] - solved[size] * fit_intercept


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_each_output_is_left_out_of_its_own_rows(fit_intercept, weighted):
    K, Y, there = table()
    of_rows = np.linspace(0.5, 2.0, N)[:, None] if weighted else np.ones((N, 1))
    weights = there * of_rows
    found = left_out(K, Y, weights, fit_intercept=fit_intercept)
    assert_array_equal(found.weights, weights)
    for number in (1, 3):
        expected = np.zeros((N, M))
        for j in range(M):
            rows = np.flatnonzero(there[:, j])
            own = K[np.ix_(rows, rows)], Y[rows, j], GRID[number] / of_rows[rows, 0]
            expected[rows, j] = [
                refitted(*own, k, fit_intercept=fit_intercept) for k in range(len(rows))
            ]
        assert_allclose(found.at(number), expected, atol=1e-9)


@pytest.mark.parametrize("holes", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_are_those_of_the_residuals(holes, weighted):
    K, Y, there = table(holes=holes)
    weights = np.linspace(1.0, 2.0, N)[:, None] if weighted else np.ones((N, 1))
    if holes:
        weights = weights * there
    found = left_out(K, Y, weights if holes or weighted else None)
    assert_allclose(found.weights, weights * there)
    each = np.array([found.at(number) for number in range(len(GRID))])
    assert_allclose(found.losses, np.sum(weights * each**2, axis=1), rtol=1e-9)
    own = np.argmin(found.losses, axis=0)
    assert_allclose(found.best, each[own, :, np.arange(M)].T, rtol=1e-9)


def test_each_set_of_rows_is_decomposed_once(monkeypatch):
    asked, plain = [], module.leave_one_out

    def counted(inputs, formulation, alphas):
        asked.append(formulation.problem.targets.shape)
        return plain(inputs, formulation, alphas)

    monkeypatch.setattr(module, "leave_one_out", counted)
    K, Y, there = table()
    left_out(K, Y, there).at(0)
    assert sorted(asked) == [(2, 1), (9, 2), (11, 1)]


def test_an_output_that_was_never_observed_has_no_loss():
    K, Y, there = table()
    there[:, 1] = 0.0
    found = left_out(K, Y * there, there)
    assert np.all(found.losses[:, 1] == 0)
    assert np.all(found.losses[:, 2] > 0)
    assert np.all(found.at(0)[:, 1] == 0)


@pytest.mark.parametrize(
    "case",
    ["", "weights", "huber", "memory", "blocks", "work", "tasks", "kernels", "terms"],
)
def test_where_rows_can_be_left_out(case, monkeypatch):
    _, Y, there = table()
    X = np.random.default_rng(0).normal(size=(N, 2))
    loss, weights, tasks, budget = Squared(), there, None, np.inf
    kernel, room = Gaussian(0.5), {}
    if case == "weights":
        weights = there * np.linspace(1.0, 2.0, M)
    elif case == "huber":
        loss = Huber()
    elif case == "memory":
        budget = 100.0
    elif case == "blocks":
        room = {"budget": 1000.0}  # K takes 1152
    elif case == "work":
        monkeypatch.setattr(module, "_MOST_WORK", 100.0)
    elif case == "tasks":
        Y, weights, tasks = Y[:, :1], there[:, :1], Tasks(np.arange(N) % 2, 2)
    elif case == "kernels":
        kernel = PerOutput([Gaussian(0.5), Gaussian(0.1), Linear(), Linear()])
    elif case == "terms":
        kernel = KernelTerms([Gaussian(0.5), Linear()])
    observed = Observed(Y, loss, weights, tasks)
    inputs = observed.inputs(operator_of(kernel, X, **room), fit_intercept=True)
    assert can_leave_out(inputs, observed, budget) == (case == "")
