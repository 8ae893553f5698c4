"""Tasks of numbers by default: one mean for all, and a constant in the kernel."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge

from okl import OutputKernelRegressor, OutputKernelRegressorCV, certify
from okl.inspection import output_kernel_stability
from okl.inspection.held import with_hyperparameters_held
from okl.kernels import Constant, Gaussian
from okl.metrics import mean_squared_error
from okl.structures import Mean
from tests.covering import later
from tests.samples import as_texts

N_TASKS, N_ROWS, FEW = 15, 40, 4


def tasks(spread, seed=0):
    """Return rows, numbers and ids of tasks whose means differ by so much."""
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(N_TASKS), N_ROWS)
    X = rng.normal(size=(len(ids), 3))
    weights = [2.0, -1.0, 1.0] + 0.2 * rng.normal(size=(N_TASKS, 3))
    means = spread * rng.normal(size=N_TASKS)
    y = np.sum(X * weights[ids], axis=1) + means[ids] + 2 * rng.normal(size=len(ids))
    return X + 5.0, y + 20.0, ids


def is_few(ids):
    return np.arange(len(ids)) % N_ROWS < FEW


@pytest.fixture(scope="module")
def fitted():
    X, y, ids = tasks(0.0)
    few = is_few(ids)
    given = X[few], y[few], ids[few]
    return OutputKernelRegressorCV().fit(*given[:2], task=given[2]), given


def error(model, X, y, ids):
    """Return the mean squared error of rows that a model did not learn from."""
    few = is_few(ids)
    model.fit(X[few], y[few], task=ids[few])
    return mean_squared_error(y[~few], model.predict(X[~few], task=ids[~few]))


@pytest.mark.parametrize("spread", [0.0, *later(3.0)], ids=["alike", "apart"])
def test_means_of_few_rows_are_drawn_together_if_that_pays(spread):
    X, y, ids = tasks(spread)
    default, free = (OutputKernelRegressorCV(alphas=8) for _ in range(2))
    free.set_params(structures=[Mean(1.5), Mean(15.0), Mean(150.0), Mean(1500.0)])
    errors = error(default, X, y, ids), error(free, X, y, ids)
    assert errors[0] < (0.95 if spread == 0 else 1.03) * errors[1]
    assert isinstance(default.kernel_.right, Constant)


def test_all_tasks_have_the_mean_and_the_scale_of_all_targets(fitted):
    model, (_, y, _) = fitted
    assert_allclose(model.intercept_, np.full(N_TASKS, y.mean()))
    assert_allclose(model.y_mean_, y.mean())
    assert_allclose(model.y_scale_, np.full(N_TASKS, y.std()))
    # the one that kernels are first tried with; it may be learned
    assert model.cv_results_["param_kernel"][0].right.value == 1.0
    with pytest.raises(ValueError, match="for tasks also name a structure"):
        model.intercept_ = np.zeros(N_TASKS)


def test_the_fit_is_certified_and_stays_what_it_is(fitted):
    model, (X, y, ids) = fitted
    assert model.certificate_.status == "optimal"
    again = certify(pickle.loads(pickle.dumps(model)), X, y, task=ids)
    assert_allclose(again.primal, model.certificate_.primal, rtol=1e-7)
    assert_allclose(again.dual, model.certificate_.dual, rtol=1e-6)
    same = clone(model).fit(X, y, task=ids)
    assert_allclose(same.predict(X), model.predict(X))
    mean, std = model.predict(X, return_std=True, task=ids, include_noise=True)
    assert_allclose(mean, model.predict(X, task=ids))
    assert np.all(std > 0)


def test_a_single_fit_with_what_was_chosen_is_the_same(fitted):
    model, (X, y, ids) = fitted
    single, rows = with_hyperparameters_held(model, X)
    assert single.fit_intercept == "shared"
    single.fit(rows, y, task=ids)
    assert_allclose(single.predict(X), model.predict(X), rtol=1e-4)


def test_relations_of_the_default_have_standard_errors():
    X, y, ids = tasks(1.0)
    few = (ids < 4) & (np.arange(len(ids)) % N_ROWS < 12)
    search = OutputKernelRegressorCV(structures="frobenius", fit_intercept="shared")
    search.fit(X[few], y[few], task=ids[few])
    sure = output_kernel_stability(search, X[few], y[few], task=ids[few])
    assert sure.correlation.estimate.shape == (4, 4)
    assert np.all(np.isfinite(sure.covariance.std))


@pytest.mark.parametrize("normalize", [True, False])
def test_independent_tasks_are_kernel_ridge_about_the_mean_of_all(normalize):
    X, y, ids = tasks(1.0)
    kernel, alpha = Gaussian(0.1) + Constant(0.7), 0.3
    model = OutputKernelRegressor(
        kernel,
        "identity",
        alpha,
        fit_intercept="shared",
        normalize_y=normalize,
        tol=1e-10,
    ).fit(X, y, task=ids)
    assert_allclose(model.y_scale_, y.std() if normalize else 1.0)
    for task in range(3):
        own = ids == task
        K = kernel(X[own])
        ridge = KernelRidge(alpha=alpha, kernel="precomputed")
        expected = ridge.fit(K, y[own] - y.mean()).predict(K) + y.mean()
        assert_allclose(model.predict(X[own], task=ids[own]), expected, rtol=1e-7)


def test_noise_of_tasks_of_one_unit_is_drawn_to_what_they_have_in_common():
    X, y, ids = tasks(0.0)
    some = np.arange(len(ids)) % N_ROWS < 8
    spreads = []
    for intercept in ("shared", True):
        model = OutputKernelRegressor("linear", Mean(100.0), fit_intercept=intercept)
        noise = model.fit(X[some], y[some], task=ids[some]).noise_variance_
        spreads.append(np.std(np.log(noise)))
    assert spreads[0] < 0.5 * spreads[1]


def test_units_and_origins_make_no_difference(fitted):
    model, (X, y, ids) = fitted
    far = clone(model).fit(X, 1000.0 * y - 3e4, task=ids)
    assert_allclose(far.structure_.gamma, model.structure_.gamma)
    expected = 1000.0 * model.predict(X) - 3e4
    assert_allclose(far.predict(X), expected, atol=1e-3 * 1000.0 * y.std())


def test_a_weight_of_two_is_the_row_twice():
    X, y, ids = tasks(1.0)
    weights = 1.0 + (np.arange(len(y)) % 3 == 0)
    model = OutputKernelRegressor("linear", "mean", 0.5, fit_intercept="shared")
    weighted = model.fit(X, y, sample_weight=weights, task=ids).predict(X)
    rows = np.repeat(np.arange(len(y)), weights.astype(int))
    twice = clone(model).fit(X[rows], y[rows], task=ids[rows])
    assert_allclose(model.y_scale_, twice.y_scale_)
    assert_allclose(weighted, twice.predict(X), rtol=1e-4)


def test_targets_that_are_not_normalised_have_a_constant_of_their_size():
    X, y, ids = tasks(0.0)
    few = is_few(ids)
    y = 100.0 * y
    search = OutputKernelRegressorCV(normalize_y=False).fit(
        X[few], y[few], task=ids[few]
    )
    first = search.cv_results_["param_kernel"][0]
    assert_allclose(first.right.value, y[few].var())
    assert_allclose(search.intercept_, y[few].mean())


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"structures": "mean"}, np.asarray),
        ({"kernel": "rbf"}, np.asarray),
        ({"kernels": "short_list"}, np.asarray),
        ({}, as_texts),
    ],
    ids=["structure", "kernel", "kernels", "sparse"],
)
def test_intercepts_are_free_where_something_is_named(given, kind):
    X, y, ids = tasks(3.0)
    few = is_few(ids)
    search = OutputKernelRegressorCV(alphas=[1.0], **given)
    search.fit(kind(X[few]), y[few], task=ids[few])
    assert np.ptp(search.y_scale_) > 0
    assert np.ptp(search.intercept_) > 0


def test_what_is_refused():
    X, y, ids = tasks(0.0)
    single = OutputKernelRegressor(fit_intercept="shared")
    with pytest.raises(ValueError, match=r"is only for fits with task\. Pass task"):
        single.fit(X, y)
    search = OutputKernelRegressorCV("rbf", fit_intercept="shared")
    with pytest.raises(ValueError, match="dense X and a kernel that is learned"):
        search.fit(X, y, task=ids)
    with pytest.raises(ValueError, match="True, False or 'shared', got 'own'"):
        single.set_params(fit_intercept="own").fit(X, y, task=ids)


def test_targets_in_columns_have_free_intercepts_after_tasks():
    X, y, ids = tasks(1.0)
    few = is_few(ids)
    search = OutputKernelRegressorCV(alphas=3, eps=1e-2).fit(
        X[few], y[few], task=ids[few]
    )
    search.fit(X[few], np.stack([y[few], -y[few]], axis=1))
    assert not isinstance(search.kernel_.right, Constant)
    assert_allclose(search.y_mean_, [y[few].mean(), -y[few].mean()])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_tasks_whose_targets_are_all_the_same_are_predicted():
    X, _, ids = tasks(0.0)
    few = is_few(ids)
    search = OutputKernelRegressorCV(alphas=3).fit(
        X[few], np.full(few.sum(), 7.0), task=ids[few]
    )
    assert_allclose(search.predict(X), 7.0)


@pytest.mark.parametrize(("factor", "said"), [(1e-3, True), (0.2, False)])
def test_tasks_of_other_sizes_are_named(factor, said):
    X, y, ids = tasks(1.0)
    rows = (ids < 4) & (np.arange(len(ids)) % N_ROWS < 8)
    X, y, ids = X[rows], y[rows], ids[rows]
    y = np.where(ids == 2, factor, 1.0) * y
    # a task of two rows may have any deviation
    X, y, ids = np.r_[X, X[:2]], np.r_[y, 20.0, 20.0001], np.r_[ids, 9, 9]
    search = OutputKernelRegressorCV(alphas=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, y, task=ids)
    found = [str(one.message) for one in caught]
    found = [text for text in found if "deviations of the targets of tasks" in text]
    assert len(found) == said
    assert all("those of the smallest, 2, hardly count" in text for text in found)


@pytest.mark.filterwarnings("error:The standard deviations of the targets")
def test_an_outlier_is_not_the_size_of_a_task():
    X, y, ids = tasks(1.0)
    rows = (ids < 4) & (np.arange(len(ids)) % N_ROWS < 12)
    X, y, ids = X[rows], y[rows].copy(), ids[rows]
    y[np.flatnonzero(ids == 1)[0]] = 1e5
    search = OutputKernelRegressorCV(alphas=3, loss="huber").fit(X, y, task=ids)
    assert np.median(np.abs(search.predict(X, task=ids) - y)) < 3.0


@pytest.mark.filterwarnings("error:The standard deviations of the targets")
def test_tasks_with_scales_of_their_own_may_have_any():
    X, y, ids = tasks(1.0)
    rows = (ids < 4) & (np.arange(len(ids)) % N_ROWS < 8)
    X, y, ids = X[rows], y[rows], ids[rows]
    y = np.where(ids == 2, 1e-3, 1.0) * y
    search = OutputKernelRegressorCV(structures="frobenius", alphas=3)
    assert search.fit(X, y, task=ids).score(X, y, task=ids) > 0


@pytest.mark.filterwarnings("error:The training part of")
def test_rows_of_tasks_that_have_no_other_say_how_tasks_are_related():
    """One large task alone would choose among the relations by its noise."""
    ours, of_large = [], []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        weights = rng.normal(size=4) + 0.3 * rng.normal(size=(31, 4))

        def rows(sizes, rng=rng, weights=weights):
            ids = np.repeat(np.arange(31), sizes)
            X = rng.normal(size=(len(ids), 4))
            noise = 0.5 * rng.normal(size=len(ids))
            return X, np.sum(X * weights[ids], axis=1) + noise, ids

        X, y, ids = rows([100] + 30 * [1])
        new, truth, asked = rows([0] + 30 * [10])
        search = OutputKernelRegressorCV().fit(X, y, task=ids)
        ours.append(mean_squared_error(truth, search.predict(new, task=asked)))
        alone = OutputKernelRegressorCV(structures="identity")
        predicted = alone.fit(X[:100], y[:100]).predict(new)
        of_large.append(mean_squared_error(truth, predicted))
    assert np.mean(ours) < np.mean(of_large)


def test_tasks_of_one_row_each_may_be_searched():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y, ids = X[:, 0] + 0.3 * rng.normal(size=60), np.arange(60)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "No kernel was learned")
        search = OutputKernelRegressorCV().fit(X, y, task=ids)
    new = rng.normal(size=(600, 3))
    truth, asked = new[:, 0] + 0.3 * rng.normal(size=600), np.arange(600) % 60
    low, high = search.predict_interval(new, 0.9, task=asked)
    assert 0.8 < np.mean((low <= truth) & (truth <= high)) < 0.97
    assert search.score(new, truth, task=asked) > 0.8
    with pytest.raises(ValueError, match="tasks without training rows"):
        OutputKernelRegressorCV(structures="frobenius", alphas=3).fit(X, y, task=ids)
