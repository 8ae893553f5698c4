"""What the criteria without fits have in common."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl.losses import Huber, Squared
from okl.operators import Dense
from okl.problems import Observed
from okl.selection.criteria import (
    FoldsError,
    LeaveOneOutError,
    LeaveOneOutLikelihood,
    RestrictedLikelihood,
)
from okl.structures import Diagonal, Fixed, Frobenius, Graph, Identity, Mean
from tests.samples import draw, psd
from tests.selection.criteria.differences import (
    OBSERVED,
    ROW_WEIGHTS,
    M,
    N,
    assert_derivatives,
    folds_of,
    recording,
    value,
)


def _folds_error(observed, *, fit_intercept):
    folds = folds_of(len(observed.targets))
    return FoldsError(observed, folds, fit_intercept=fit_intercept)


CRITERIA = [RestrictedLikelihood, LeaveOneOutError, LeaveOneOutLikelihood, _folds_error]
NAMES = ["reml", "loo-error", "loo-likelihood", "folds"]
ALPHA = 0.3


def sample():
    _, Y, K = draw(N, M)
    return (Y - Y.mean(axis=0)) / Y.std(axis=0), K


def made(make, Y, weights=None, *, intercept=True):
    return make(Observed(Y, Squared(), weights), fit_intercept=intercept)


every = pytest.mark.parametrize("make", CRITERIA, ids=NAMES)
with_or_without = pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])


@every
@with_or_without
@pytest.mark.parametrize(
    "structure",
    [Identity(), Mean(2.0), Fixed(psd(M, 4)), Fixed(psd(M, 4, 1) + 0.1 * np.eye(M))],
    ids=["identity", "mean", "fixed", "nearly-equal"],
)
@pytest.mark.parametrize("weights", [None, ROW_WEIGHTS], ids=["", "weights"])
def test_derivatives_are_differences(make, intercept, structure, weights):
    Y, K = sample()
    criterion = made(make, Y, weights, intercept=intercept)
    assert_derivatives(criterion, K, ALPHA, structure)


@every
@with_or_without
@pytest.mark.parametrize("weights", [None, ROW_WEIGHTS], ids=["", "weights"])
def test_an_alpha_for_each_related_output(make, intercept, weights):
    Y, K = sample()
    criterion = made(make, Y, weights, intercept=intercept)
    structure = Fixed(psd(M, 4))
    assert_derivatives(criterion, K, np.array([0.1, 0.5, 2.0]), structure)
    equal = criterion.evaluate(Dense(K.copy()), np.full(M, ALPHA), structure)
    one = criterion.evaluate(Dense(K.copy()), ALPHA, structure)
    assert_allclose(equal.value, one.value, rtol=1e-12)
    assert_allclose(equal.log_alpha.sum(), one.log_alpha, rtol=1e-9)


@every
@with_or_without
def test_missing_targets_and_an_alpha_for_each_output(make, intercept):
    Y, K = sample()
    criterion = made(make, Y, OBSERVED, intercept=intercept)
    assert_derivatives(criterion, K, np.array([0.1, 0.5, 2.0]), Identity())


@every
def test_an_output_with_missing_targets_has_the_rows_that_it_has(make):
    # outputs are independent: the sum over outputs, each on its own rows
    Y, K = sample()
    whole = value(made(make, Y, OBSERVED), K, ALPHA, Identity())
    folds = folds_of(N)
    total = 0.0
    for j in range(M):
        rows = np.flatnonzero(OBSERVED[:, j])
        own = Observed(Y[rows, j : j + 1], Squared())
        if make is _folds_error:
            number = np.full(N, -1)
            number[rows] = np.arange(len(rows))
            some = [(number[a], number[b]) for a, b in folds]
            some = [(a[a >= 0], b[b >= 0]) for a, b in some]
            criterion = FoldsError(own, some, fit_intercept=True)
        else:
            criterion = make(own, fit_intercept=True)
        total += value(criterion, K[np.ix_(rows, rows)], ALPHA, Identity())
    assert_allclose(whole, total, rtol=1e-9)


@every
def test_a_row_of_weight_zero_is_not_there(make):
    Y, K = sample()
    weights = np.ones((N, 1))
    weights[4] = 0.0
    rest = np.delete(np.arange(N), 4)
    found = made(make, Y, weights).evaluate(Dense(K.copy()), ALPHA, Mean())
    if make is _folds_error:
        folds = [(a[a != 4], b[b != 4]) for a, b in folds_of(N)]
        folds = [(a - (a > 4), b - (b > 4)) for a, b in folds]
        some = FoldsError(Observed(Y[rest], Squared()), folds, fit_intercept=True)
    else:
        some = made(make, Y[rest])
    expected = some.evaluate(Dense(K[np.ix_(rest, rest)]), ALPHA, Mean())
    assert_allclose(found.value, expected.value, rtol=1e-9)
    assert_allclose(found.term.left[np.ix_(rest, rest)], expected.term.left, atol=1e-9)
    assert np.all(found.term.left[4] == 0)


@every
def test_equal_eigenvalues_of_a_coupled_structure_are_the_identity(make):
    # what couples no outputs has a variance for each: compare where all are one
    Y, K = sample()
    Y = np.tile(Y[:, :1], (1, M)) * [1.0, -1.0, 1.0]
    rotation = np.linalg.qr(psd(M, 1) + np.eye(M))[0]
    almost = Fixed(rotation @ np.diag([1.0, 1.0 + 1e-14, 1.0]) @ rotation.T)
    criterion = made(make, Y)
    change = psd(N, 5)
    a = criterion.evaluate(Dense(K.copy()), ALPHA, Identity())
    b = criterion.evaluate(Dense(K.copy()), ALPHA, almost)
    assert_allclose(a.term.along(change), b.term.along(change), rtol=1e-7)
    assert_allclose(a.log_alpha, b.log_alpha, rtol=1e-7)


@every
@pytest.mark.parametrize(
    "structure",
    [Diagonal(np.ones(M)), Graph(np.eye(M)), Fixed(np.eye(M))],
    ids=["diagonal", "graph", "fixed"],
)
@pytest.mark.parametrize("weights", [None, OBSERVED], ids=["", "observed"])
def test_what_couples_nothing_is_judged_as_the_identity(make, structure, weights):
    # each output has noise of its own, and the rows that it has
    Y, K = sample()
    criterion = made(make, Y * [1.0, 1.0, 9.0], weights)
    found, expected = (
        criterion.evaluate(Dense(K.copy()), ALPHA, one)
        for one in (structure, Identity())
    )
    assert_allclose(found.value, expected.value, rtol=1e-12)
    assert_allclose(found.log_alpha, expected.log_alpha, rtol=1e-9)


@every
def test_a_singular_output_kernel_is_a_limit(make):
    Y, K = sample()
    singular = psd(M, 4, 1)
    criterion = made(make, Y)
    a = criterion.evaluate(Dense(K.copy()), ALPHA, recording(Fixed(singular)))
    small = 1e-9 * np.eye(M)
    near = recording(Fixed(singular + small))
    b = criterion.evaluate(Dense(K.copy()), ALPHA, near)
    of_a, of_b = (one.term.of_structure["weights"] for one in (a, b))
    ahead = a.value + np.vdot(of_a, small)
    assert_allclose(ahead, b.value, rtol=1e-9, atol=1e-11)
    assert_allclose(a.term.left, b.term.left, rtol=1e-6, atol=1e-7)
    assert_allclose(a.log_alpha, b.log_alpha, rtol=1e-6)
    assert_allclose(of_a, of_b, rtol=1e-5, atol=1e-6)
    nothing = criterion.evaluate(Dense(K.copy()), ALPHA, Fixed(np.zeros((M, M))))
    assert np.all(nothing.term.left == 0)


@every
@pytest.mark.parametrize("structure", [Identity(), Mean()], ids=["identity", "mean"])
def test_invariances(make, structure):
    Y, K = sample()
    criterion = made(make, Y)
    here = criterion.evaluate(Dense(K.copy()), ALPHA, structure)
    # K and alpha count by their ratio
    assert_allclose(value(criterion, 7 * K, 7 * ALPHA, structure), here.value)
    # constants belong to the intercept
    shift = np.linspace(-1, 1, N)
    moved = K + 3.0 + shift + shift[:, None]
    assert_allclose(value(criterion, moved, ALPHA, structure), here.value)
    assert_allclose(value(made(make, Y + 5.0), K, ALPHA, structure), here.value)
    # the order of outputs means nothing
    flipped = made(make, Y[:, ::-1])
    assert_allclose(value(flipped, K, ALPHA, structure), here.value)
    # nor does that of rows, with their folds
    order = np.random.default_rng(2).permutation(N)
    place = np.argsort(order)
    other = Observed(Y[order], Squared())
    if make is _folds_error:
        folds = [(place[a], place[b]) for a, b in folds_of(N)]
        permuted = FoldsError(other, folds, fit_intercept=True)
    else:
        permuted = make(other, fit_intercept=True)
    found = permuted.evaluate(Dense(K[np.ix_(order, order)]), ALPHA, structure)
    assert_allclose(found.value, here.value)
    assert_allclose(found.term.left, here.term.left[np.ix_(order, order)], atol=1e-10)


@every
def test_the_units_of_an_output_say_nothing_about_the_kernel(make):
    Y, K = sample()
    here = made(make, Y).evaluate(Dense(K.copy()), ALPHA, Identity())
    scaled = made(make, Y * [1e3, 1.0, 1e-3])
    found = scaled.evaluate(Dense(K.copy()), ALPHA, Identity())
    assert_allclose(found.term.left, here.term.left, rtol=1e-8, atol=1e-10)


@every
def test_a_constant_output_says_nothing(make):
    Y, K = sample()
    with_one = np.column_stack([Y, np.full(N, 0.1)])
    here = made(make, Y).evaluate(Dense(K.copy()), ALPHA, Identity())
    found = made(make, with_one).evaluate(Dense(K.copy()), ALPHA, Identity())
    assert_allclose(found.value, here.value)
    assert_allclose(found.term.left, here.term.left)
    # where L couples it, it is a target like others, whose scale is one
    zero = np.column_stack([Y[:, :2], np.zeros(N)])
    assert_derivatives(made(make, zero), K, ALPHA, Mean())


@every
def test_targets_without_noise_leave_a_finite_value(make):
    _, K = sample()
    Y = K @ np.random.default_rng(0).normal(size=(N, 1))
    criterion = made(make, Y / Y.std())
    values = [value(criterion, K, a, Identity()) for a in (1e-8, 1e-11, 1e-13)]
    assert np.all(np.isfinite(values))


@every
def test_what_has_no_closed_form(make):
    Y, K = sample()
    with pytest.raises(ValueError, match=r"fixes the output kernel.* got Frobenius"):
        made(make, Y).evaluate(Dense(K), 1.0, Frobenius())
    if make in (LeaveOneOutError, LeaveOneOutLikelihood):
        with pytest.raises(ValueError, match=r"missing .* no closed form for Mean"):
            made(make, Y, OBSERVED).evaluate(Dense(K), 1.0, Mean())
    with pytest.raises(ValueError, match=r"needs the squared loss, got Huber"):
        make(Observed(Y, Huber()), fit_intercept=True)
    with pytest.raises(ValueError, match="All outputs are constant"):
        made(make, np.ones((N, 2)))
    few = np.ones((N, M))
    few[4:, 1] = 0.0
    with pytest.raises(ValueError, match=r"at least 5 rows .* of output 1; got 4"):
        made(make, Y, few).evaluate(Dense(K), 1.0, Identity())
    with pytest.raises(ValueError, match=r"at least 5 rows .* zero; got 4"):
        RestrictedLikelihood(Observed(Y[:4], Squared()), fit_intercept=True)


@every
def test_a_matrix_that_is_no_kernel(make):
    Y, K = sample()
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        made(make, Y).evaluate(Dense(-K), 0.1, Identity())


@every
def test_outputs_of_the_same_rows_share_a_kernel_matrix(make, monkeypatch):
    # of a kernel matrix for each output there may be no room
    formed = []
    real = Dense.block
    monkeypatch.setattr(
        Dense, "block", lambda K, rows: formed.append(1) or real(K, rows)
    )
    Y, K = sample()
    entries = np.random.default_rng(0).uniform(0.5, 2.0, Y.shape)
    made(make, Y, entries).evaluate(Dense(K.copy()), ALPHA, Identity())
    made(make, Y).evaluate(Dense(K.copy()), np.array([0.1, 0.5, 2.0]), Identity())
    assert len(formed) == 2
