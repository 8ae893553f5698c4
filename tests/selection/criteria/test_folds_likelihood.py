"""The loss of held-out rows by refits, and its derivative by one solve a fold."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okl import OutputKernelClassifier, OutputKernelRegressor
from okl.coding.tasks import Tasks
from okl.kernels import Gaussian
from okl.losses import Hinge, Huber, Logistic, Quantile, Softmax, Squared, SquaredHinge
from okl.operators import Dense, Features, SeparableSum, Term
from okl.problems import Observed
from okl.selection.criteria import FoldsError, FoldsLikelihood
from okl.structures import Fixed, Frobenius, Identity, LowRank, Mean
from tests.samples import draw, draw_classes, psd, targets_for
from tests.selection.criteria.differences import (
    M,
    assert_derivatives,
    folds_of,
    recording,
    value,
)

N, ALPHA = 18, 0.3
ROWS = np.linspace(0.5, 3.0, N)[:, None]
ENTRIES = (np.random.default_rng(2).random((N, M)) > 0.2) * 1.0
STRUCTURES = [Identity(), Fixed(psd(M, 4)), Frobenius()]


def made(Y, loss, weights=None, *, intercept=True, **options):
    observed = Observed(Y, loss, weights)
    return FoldsLikelihood(observed, folds_of(N), fit_intercept=intercept, **options)


# with softmax a row is of one class, observed or not
WEIGHTED = [
    pytest.param(loss, weights, id=f"{loss.name}{name}")
    for loss in (Softmax(), Logistic(), Huber(0.8), Squared())
    for name, weights in (("", None), ("-rows", ROWS), ("-entries", ENTRIES))
    if weights is not ENTRIES or loss.name != "softmax"
]


@pytest.mark.parametrize(("loss", "weights"), WEIGHTED)
@pytest.mark.parametrize(
    "structure", STRUCTURES, ids=["identity", "fixed", "frobenius"]
)
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
@pytest.mark.each_value
def test_derivatives_are_differences_of_refits(loss, structure, intercept, weights):
    K, Y = targets_for(loss, N, M)
    options = {"tol": 1e-12, "rtol": 1e-10}
    criterion = made(Y, loss, weights, intercept=intercept, **options)
    # a derivative errs by about the root of the gap of the fits
    assert_derivatives(criterion, K, ALPHA, structure, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", [Softmax(), Squared()], ids=["softmax", "squared"])
@pytest.mark.parametrize("intercept", [False, True], ids=["no-b", "b"])
def test_derivatives_by_the_kernel_of_each_output(loss, intercept):
    K, Y = targets_for(loss, N, M)
    matrices = [K, psd(N, 6), psd(N, 7)]
    criterion = made(Y, loss, intercept=intercept, tol=1e-12, rtol=1e-10)

    def at(changed, step):
        return criterion.evaluate(
            SeparableSum(
                tuple(
                    Term(Dense(one + step * (j == changed) * change), [j], [1.0])
                    for j, one in enumerate(matrices)
                )
            ),
            ALPHA,
            Identity(),
        )

    change, step = psd(N, 3), 1e-5
    found = at(0, 0.0)
    for j in range(M):
        expected = (at(j, step).value - at(j, -step).value) / (2 * step)
        along = np.vdot(found.term.left[:, j::M] @ found.term.right[:, j::M].T, change)
        assert_allclose(along, expected, rtol=1e-5, atol=1e-6 * abs(found.value))


@pytest.mark.parametrize(
    ("loss", "structure"),
    [
        pytest.param(Logistic(), Identity(), id="logistic-identity"),
        pytest.param(Squared(), Fixed(psd(M, 4)), id="squared-fixed"),
        *(
            pytest.param(
                loss, Frobenius(), id=f"{loss.name}-frobenius", marks=pytest.mark.slow
            )
            for loss in (Logistic(), Squared())
        ),
    ],
)
def test_derivatives_by_the_alpha_of_each_output(loss, structure):
    K, Y = targets_for(loss, N, M)
    criterion = made(Y, loss, ENTRIES, tol=1e-12, rtol=1e-10)
    alphas = np.array([0.1, 0.9, 0.3])
    assert_derivatives(criterion, K, alphas, structure, rtol=1e-5, atol=1e-6)
    equal = criterion.evaluate(Dense(K.copy()), np.full(M, ALPHA), structure)
    one = criterion.evaluate(Dense(K.copy()), ALPHA, structure)
    assert_allclose(equal.value, one.value, rtol=1e-7)
    assert_allclose(equal.log_alpha.sum(), one.log_alpha, rtol=1e-4)
    # a solver for equal alphas may be none for others
    after = made(Y, loss, tol=1e-12, rtol=1e-10)
    after.evaluate(Dense(K.copy()), np.full(M, ALPHA), structure)
    warm = after.evaluate(Dense(K.copy()), alphas, structure)
    cold = after.cold().evaluate(Dense(K.copy()), alphas, structure)
    assert_allclose(warm.value, cold.value, rtol=1e-6)


def test_derivatives_of_a_loss_that_is_flat_in_part():
    K, Y = targets_for(SquaredHinge(), N, M)
    criterion = made(Y, SquaredHinge(), tol=1e-12, rtol=1e-10)
    assert_derivatives(criterion, K, ALPHA, Mean(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", ["softmax", "logistic"])
@pytest.mark.parametrize(
    "structure", STRUCTURES, ids=["identity", "fixed", "frobenius"]
)
def test_the_value_is_the_log_likelihood_of_refits(loss, structure):
    _, labels, K = draw_classes(N, M)
    Y = (labels[:, None] == np.arange(M)).astype(float)
    y = labels if loss == "softmax" else Y
    coded = {"softmax": Softmax(), "logistic": Logistic()}[loss]
    targets = coded.coding.encode(labels, "multiclass", M)
    found = value(made(targets, coded, tol=1e-10), K, ALPHA, structure)
    total = 0.0
    for train, test in folds_of(N):
        model = OutputKernelClassifier(
            "precomputed", structure, ALPHA, loss=loss, tol=1e-12
        ).fit(K[np.ix_(train, train)], y[train])
        p = np.asarray(model.predict_proba(K[np.ix_(test, train)]))
        if loss == "logistic":
            p = np.where(Y[test] > 0, p, 1 - p)
            total -= np.log(p).sum()
        else:
            total -= np.log(p[np.arange(len(test)), labels[test]]).sum()
    assert_allclose(found, total, rtol=1e-5)


@pytest.mark.parametrize(
    "structure", STRUCTURES, ids=["identity", "fixed", "frobenius"]
)
def test_the_value_with_missing_targets_is_that_of_refits(structure):
    _, Y, K = draw(N, M)
    gaps = np.where(ENTRIES > 0, Y, np.nan)
    filled = np.where(ENTRIES > 0, Y, 0.0)
    found = value(made(filled, Squared(), ENTRIES, tol=1e-10), K, ALPHA, structure)
    total = 0.0
    for train, test in folds_of(N):
        model = OutputKernelRegressor(
            "precomputed", structure, ALPHA, normalize_y=False, tol=1e-12
        ).fit(K[np.ix_(train, train)], gaps[train])
        residuals = gaps[test] - model.predict(K[np.ix_(test, train)])
        total += np.nansum(residuals**2) / 2
    assert_allclose(found, total, rtol=1e-5)


@pytest.mark.parametrize(
    "structure", STRUCTURES, ids=["identity", "fixed", "frobenius"]
)
def test_fits_that_end_early_leave_an_error_of_second_order(structure):
    K, Y = targets_for(Softmax(), N, M)
    exact = made(Y, Softmax(), tol=1e-13).evaluate(Dense(K.copy()), ALPHA, structure)
    rough = made(Y, Softmax(), tol=1e-4).evaluate(Dense(K.copy()), ALPHA, structure)
    assert_allclose(rough.value, exact.value, rtol=2e-4)
    assert_allclose(rough.log_alpha, exact.log_alpha, rtol=5e-2)


def test_the_next_evaluation_starts_where_the_last_ended():
    K, Y = targets_for(Softmax(), N, M)
    criterion = made(Y, Softmax(), tol=1e-11, rtol=1e-6)
    for scale in (1.0, 1.1, 0.9):
        warm = criterion.evaluate(Dense(scale * K), ALPHA, Identity())
        fresh = made(Y, Softmax(), tol=1e-11, rtol=1e-6)
        cold = fresh.evaluate(Dense(scale * K), ALPHA, Identity())
        assert_allclose(warm.value, cold.value, rtol=1e-7)
        assert_allclose(warm.log_alpha, cold.log_alpha, rtol=1e-3)
        assert warm.largest_gap == 0.0
    # structures may change in between
    criterion.evaluate(Dense(K.copy()), ALPHA, Frobenius())
    assert_allclose(
        criterion.evaluate(Dense(K.copy()), ALPHA, Identity()).value,
        value(made(Y, Softmax()), K, ALPHA, Identity()),
        rtol=1e-7,
    )


def test_the_derivative_is_thin_and_balanced():
    K, Y = targets_for(Softmax(), N, M)
    found = made(Y, Softmax()).evaluate(Dense(K.copy()), ALPHA, Identity())
    assert found.term.left.shape == found.term.right.shape == (N, 3 * M)
    # constants in K are the intercept's
    assert_allclose(found.term.left.sum(axis=0), 0.0, atol=1e-10)
    assert_allclose(found.term.right.sum(axis=0), 0.0, atol=1e-8)


def test_features_and_dense_kernels_agree():
    X, labels, _ = draw_classes(N, M)
    Y = (labels[:, None] == np.arange(M)).astype(float)
    mean = recording(Mean())
    a = made(Y, Softmax(), rtol=1e-6).evaluate(Features(X.copy()), ALPHA, mean)
    b = made(Y, Softmax(), rtol=1e-6).evaluate(Dense(X @ X.T), ALPHA, mean)
    assert_allclose(a.value, b.value, rtol=1e-7)
    assert_allclose(a.log_alpha, b.log_alpha, rtol=1e-3)
    of_a, of_b = (one.term.of_structure["weights"] for one in (a, b))
    assert_allclose(of_a, of_b, rtol=1e-3, atol=1e-4)


def test_rows_and_outputs_may_be_permuted():
    K, Y = targets_for(Softmax(), N, M)
    order = np.random.default_rng(4).permutation(N)
    place = np.argsort(order)
    folds = [(place[a], place[b]) for a, b in folds_of(N)]
    observed = Observed(Y[order][:, ::-1], Softmax())
    criterion = FoldsLikelihood(observed, folds, fit_intercept=True, rtol=1e-6)
    found = criterion.evaluate(Dense(K[np.ix_(order, order)]), ALPHA, Mean())
    here = made(Y, Softmax(), rtol=1e-6).evaluate(Dense(K.copy()), ALPHA, Mean())
    assert_allclose(found.value, here.value, rtol=1e-7)
    change = psd(N, 3)
    along = found.term.along(change[np.ix_(order, order)])
    assert_allclose(along, here.term.along(change), rtol=1e-3, atol=1e-3)


def test_what_cannot_be_judged_by_folds():
    K, Y = targets_for(Softmax(), N, M)
    with pytest.raises(ValueError, match=r"smooth loss, got Hinge.*'logistic'\.$"):
        made(Y, Hinge())
    for criterion in (FoldsLikelihood, FoldsError):
        observed = Observed(Y, Quantile(0.1))
        with pytest.raises(ValueError, match=r"got Quantile\(.*'huber'.* kernel_ "):
            criterion(observed, folds_of(N), fit_intercept=True)
    long = Observed(Y[:, :1], Squared(), tasks=Tasks(np.arange(N) % 2, 2))
    with pytest.raises(ValueError, match="data in long form"):
        FoldsLikelihood(long, folds_of(N), fit_intercept=True)
    with pytest.raises(ValueError, match=r"L of LowRank.* is learned"):
        made(Y, Softmax()).evaluate(Dense(K), ALPHA, LowRank())
    rows = np.arange(N)
    first = np.argmax(Y, axis=1) == 1
    folds = [(rows[~first], rows[first])]
    with pytest.raises(ValueError, match="Fold 0 has no training rows of class 1"):
        FoldsLikelihood(Observed(Y, Softmax()), folds, fit_intercept=True)
    with pytest.raises(ValueError, match="Fold 0 has only training rows of class 1"):
        FoldsLikelihood(Observed(1 - Y, Logistic()), folds, fit_intercept=True)
    signs = np.where(first, 1.0, -1.0)[:, None]
    for sign, missing in ((1, 1), (-1, 0)):
        with pytest.raises(ValueError, match=f"no training rows of class {missing}"):
            FoldsLikelihood(
                Observed(sign * signs, Logistic()), folds, fit_intercept=True
            )
    weights = np.ones((N, M))
    weights[:9, 2] = 0.0
    with pytest.raises(ValueError, match=r"Fold 1 has no training row .* output 2"):
        FoldsLikelihood(
            Observed(Y, Squared(), weights),
            [(rows[9:], rows[:9]), (rows[:9], rows[9:])],
            fit_intercept=True,
        )
    with pytest.raises(ValueError, match="Fold 0 of cv has no row to train on"):
        FoldsLikelihood(Observed(Y, Softmax()), [(rows[:0], rows)], fit_intercept=True)


@pytest.mark.parametrize("alpha", [0.1, 0.01])
def test_the_derivative_is_known_well_enough_for_a_line_search(alpha):
    # a search ends at slopes of 0.01, whose parts are as large as the value
    X, Y, _ = draw(60, M, n_features=3)
    K, observed = Gaussian(0.1)(X), Observed(Y / Y.std(axis=0), Squared())
    found, exact = (
        FoldsLikelihood(observed, folds_of(60), fit_intercept=True, **options).evaluate(
            Dense(K.copy()), alpha, Mean(0.5)
        )
        for options in ({}, {"tol": 1e-12, "rtol": 1e-11})
    )
    assert_allclose(found.log_alpha, exact.log_alpha, atol=1e-5 * exact.value, rtol=0)


@pytest.mark.parametrize("loss", [Softmax(), Logistic()], ids=["softmax", "logistic"])
def test_a_loss_below_zero_is_refused(loss):
    # after one iteration the correction to first order is larger than the loss
    K, Y = targets_for(loss, N, M)
    criterion = made(Y, loss, max_iter=1)
    with pytest.raises(np.linalg.LinAlgError, match="too far from its optimum"):
        criterion.evaluate(Dense(K), 1e-4, Identity())
    assert value(made(Y, loss), K, 1e-4, Identity()) > 0
