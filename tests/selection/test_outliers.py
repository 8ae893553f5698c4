"""Targets that are far from the others, and a kernel that is learned without them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from okl import OutputKernelRegressor, OutputKernelRegressorCV
from okl.kernels import Gaussian, Learnable
from okl.losses import Huber, Quantile, Squared
from okl.problems import Observed
from okl.selection.learned_kernel import learn_kernel
from okl.selection.outliers import near_medians, near_predictions
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


@pytest.mark.parametrize("loss", [Quantile(0.5), *later(Huber())], ids=repr)
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
