"""What searches and scores of quantiles are judged by, and the units they are in."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import HuberRegressor
from sklearn.metrics import d2_pinball_score, make_scorer, r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from okl import OutputKernelRegressor, OutputKernelRegressorCV
from okl.estimators.score_of_numbers import ScoreOfNumbers
from okl.estimators.search.held_out_regressor import HeldOutRegressor
from okl.estimators.units import in_units
from okl.kernels import Gaussian
from okl.losses import Huber, Quantile, Squared
from okl.problems import Observed
from tests.samples import draw

N, M = 90, 3
X, Y, _ = draw(N, M)
Y = Y + np.random.default_rng(1).exponential(Y.std(), Y.shape)
LOSSES = [(Quantile(0.8), 0.8), (Quantile(0.5), 0.5), (Huber(), 0.5)]


def units_of(y, loss=None, *, weights=None, free_intercept=True):
    observed = Observed(y, Huber() if loss is None else loss, weights)
    how = {"normalize": True, "free_intercept": free_intercept, "shared": False}
    return in_units(observed, **how)[0]


@pytest.mark.parametrize(("loss", "alpha"), LOSSES, ids=repr)
def test_the_score_is_d2_of_the_quantile(loss, alpha):
    model = OutputKernelRegressor(Gaussian(0.3), alpha=0.1, loss=loss).fit(X, Y)
    expected = d2_pinball_score(Y, model.predict(X), alpha=alpha)
    assert_allclose(model.score(X, Y), expected)
    assert model.score(X, Y) > 0.1


@pytest.mark.parametrize(("loss", "alpha"), LOSSES, ids=repr)
@pytest.mark.parametrize(
    ("n", "n_folds"), [(N, 2), (40, 8)], ids=["many rows", "few rows"]
)
def test_a_search_is_judged_by_it(loss, alpha, n, n_folds):
    rows, y = X[:n], Y[:n]
    folds = list(KFold(n_folds).split(rows))
    options = {"loss": loss, "cv": folds, "alphas": [10.0, 1.0, 0.1], "search": "full"}
    search = OutputKernelRegressorCV(Gaussian(0.3), "identity", **options)
    search.set_params(alpha_per_output=False, shift=0.0).fit(rows, y)
    column = np.flatnonzero(np.ravel(search.alphas_) == search.alpha_)[0]
    expected = []
    best = np.quantile(y, alpha, axis=0, method="averaged_inverted_cdf")
    spread = np.maximum(alpha * (y - best), (alpha - 1) * (y - best)).mean(axis=0)
    for train, test in folds:
        # units are those of all rows
        one = OutputKernelRegressor(Gaussian(0.3), "identity", search.alpha_, loss=loss)
        one.set_params(normalize_y=False)
        mean, scale = search.y_mean_, search.y_scale_
        one.fit(rows[train], (y[train] - mean) / scale)
        found = one.predict(rows[test]) * scale + mean
        if n_folds == 2:
            expected.append(d2_pinball_score(y[test], found, alpha=alpha))
        else:
            off = y[test] - found
            errors = np.maximum(alpha * off, (alpha - 1) * off).mean(axis=0)
            expected.append(1 - np.mean(errors / spread))
    # both are certified to a relative gap of 1e-6
    assert_allclose(search.scores_.reshape(3, n_folds)[column], expected, atol=5e-3)


def test_searches_of_scikit_learn_use_the_score():
    model = OutputKernelRegressor(Gaussian(0.3), loss=Quantile(0.9))
    scorer = make_scorer(d2_pinball_score, alpha=0.9)
    assert_allclose(
        cross_val_score(model, X, Y, cv=3),
        cross_val_score(model, X, Y, cv=3, scoring=scorer),
    )
    search = GridSearchCV(model, {"alpha": [0.1, 1.0]}, cv=3).fit(X, Y)
    assert search.best_score_ > 0


def test_a_quantile_far_from_the_middle_is_better_than_a_constant():
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, size=(400, 2))
    y = 4 * rows[:, 0] + (1.5 + rows[:, 1]) * rng.normal(size=400)
    train, test = np.arange(200), np.arange(200, 400)
    search = OutputKernelRegressorCV("rbf", "identity", loss=Quantile(0.95))
    search.fit(rows[train], y[train])
    below = np.mean(y[test] <= search.predict(rows[test]))
    assert 0.88 < below < 0.99
    assert search.score(rows[test], y[test]) > 0.2


def test_targets_far_away_do_not_decide():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(240, 4))
    clean = rows @ rng.normal(size=(4, 2)) + 0.5 * rng.normal(size=(240, 2))
    bad = rng.random(clean.shape) < 0.05
    y = clean + 30 * bad * rng.choice([-1, 1], size=bad.shape) * clean.std(axis=0)
    train, test = np.arange(150), np.arange(150, 240)
    search = OutputKernelRegressorCV(structures="identity", loss="huber")
    search.fit(rows[train], y[train])
    assert_allclose(search.y_scale_, clean.std(axis=0), rtol=0.25)
    found = r2_score(clean[test], search.predict(rows[test]))
    rival = [HuberRegressor().fit(rows[train], one) for one in y[train].T]
    theirs = np.column_stack([one.predict(rows[test]) for one in rival])
    assert found > r2_score(clean[test], theirs) - 0.02


def test_units_of_normal_targets_are_the_same():
    y = np.random.default_rng(0).normal(2.0, 3.0, size=(20_000, 2))
    robust, squared = units_of(y), units_of(y, Squared())
    assert_allclose(robust.mean, squared.mean, atol=0.1)
    assert_allclose(robust.scale, squared.scale, rtol=0.03)
    assert_allclose(squared.scale, y.std(axis=0))
    centred = units_of(y, free_intercept=False)
    assert_allclose(centred.mean, 0)
    within = np.mean(np.abs(y) <= 1.1503 * centred.scale, axis=0)
    assert_allclose(within, 0.75, atol=1e-3)


def test_units_of_rows_twice_are_those_of_weight_two():
    weights = np.random.default_rng(0).integers(3, size=(N, 1)).astype(float)
    one = units_of(Y, weights=weights)
    two = units_of(np.repeat(Y, weights[:, 0].astype(int), axis=0))
    assert_allclose(one.mean, two.mean)
    assert_allclose(one.scale, two.scale)


def test_units_follow_the_targets():
    one, two = units_of(Y), units_of(1e3 - 8.0 * Y)
    assert_allclose(two.mean, 1e3 - 8.0 * one.mean)
    assert_allclose(two.scale, 8.0 * one.scale)


@pytest.mark.parametrize("noise", [0.0, 1e-15, 1e-8])
def test_targets_that_are_mostly_the_same_have_a_part_of_the_mean_distance(noise):
    y = 1.0 + noise * np.arange(N)[:, None]
    y[::5] = 5.0
    mean = np.mean(np.abs(y - 1.0))
    assert_allclose(units_of(y).scale, 0.05 * mean * np.sqrt(np.pi / 2), rtol=1e-6)


@pytest.mark.parametrize("loss", ["huber", Quantile(0.9)], ids=repr)
@pytest.mark.parametrize("every", [2, 10, 45, 89])
def test_any_part_of_the_targets_may_be_the_same(every, loss):
    y = np.zeros(N)
    y[::every] = 1.0 + X[::every, 0]
    units = units_of(y[:, None])
    assert_allclose(units.mean, np.median(y))
    assert units.scale > 0.03 * np.mean(np.abs(y - units.mean))
    for task in (None, np.arange(N) % 2):
        model = OutputKernelRegressor(Gaussian(0.3), loss=loss).fit(X, y, task=task)
        asked = {} if task is None else {"task": task}
        assert np.all(np.isfinite(model.predict(X, **asked)))


def test_what_is_far_from_the_few_that_differ_does_not_count():
    y = np.zeros((N, 1))
    y[::15, 0] = np.arange(1.0, 7.0)
    y[3] = 1e6
    assert 0.01 < units_of(y).scale < 0.1


def test_two_of_three_rows_of_a_task_may_be_alike():
    task = np.repeat(["a", "b", "c"], [3, 30, 1])
    y = np.r_[0.0, 1e-3, 1.0, np.linspace(-1, 1, 30), 7.0]
    rows = np.random.default_rng(0).normal(size=(34, 2))
    model = OutputKernelRegressor(Gaussian(0.3), loss="huber").fit(rows, y, task=task)
    a, b, c = model.y_scale_
    assert 0.5 < a < 1.0
    assert 0.5 < b < 0.8
    assert a >= c >= b  # of a single row: that of the others
    assert_allclose(model.y_mean_, [1e-3, 0.0, 7.0], atol=1e-12)


@pytest.mark.parametrize(
    ("quantile", "own"), [(None, True), (0.5, True), (0.9, True), (0.95, False)]
)
def test_a_constant_that_fits_the_few_rows_of_a_fold_is_no_measure(quantile, own):
    folds = [(np.arange(45, 90), np.arange(45)), (np.arange(45), np.arange(45, 90))]
    stand_in = HeldOutRegressor(False, ScoreOfNumbers(quantile))
    assert (stand_in.for_folds(Y, folds, None).spread is None) == own


@pytest.mark.parametrize("weighted", [False, True])
def test_each_held_out_target_counts_once_where_an_output_has_few(weighted):
    y = np.array([[1.0, 2.0], [2.0, np.nan], [np.nan, np.nan], [3.0, 4.0]])
    weights = np.array([1.0, 2.0, 1.0, 0.5]) if weighted else np.ones(4)
    spread = np.array([0.5, 4.0])
    stand_in = HeldOutRegressor(False, ScoreOfNumbers(), spread)
    rows = weights[:, None] * np.isfinite(y)
    errors = np.nansum(weights[:, None] * y**2 / spread) / rows.sum()
    asked = {"sample_weight": weights} if weighted else {}
    assert_allclose(stand_in.score(np.zeros((4, 2)), y, **asked), 1 - errors)
    one = HeldOutRegressor(True, ScoreOfNumbers(), spread[:1])
    errors = np.nansum(weights * y[:, 0] ** 2 / 0.5) / rows[:, 0].sum()
    assert_allclose(one.score(np.zeros((4, 1)), y[:, 0], **asked), 1 - errors)


@pytest.mark.parametrize("far", [30.0, 1e6, -1e12])
@pytest.mark.parametrize("n", [20, 500])
def test_a_tenth_of_the_targets_may_be_anywhere(n, far):
    y = np.random.default_rng(0).normal(size=(n, 1))
    clean = units_of(y)
    y[::10] = far
    units = units_of(y)
    assert_allclose(units.scale, clean.scale, rtol=0.35)
    assert_allclose(units.mean, clean.mean, atol=0.25)
