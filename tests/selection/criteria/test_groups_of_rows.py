"""Where no output joins two groups of rows, entries of K between them do nothing."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.kernels import Constant, Linear, Matern
from okl.losses import Squared
from okl.problems import Observed
from okl.selection.criteria import (
    FoldsError,
    LeaveOneOutError,
    LeaveOneOutLikelihood,
    RestrictedLikelihood,
)
from okl.selection.criteria.decoupled import unjoined
from okl.selection.matrices import matrix_and_pullback
from okl.structures import Identity
from tests.selection.criteria.differences import folds_of

N_TASKS, ROWS = 60, 9
N = N_TASKS * ROWS


def tasks_in_turn():
    """Observed targets of one task in each row, and the rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    weights = np.zeros((N, N_TASKS))
    weights[np.arange(N), np.arange(N) % N_TASKS] = rng.uniform(0.5, 2.0, N)
    targets = np.sin(X[:, :1]) + rng.normal(size=(N, N_TASKS)) / 3
    return X, Observed(np.where(weights > 0, targets, 0.0), Squared(), weights)


def _folds_error(observed, *, fit_intercept):
    return FoldsError(observed, folds_of(N), fit_intercept=fit_intercept)


CRITERIA = [RestrictedLikelihood, LeaveOneOutError, LeaveOneOutLikelihood, _folds_error]


@pytest.mark.parametrize("make", CRITERIA)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_kernel_is_judged_by_its_entries_inside(make, fit_intercept):
    X, observed = tasks_in_turn()
    criterion = make(observed, fit_intercept=fit_intercept)
    groups = criterion.groups_of_rows(Identity())
    assert 1 < len(groups) < N_TASKS
    assert_allclose(np.sort(np.concatenate(groups)), np.arange(N))
    kernel = Linear(scales=0.5) + Constant(2.0) * Matern(length_scale=np.ones(3))
    whole, of_whole = matrix_and_pullback(kernel, X)
    inside, of_inside = matrix_and_pullback(kernel, X, groups)
    between = inside.block(np.arange(N)) == 0
    assert between.mean() > 0.5
    assert_allclose(whole.block(groups[0]), inside.block(groups[0]), rtol=1e-12)

    one = criterion.evaluate(whole, 0.3, Identity())
    two = criterion.evaluate(inside, 0.3, Identity())
    assert_allclose(two.value, one.value, rtol=1e-10)
    assert_allclose(two.log_alpha, one.log_alpha, rtol=1e-7)
    assert np.all(one.term.weights()[between] == 0)
    (slopes,), (others,) = of_whole(one.terms), of_inside(two.terms)
    assert slopes.keys() == others.keys()
    for name, slope in slopes.items():
        assert_allclose(others[name], slope, rtol=1e-7, atol=1e-9)


def test_rows_that_outputs_join_are_one_group():
    _, observed = tasks_in_turn()
    seen = observed.weights > 0
    seen[:, 0] = seen.any(axis=1)  # an output of all rows
    assert unjoined(seen) is None
    criterion = RestrictedLikelihood(
        Observed(observed.targets, Squared()), fit_intercept=True
    )
    assert criterion.groups_of_rows(Identity()) is None


def test_a_chain_of_outputs_joins_its_rows():
    seen = np.zeros((900, 6), dtype=bool)
    for output in range(3):  # 0, 1 and 2 share rows, as do 3, 4 and 5
        seen[output * 100 : output * 100 + 200, output] = True
        seen[400 + output * 100 : 400 + output * 100 + 300, 3 + output] = True
    first, second = unjoined(seen)
    assert_allclose(first, np.arange(400))
    assert_allclose(second, np.arange(400, 900))


def test_rows_without_targets_are_in_a_group():
    seen = np.zeros((700, 2), dtype=bool)
    seen[:300, 0] = seen[400:, 1] = True
    assert_allclose(np.sort(np.concatenate(unjoined(seen))), np.arange(700))
