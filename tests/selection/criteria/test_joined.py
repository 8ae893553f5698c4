"""Targets of related outputs, some of them missing, and the rows of tasks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.coding.tasks import Tasks
from okl.losses import Logistic, Squared
from okl.operators import Dense
from okl.problems import Observed
from okl.selection.criteria import (
    FoldsError,
    FoldsLikelihood,
    LeaveOneOutError,
    LeaveOneOutLikelihood,
    RestrictedLikelihood,
)
from okl.structures import Fixed, Identity, Mean
from tests.samples import draw, psd
from tests.selection.criteria.differences import (
    OBSERVED,
    M,
    N,
    assert_derivatives,
    folds_of,
    value,
)

ALPHA, ALPHAS = 0.3, np.array([0.1, 0.5, 2.0])
# the last task has one row
CODES = np.append(np.arange(N - 1) % 2, 2)
TASKS = Tasks(CODES, M)
WEIGHTS = np.linspace(0.5, 3.0, N)[:, None]
STRUCTURES = [Mean(2.0), Fixed(psd(M, 4))]


def _folds_error(observed, *, fit_intercept):
    return FoldsError(observed, folds_of(N), fit_intercept=fit_intercept)


OF_MATRICES = pytest.mark.parametrize(
    "make", [RestrictedLikelihood, _folds_error], ids=["reml", "folds"]
)
OF_TASKS = pytest.mark.parametrize(
    "make",
    [RestrictedLikelihood, LeaveOneOutError, LeaveOneOutLikelihood, _folds_error],
    ids=["reml", "loo-error", "loo-likelihood", "folds"],
)
with_or_without = pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
each = pytest.mark.parametrize("structure", STRUCTURES, ids=["mean", "fixed"])
alphas = pytest.mark.parametrize("alpha", [ALPHA, ALPHAS], ids=["alpha", "alphas"])


def sample():
    _, Y, K = draw(N, M)
    return (Y - Y.mean(axis=0)) / Y.std(axis=0), K


def of_tasks(make, weights=None, *, intercept):
    Y, K = sample()
    observed = Observed(Y[:, :1], Squared(), weights, TASKS)
    return make(observed, fit_intercept=intercept), K


@OF_MATRICES
@with_or_without
@each
@alphas
def test_complete_targets_are_as_if_they_were_decoupled(
    make, intercept, structure, alpha
):
    Y, K = sample()
    apart = make(Observed(Y, Squared()), fit_intercept=intercept)
    joined = make(Observed(Y, Squared(), np.ones((N, M))), fit_intercept=intercept)
    one = apart.evaluate(Dense(K.copy()), alpha, structure)
    other = joined.evaluate(Dense(K.copy()), alpha, structure)
    assert_allclose(one.value, other.value, rtol=1e-9)
    assert_allclose(one.term.left, other.term.left, atol=1e-9)
    assert_allclose(one.log_alpha, other.log_alpha, atol=1e-9)
    for name, slope in one.term.of_structure.items():
        assert_allclose(other.term.of_structure[name], slope, atol=1e-9)


@OF_MATRICES
@with_or_without
@each
@alphas
def test_derivatives_with_missing_targets(make, intercept, structure, alpha):
    Y, K = sample()
    criterion = make(Observed(Y, Squared(), OBSERVED), fit_intercept=intercept)
    assert_derivatives(criterion, K, alpha, structure)


@OF_TASKS
@pytest.mark.parametrize("structure", [Identity(), *STRUCTURES], ids=str)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weights"])
@alphas
def test_derivatives_of_tasks(make, structure, weights, alpha):
    criterion, K = of_tasks(make, weights, intercept=False)
    assert_derivatives(criterion, K, alpha, structure)


@OF_TASKS
@each
@alphas
def test_derivatives_of_tasks_with_intercepts(make, structure, alpha):
    criterion, K = of_tasks(make, WEIGHTS, intercept=True)
    assert_derivatives(criterion, K, alpha, structure)


def joint(K, rows, outputs, L, alpha):
    """Return A of some targets without weights, and the indicators of outputs."""
    among = np.ix_(rows, rows), np.ix_(outputs, outputs)
    A = K[among[0]] * L[among[1]] / alpha + np.eye(len(rows))
    return A, (outputs[:, None] == np.unique(outputs)) * 1.0


@with_or_without
@each
def test_it_is_the_restricted_likelihood(intercept, structure):
    Y, K = sample()
    rows, outputs = np.nonzero(OBSERVED)
    y, L = Y[rows, outputs], structure.matrix(M)
    A, H = joint(K, rows, outputs, L, ALPHA)
    inverse, freedom = np.linalg.inv(A), len(y)
    expected = np.linalg.slogdet(A)[1]
    if intercept:
        inside = H.T @ inverse @ H
        inverse = inverse - inverse @ H @ np.linalg.solve(inside, H.T @ inverse)
        expected += np.linalg.slogdet(inside)[1]
        freedom -= M
    expected += freedom * np.log(y @ inverse @ y / freedom)
    found = RestrictedLikelihood(
        Observed(Y, Squared(), OBSERVED), fit_intercept=intercept
    )
    assert_allclose(value(found, K, ALPHA, structure), expected / 2, rtol=1e-9)


@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_alphas_of_outputs_do_not_change_the_unit_of_the_density(intercept):
    # y has the covariance K L + diag(alpha), in its own units, whatever alpha is
    Y, K = sample()
    rows, outputs = np.nonzero(OBSERVED)
    y, L = Y[rows, outputs], psd(M, 4)
    observed = Observed(Y, Squared(), OBSERVED)
    criterion = RestrictedLikelihood(observed, fit_intercept=intercept)

    def density(alpha):
        A = joint(K, rows, outputs, L, 1.0)[0] - np.eye(len(y))
        A += np.diag(np.broadcast_to(alpha, M)[outputs])
        H = (outputs[:, None] == np.arange(M)) * 1.0
        inverse, found = np.linalg.inv(A), np.linalg.slogdet(A)[1]
        if intercept:
            inside = H.T @ inverse @ H
            inverse = inverse - inverse @ H @ np.linalg.solve(inside, H.T @ inverse)
            found += np.linalg.slogdet(inside)[1]
        freedom = len(y) - M * intercept
        return (freedom * np.log(y @ inverse @ y) + found) / 2

    values = [value(criterion, K, a, Fixed(L)) for a in (ALPHA, ALPHAS)]
    expected = density(ALPHAS) - density(ALPHA)
    assert_allclose(values[1] - values[0], expected, rtol=1e-8)


@each
def test_rows_of_tasks_are_left_out(structure):
    # each is predicted by a fit to all others, with the best intercepts
    criterion, K = of_tasks(LeaveOneOutError, intercept=True)
    y, L, squares = sample()[0][:, 0], structure.matrix(M), []
    for row in range(N - 1):  # the last one has an intercept of its own
        rest = np.delete(np.arange(N - 1), row)
        A, H = joint(K, rest, CODES[rest], L, ALPHA)
        weighted = np.linalg.solve(A, np.column_stack([H, y[rest]]))
        b = np.linalg.solve(H.T @ weighted[:, :-1], H.T @ weighted[:, -1])
        dual = weighted[:, -1] - weighted[:, :-1] @ b
        among = K[row, rest] * L[CODES[row], CODES[rest]] / ALPHA
        squares.append((y[row] - among @ dual - b[CODES[row]]) ** 2)
    expected = (N - 1) / 2 * np.log(np.mean(squares))
    assert_allclose(value(criterion, K, ALPHA, structure), expected, rtol=1e-9)


@OF_TASKS
def test_a_task_of_one_row_says_nothing_if_its_intercept_is_free(make):
    criterion, K = of_tasks(make, intercept=True)
    found = criterion.evaluate(Dense(K.copy()), ALPHA, Mean(2.0))
    assert np.all(found.term.left[-1] == 0)
    criterion, K = of_tasks(make, intercept=False)
    found = criterion.evaluate(Dense(K.copy()), ALPHA, Mean(2.0))
    assert np.any(found.term.left[-1] != 0)


@OF_TASKS
@with_or_without
def test_the_order_of_rows_and_tasks_does_not_matter(make, intercept):
    if make is _folds_error:
        pytest.skip("folds are by the numbers of rows")
    criterion, K = of_tasks(make, intercept=intercept)
    order = np.random.default_rng(0).permutation(N)
    Y = sample()[0][order]
    other = Observed(Y[:, :1], Squared(), tasks=Tasks(2 - CODES[order], M))
    other = make(other, fit_intercept=intercept)
    expected = value(criterion, K, ALPHA, Mean(2.0))
    found = value(other, K[np.ix_(order, order)], ALPHA, Mean(2.0))
    assert_allclose(found, expected, rtol=1e-9)


def test_rows_of_tasks_are_a_matrix_with_missing_targets():
    Y, K = sample()
    known = CODES[:, None] == np.arange(M)
    wide = Observed(np.where(known, Y[:, :1], 0.0), Squared(), known * 1.0)
    criterion, _ = of_tasks(RestrictedLikelihood, intercept=False)
    expected = value(criterion, K, ALPHA, Mean(2.0))
    found = RestrictedLikelihood(wide, fit_intercept=False)
    assert_allclose(value(found, K, ALPHA, Mean(2.0)), expected, rtol=1e-12)


def test_what_tasks_do_not_have():
    Y, _ = sample()
    long = Observed(Y[:, :1], Squared(), tasks=TASKS)
    with pytest.raises(ValueError, match="does not support data in long form"):
        FoldsLikelihood(long, folds_of(N), fit_intercept=True)
    labels = Observed((Y[:, :1] > 0) * 1.0, Logistic(), tasks=TASKS)
    with pytest.raises(ValueError, match="needs the squared loss, got Logistic"):
        RestrictedLikelihood(labels, fit_intercept=True)
    halves = [(np.arange(0, N, 2), np.arange(1, N, 2))]
    with pytest.raises(ValueError, match=r"Fold . has no training row .* output 1"):
        FoldsError(long, halves, fit_intercept=True)
    each_its_own = Observed(Y[:, :1], Squared(), tasks=Tasks(np.arange(N), N))
    with pytest.raises(ValueError, match="Every task has one row"):
        RestrictedLikelihood(each_its_own, fit_intercept=True)
    with pytest.raises(ValueError, match="at least 5 rows"):
        RestrictedLikelihood(long.restrict(np.arange(4)), fit_intercept=False)
