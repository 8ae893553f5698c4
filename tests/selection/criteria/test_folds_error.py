"""The error of folds without refits, against refits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl import OutputKernelRegressor
from okl.losses import Squared
from okl.problems import Observed
from okl.selection.criteria import FoldsError, LeaveOneOutError
from okl.structures import Fixed, Identity, Mean
from tests.samples import draw, psd
from tests.selection.criteria.differences import (
    M,
    N,
    assert_derivatives,
    folds_of,
    value,
)

ALPHA = 0.3


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.parametrize(
    "structure",
    [Identity(), Mean(), Fixed(psd(M, 3, 1))],
    ids=["id", "mean", "singular"],
)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
def test_the_error_is_that_of_refits(structure, intercept, weighted):
    _, Y, K = draw(N, M)
    weights = np.linspace(0.2, 3.0, N) if weighted else np.ones(N)
    # the second part holds out some rows again, and some are never held out
    folds = folds_of(N)[:2] + folds_of(N, 5)[:2]
    observed = Observed(Y, Squared(), weights[:, None] if weighted else None)
    criterion = FoldsError(observed, folds, fit_intercept=intercept)
    squares, total = np.zeros(M), 0.0
    for train, test in folds:
        model = OutputKernelRegressor(
            "precomputed",
            structure,
            ALPHA,
            fit_intercept=intercept,
            normalize_y=False,
            tol=1e-12,
        ).fit(K[np.ix_(train, train)], Y[train], sample_weight=weights[train])
        residuals = Y[test] - model.predict(K[np.ix_(test, train)])
        squares += weights[test] @ residuals**2
        total += weights[test].sum()
    expected = total / 2 * np.sum(np.log(squares / total))
    assert_allclose(value(criterion, K, ALPHA, structure), expected, rtol=1e-8)


def test_folds_of_one_row_leave_out_one_row():
    _, Y, K = draw(N, M)
    folds = [(np.delete(np.arange(N), i), np.array([i])) for i in range(N)]
    a = FoldsError(Observed(Y, Squared()), folds, fit_intercept=True)
    b = LeaveOneOutError(Observed(Y, Squared()), fit_intercept=True)
    for structure in (Identity(), Mean()):
        assert_allclose(
            value(a, K, ALPHA, structure), value(b, K, ALPHA, structure), rtol=1e-10
        )


def test_folds_that_cannot_do_without_refits():
    _, Y, _ = draw(N, M)
    observed = Observed(Y, Squared())
    rows = np.arange(N)
    with pytest.raises(ValueError, match="Fold 1 trains on 5 of 14 rows and tests 4"):
        FoldsError(
            observed, [(rows[4:], rows[:4]), (rows[9:], rows[:4])], fit_intercept=True
        )
    with pytest.raises(ValueError, match="Fold 0 trains on 14 of 14 rows and tests 4"):
        FoldsError(observed, [(rows, rows[:4])], fit_intercept=True)
    weights = np.ones((N, M))
    weights[:8, 1] = 0.0
    with pytest.raises(ValueError, match=r"Fold 0 has no training row .* output 1"):
        FoldsError(
            Observed(Y, Squared(), weights),
            [(rows[:8], rows[8:]), (rows[8:], rows[:8])],
            fit_intercept=True,
        )


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_fold_without_held_out_targets_of_an_output(fit_intercept):
    _, Y, K = draw(N, M)
    folds = folds_of(N)
    weights = np.ones_like(Y)
    weights[folds[0][1], 0] = 0.0
    some = FoldsError(
        Observed(Y, Squared(), weights), folds, fit_intercept=fit_intercept
    )
    assert_derivatives(some, K, 0.3, Identity())
