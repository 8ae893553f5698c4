"""Targets that are far from the others, and a kernel that is learned without them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from okl import OutputKernelRegressor, OutputKernelRegressorCV, certify
from okl.kernels import Gaussian, Learnable
from okl.losses import Huber, Quantile, Squared
from okl.problems import Observed
from okl.selection.learned_kernel import learn_kernel
from okl.selection.outliers import (
    near_medians,
    near_predictions,
    predicted_without,
    typical_error,
)
from tests.covering import later
from tests.samples import draw

N, M, ALPHA = 60, 3, 0.3
KERNEL = Gaussian(0.4)
X, _, _ = draw(N, M)
RNG = np.random.default_rng(0)
CLEAN = np.sin(X @ RNG.normal(size=(X.shape[1], M))) + 0.1 * RNG.normal(size=(N, M))
FAR = np.zeros((N, M), dtype=bool)
FAR[::13, 0] = FAR[5::11, 1] = True
Y = np.where(FAR, 1e7 * RNG.choice([-1.0, 1.0], size=(N, M)), CLEAN)
SEEN = (RNG.random((N, M)) < 0.8).astype(float)
FAR_ENOUGH = 3.0


def deviations(targets):
    """Return three quarters of the distances from the median, as of normal numbers."""
    off = np.abs(targets - np.median(targets, axis=0))
    return np.quantile(off, 0.75, axis=0, method="averaged_inverted_cdf") / 1.15035


def test_targets_are_at_most_three_deviations_from_the_median():
    near = near_medians(Observed(Y, Huber()))
    assert isinstance(near.loss, Squared)
    off = near.targets - np.median(Y, axis=0)
    limit = FAR_ENOUGH * deviations(Y)
    assert_allclose(np.abs(off)[FAR], np.broadcast_to(limit, Y.shape)[FAR], rtol=1e-4)
    assert_array_equal(np.sign(off[FAR]), np.sign(Y[FAR]))
    inside = np.abs(Y - np.median(Y, axis=0)) < limit
    assert_array_equal(near.targets[inside], Y[inside])


def test_what_most_targets_are_is_no_deviation():
    y = np.zeros((N, 1))
    y[:5] = 7.0
    assert_array_equal(near_medians(Observed(y, Huber())).targets, y)


def test_a_weight_is_so_many_rows():
    weights = np.random.default_rng(1).integers(3, size=(N, 1))
    one = near_medians(Observed(Y, Huber(), weights.astype(float)))
    rows = np.repeat(np.arange(N), weights[:, 0])
    two = near_medians(Observed(Y[rows], Huber()))
    assert_allclose(one.targets[rows], two.targets)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weights", [None, SEEN], ids=["", "missing"])
def test_they_are_near_what_is_predicted_without_their_rows(weights, fit_intercept):
    observed = Observed(Y, Huber(), weights)
    near = near_medians(observed)
    how = {"fit_intercept": fit_intercept}
    found = near_predictions(observed, near, KERNEL, X, ALPHA, **how).targets
    model = OutputKernelRegressor(
        KERNEL, "identity", ALPHA, normalize_y=False, tol=1e-10, **how
    )
    predicted = np.empty_like(Y)
    for row in range(N):
        others = np.arange(N) != row
        targets = near.targets[others]
        if weights is not None:
            targets = np.where(weights[others] > 0, targets, np.nan)
        predicted[row] = model.fit(X[others], targets).predict(X[[row]])[0]
    counted = np.ones(Y.shape) if weights is None else weights
    for j in range(M):
        own = counted[:, j] > 0
        off = (Y - predicted)[own, j]
        size = np.quantile(np.abs(off), 0.75, method="averaged_inverted_cdf") / 1.15035
        expected = predicted[own, j] + np.clip(off, -2.5 * size, 2.5 * size)
        assert_allclose(found[own, j], expected, atol=1e-4)


@pytest.mark.parametrize("weights", [None, SEEN], ids=["", "missing"])
def test_the_typical_error_is_that_of_the_middle_half(weights):
    near = Observed(CLEAN, Squared(), weights)
    centres = predicted_without(near, KERNEL, X, ALPHA, fit_intercept=True)

    def size(targets, counted=weights):
        return typical_error(Observed(targets, Huber(), counted), centres)

    # targets that are moved far away by a known amount have errors of that size
    assert size(CLEAN + 1e9) == pytest.approx(1e9 / 0.6745, rel=1e-6)
    some = np.where(weights > 0, CLEAN, 1e9) if weights is not None else CLEAN
    clean = size(some)
    assert 0.1 < clean < 0.5
    if weights is not None:  # of most targets of one output
        rare = weights * (np.arange(M) > 0) + (np.arange(N) % 3 == 0)[:, None]
        rare = np.minimum(rare, 1.0)
        assert size(np.where(rare > 0, CLEAN, 1e9), rare) < 0.5
    assert clean <= size(np.where(FAR, 1e9, some)) < 1.3 * clean


def test_of_normal_targets_it_is_their_deviation():
    rng = np.random.default_rng(3)
    means = 10.0 * np.arange(3)
    targets = means + 0.3 * rng.normal(size=(600, 3))
    for centres in (None, np.broadcast_to(means, targets.shape)):
        size = typical_error(Observed(targets, Huber()), centres)
        assert size == pytest.approx(0.3, rel=0.1)


@pytest.mark.parametrize("learnable", [Learnable(), Learnable(KERNEL)], ids=repr)
def test_a_kernel_is_learned_as_if_they_were_not_there(learnable):
    def learned(targets, loss):
        observed = Observed(targets, loss)
        kernel = learn_kernel(X, observed, [], learnable, fit_intercept=True).kernel
        return kernel(X) / np.trace(kernel(X))

    expected = learned(CLEAN, Squared())

    def apart(kernel):
        return np.linalg.norm(kernel - expected) / np.linalg.norm(expected)

    assert apart(learned(CLEAN, Huber())) < 0.02
    with_outliers = learned(Y, Huber())
    assert_array_equal(learned(Y, Quantile(0.9)), with_outliers)
    assert apart(with_outliers) < 0.2 < apart(learned(Y, Squared()))


@pytest.mark.parametrize("loss", later(Quantile(0.5), Huber()), ids=repr)
def test_a_search_has_a_width_for_each_column(loss):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(160, 6))
    y = np.sin(2 * rows[:, 0]) + rows[:, 1] + 0.05 * rng.standard_t(2, size=160)
    train, test = np.arange(100), np.arange(100, 160)
    search = OutputKernelRegressorCV(structures="identity", loss=loss)
    search.fit(rows[train], y[train])
    assert search.feature_relevances_[:2].sum() > 0.98
    one_width = clone(search).set_params(kernel="rbf", alphas=8, eps=1e-3)
    one_width.fit(rows[train], y[train])
    errors = [np.abs(y - m.predict(rows))[test].mean() for m in (search, one_width)]
    assert errors[0] < 0.6 * errors[1]


def with_outliers(seed=0, n=120):
    """Rows, smooth functions of them, and these with noise and some gross errors."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3))
    true = np.sin(rows @ rng.normal(size=(3, 2)))
    gross = rng.random(true.shape) < 0.08
    noise = np.where(gross, 10.0, 0.1) * rng.normal(size=true.shape)
    return rows, true, true + noise


def test_a_delta_that_is_left_open_is_that_of_the_errors():
    rows, true, y = with_outliers()
    errors, deltas = [], []
    for loss in ("huber", Huber(1.35)):
        search = OutputKernelRegressorCV(
            structures="identity", loss=loss, alphas=[0.3, 0.1, 0.03, 0.01]
        ).fit(rows[:80], y[:80])
        deltas.append(search.loss_.delta)
        errors.append(np.abs(search.predict(rows[80:]) - true[80:]).mean())
        assert search.certificate_.status == "optimal"
        certificate = certify(search, rows[:80], y[:80])
        assert certificate.relative_gap <= search.tol
    assert deltas[1] == 1.35
    # the noise is about a seventh of the spread of each output
    assert 0.2 <= deltas[0] < 0.45
    assert errors[0] < 0.85 * errors[1]


def test_of_several_kernels_the_best_one_tells_how_large_errors_are():
    rows, _, y = with_outliers()
    rows = np.hstack([rows, rows**2])
    y = y + rows[:, 3:5] - 1
    deltas = [
        OutputKernelRegressorCV(
            structures="identity", loss="huber", alphas=2, kernels=kernels
        )
        .fit(rows[:60], y[:60])
        .loss_.delta
        for kernels in (["auto"], [Learnable(Gaussian(1e-4)), "auto"])
    ]
    assert deltas[1] <= deltas[0]


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_targets_that_are_not_normalised_have_a_delta_in_their_unit(unit):
    rows, _, y = with_outliers()
    deltas = [
        OutputKernelRegressorCV(
            structures="identity", loss="huber", alphas=2, normalize_y=False
        )
        .fit(rows, factor * y)
        .loss_.delta
        for factor in (1.0, unit)
    ]
    assert_allclose(deltas[1], unit * deltas[0], rtol=1e-3)


def test_without_a_learned_kernel_a_delta_left_open_is_that_of_the_spread():
    rows, _, y = with_outliers()
    search = OutputKernelRegressorCV("rbf", "identity", loss="huber", alphas=[0.1])
    search.fit(rows, y)
    single = OutputKernelRegressor("rbf", "identity", 0.1, loss=Huber(1.35))
    assert_allclose(search.predict(rows), single.fit(rows, y).predict(rows), atol=1e-5)


@pytest.mark.parametrize(
    ("size", "delta"), [(0.0, 0.2), (0.1, 0.2), (0.4, 0.54), (1.0, 1.35), (3.0, 1.35)]
)
def test_delta_is_in_proportion_to_errors(size, delta):
    assert Huber().for_errors(size, 1.0).delta == pytest.approx(delta)
    # in the units of targets
    assert Huber().for_errors(5 * size, 5.0).delta == pytest.approx(5 * delta)
    assert Huber().for_errors(0.0, 0.0).delta is None
    assert Huber(0.7).for_errors(size, 1.0).delta == 0.7
