"""Errors of rows left out, where the output kernel was learned from each of them."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from okl import OutputKernelRegressor
from okl.coding.tasks import Tasks
from okl.estimators.refits import Refits
from okl.kernels import Gaussian, Linear
from okl.losses import Squared
from okl.problems import Observed
from okl.structures import Frobenius, Identity, Mean, Sparse, TraceBall

KERNEL, ALPHA = Gaussian(0.3), 0.5
LEARNED = ["frobenius", "low_rank", Sparse(0.1), TraceBall(5.0)]


def tasks_of(n_rows, seed=0, n_tasks=30):
    """Return rows, targets and tasks, of rows to learn from and of others."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=3) + 0.5 * rng.normal(size=(n_tasks, 3))

    def rows(n):
        task = np.repeat(np.arange(n_tasks), n)
        X = rng.normal(size=(len(task), 3))
        y = np.sum(X * weights[task], axis=1) + 0.5 * rng.normal(size=len(task))
        return X, y + task % 3, task

    return rows(n_rows), rows(10)


def model_of(structure, **options):
    return OutputKernelRegressor(KERNEL, structure, ALPHA, **options)


@pytest.mark.parametrize("structure", ["frobenius", "low_rank"])
@pytest.mark.parametrize("n_rows", [2, 3, 5])
def test_intervals_of_tasks_of_few_rows_hold_new_targets(structure, n_rows):
    inside, ratio = [], []
    for seed in range(3):
        (X, y, task), (new, truth, asked) = tasks_of(n_rows, seed)
        model = model_of(structure).fit(X, y, task=task)
        low, high = model.predict_interval(new, 0.9, task=asked)
        inside.append(np.mean((low <= truth) & (truth <= high)))
        predicted = model.predict(new, task=asked)
        how = {"return_std": True, "include_noise": True, "task": asked}
        _, std = model.predict(new, **how)
        ratio.append(np.mean(std**2) / np.mean((truth - predicted) ** 2))
    assert 0.8 < np.mean(inside) < 0.97
    assert 0.6 < np.mean(ratio) < 1.6


@pytest.mark.parametrize("structure", LEARNED, ids=repr)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_they_are_those_of_fits_without_the_rows(structure, fit_intercept):
    (X, y, task), _ = tasks_of(4, n_tasks=12)
    y[:7] *= 2.0
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=len(y))
    weights[::9] = 0.0
    options = {"normalize_y": False, "fit_intercept": fit_intercept}
    model = model_of(structure, **options).fit(X, y, weights, task=task)
    refits = model._gaussian_process().refits
    found = refits.residuals(model.kernel_, X)[:, 0]
    counted = weights > 0
    assert_array_equal(np.isnan(found), ~counted)
    held_out = np.zeros(len(y), dtype=int)
    for train, test in refits._folds(np.arange(len(y))):
        assert counted[train].all()
        assert counted[test].all()
        again = model_of(structure, tol=1e-5, **options)
        again.fit(X[train], y[train], weights[train], task=task[train])
        known = test[np.isin(task[test], task[train])]
        expected = y[known] - again.predict(X[known], task=task[known])
        assert_allclose(found[known], expected, atol=0.1)
        held_out[test] += 1
    assert_array_equal(held_out, counted)


def test_what_their_errors_are_larger_by_is_added():
    (X, y, task), _ = tasks_of(8, n_tasks=12)
    model = model_of("frobenius").fit(X, y, task=task)
    process = model._gaussian_process()
    found = process.refits.residuals(model.kernel_, X)[:, 0]
    left, calibration = process._left_out, process.calibration
    by_model = calibration.factors[task] * left.variances[:, 0]
    squares = np.array([np.mean(found[task == t] ** 2) for t in range(12)])
    expected = np.array([np.mean(by_model[task == t]) for t in range(12)])
    excess = np.clip(squares - expected, 0, None)
    assert_allclose(calibration.excess, excess)
    assert np.mean(excess) > 0.2 * np.mean(expected)
    assert_allclose(
        calibration.standardised[:, 0], found / np.sqrt(by_model + excess[task])
    )
    own = process.posterior(X, process.tasks)[:, 0] * calibration.factors[task]
    _, std = model.predict(X, return_std=True, task=task)
    assert_allclose(std, model.y_scale_[task] * np.sqrt(own + excess[task]))
    noisy = {"include_noise": True, "return_cov": True}
    _, covariance = model.predict(X[:3], **noisy)
    _, of_all = model.predict(X[:3], return_std=True, include_noise=True)
    assert_allclose(np.sqrt(np.einsum("ijj->ij", covariance)), of_all)


def test_a_model_that_nearly_interpolates_is_not_scaled_as_a_whole():
    """Its deviations at new rows are thousands of times those at rows left out."""
    (X, y, task), (new, truth, asked) = tasks_of(4)
    model = OutputKernelRegressor(KERNEL, "low_rank", 1e-5, tol=1e-4)
    model.fit(X, y, task=task)
    error = np.sqrt(np.mean((truth - model.predict(new, task=asked)) ** 2))
    how = {"return_std": True, "include_noise": True, "task": asked}
    assert np.sqrt(np.mean(model.predict(new, **how)[1] ** 2)) < 2 * error


@pytest.mark.parametrize("decimals", [15, 0])
def test_the_order_of_rows_has_no_say(decimals):
    (X, y, task), _ = tasks_of(4)
    y = np.round(y, decimals)
    order = np.random.default_rng(0).permutation(len(y))
    one = model_of("frobenius", tol=1e-9).fit(X, y, task=task)
    two = model_of("frobenius", tol=1e-9).fit(X[order], y[order], task=task[order])
    assert_allclose(one.noise_variance_, two.noise_variance_, rtol=1e-4)


def test_a_matrix_with_one_target_a_row_is_the_same():
    (X, y, task), _ = tasks_of(4, n_tasks=10)
    Y = np.full((len(y), 10), np.nan)
    Y[np.arange(len(y)), task] = y
    long = model_of("frobenius", tol=1e-9).fit(X, y, task=task)
    wide = model_of("frobenius", tol=1e-9).fit(X, Y)
    found = wide._process.refits.residuals(wide.kernel_, X)[np.arange(len(y)), task]
    expected = long._process.refits.residuals(long.kernel_, X)[:, 0]
    assert_allclose(found, expected, atol=1e-2)
    assert_allclose(wide.predict(X, return_std=True)[1] > 0, True)


def test_a_fitted_model_keeps_what_it_takes():
    (X, y, task), _ = tasks_of(3)
    model = model_of("low_rank").fit(X, y, task=task)
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.noise_variance_, model.noise_variance_, rtol=1e-6)


@pytest.mark.parametrize("structure", [Identity(), Mean(3.0)], ids=repr)
def test_a_given_output_kernel_needs_none(structure):
    (X, y, task), _ = tasks_of(3)
    assert model_of(structure).fit(X, y, task=task)._process.refits is None


def test_rows_with_several_targets_need_none():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 2)), rng.normal(size=(40, 4))

    def needed(Y, weights=None):
        how = Squared(), weights
        return Refits(Observed(Y, *how), Frobenius(), 1.0, True, 10).needed

    seen = np.zeros(Y.shape)
    seen[:, :2] = 1.0
    assert not needed(Y)
    assert not needed(Y, rng.random((40, 1)))
    assert not needed(Y, seen)
    assert not needed(Y[:, :1], seen[:, :1])
    seen[:19, 0] = 0.0
    assert not needed(Y, seen)
    seen[:21, 0] = 0.0
    assert needed(Y, seen)
    kernel = [KERNEL, Linear()]
    Y[:, 1:] = np.where(rng.random((40, 3)) < 0.9, np.nan, Y[:, 1:])
    several = OutputKernelRegressor(kernel, ["frobenius", "identity"]).fit(X, Y)
    assert several._process.refits is not None
    assert np.all(several.noise_variance_ > 0)


def test_the_only_row_of_a_task_says_nothing_of_errors():
    (X, y, task), _ = tasks_of(4)
    rows = np.flatnonzero((task > 0) | (np.arange(len(task)) == 0))
    model = model_of("frobenius").fit(X[rows], y[rows], task=task[rows])
    found = model._gaussian_process().calibration
    assert_array_equal(np.isnan(found.standardised[:, 0]), task[rows] == 0)
    common = found.excess * model.y_scale_**2
    assert_allclose(common[0], common[1:].mean())


def test_folds_of_a_task_are_random():
    """Held out together, its least and largest target would leave its mean alone."""
    (_, y, task), _ = tasks_of(6, n_tasks=200)
    observed = Observed(y[:, None], Squared(), tasks=Tasks(task, 200))
    refits = Refits(observed, Frobenius(), 1.0, True, 10)
    folds = np.empty(len(y), dtype=int)
    for number, (_, test) in enumerate(refits._folds(np.zeros(len(y)))):
        folds[test] = number
    by_task, held_out = y.reshape(200, 6), folds.reshape(200, 6)
    assert all(len(np.unique(some)) == 5 for some in held_out)
    rows = np.arange(200)
    ends = (
        held_out[rows, by_task.argmin(axis=1)],
        held_out[rows, by_task.argmax(axis=1)],
    )
    assert np.mean(ends[0] == ends[1]) < 0.2


def test_rows_given_a_part_of_their_targets_have_it_too():
    """New rows and those of the fit, of a table with hardly a target a row."""
    (X, y, task), _ = tasks_of(4, n_tasks=6)
    Y = np.full((len(y), 6), np.nan)
    Y[np.arange(len(y)), task] = y
    model = model_of("frobenius").fit(X, Y)
    process = model._gaussian_process()
    without = replace(process, refits=None)
    excess = process.calibration.excess * model.y_scale_**2
    assert excess.min() > 0
    both = process, without
    of_the_fit = [one.conditioned_training_rows() for one in both]
    of_others = [one.conditioned(X, Y, include_noise=True) for one in both]
    for found, before in (of_the_fit, of_others):
        added = np.einsum("ijj->ij", found.covariance - before.covariance)
        missing = np.isnan(Y)
        assert_allclose(added[~missing], 0.0, atol=1e-12)
        assert np.all(added[missing] > 0.5 * np.broadcast_to(excess, Y.shape)[missing])


@pytest.mark.parametrize("unit", [1e-3, 1e6])
def test_units_of_other_columns_do_not_matter(unit):
    """Output 3 has one target, so that no row left out tells of it."""
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(30, 3)), np.arange(30)
    Y = np.full((30, 4), np.nan)
    Y[rows, rows % 3] = X[:, 0] + rng.normal(size=30)
    Y[29] = [np.nan, np.nan, np.nan, 2.0]

    def deviations():
        return model_of("frobenius").fit(X, Y).predict(X[:2], return_std=True)[1]

    before = deviations()
    Y[:, 1] *= unit
    assert_allclose(deviations() / [1.0, unit, 1.0, 1.0], before, rtol=1e-3)
