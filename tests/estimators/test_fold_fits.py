"""Paths of folds go as far as the mean of all folds says, whatever one fold says."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import KFold

from okl import OutputKernelClassifierCV, OutputKernelRegressorCV
from okl.estimators.search.fold_fits import still_needed
from okl.selection.held_out import FoldScores, end_of_path
from tests.covering import later
from tests.samples import classes_of_sites

GRID = 10.0 ** -np.arange(6)


def fold(scores, n_fitted, dropped=()):
    """Return a fold that was fitted at the first alphas, but for some dropped."""
    fitted = np.arange(len(GRID)) < n_fitted
    found = FoldScores(
        np.where(fitted, scores, np.nan)[None],
        0.0,
        fitted[None],
        None,
        np.zeros((1, len(GRID)), dtype=bool),
    )
    some = np.zeros((1, len(GRID)), dtype=bool)
    some[0, list(dropped)] = True
    found.drop(some)
    return found


def needed(*folds, grid=GRID):
    means = np.mean([one.scores for one in folds], axis=0)
    return np.flatnonzero(still_needed(folds, means, grid[None], grid[:1])[0]).tolist()


RISING, FALLING = np.arange(6.0), -np.arange(6.0)


def test_a_path_ends_a_tenth_below_the_best_mean():
    alphas = [100.0, 10.0, 1.0]
    assert end_of_path([1.0, 3.0, 2.0], alphas, 100.0) == pytest.approx(1.0, 1e-2)
    assert end_of_path([1.0, 3.0, 3.0], alphas, 100.0) < 0.2
    assert end_of_path([1.0, np.nan, 3.0], alphas, 100.0) == 0.0
    # the second of these folds left at once
    assert needed(fold(3 * RISING, 6), fold(FALLING, 2)) == [2]
    assert needed(fold(3 * RISING, 6), fold(FALLING, 3)) == [3]
    assert needed(fold(3 * RISING, 6), fold(FALLING, 6)) == []
    rising_once = np.array([0.0, 3.0, -1.0, -2.0, -3.0, -4.0])
    assert needed(fold(rising_once, 3), fold(FALLING, 3)) == []
    # the mean of all may be best where each fold by itself was not
    assert needed(fold(RISING, 3), fold(RISING, 3)) == [3]


def test_no_path_ends_where_constants_are_best():
    assert end_of_path([3.0, 2.0, 1.0], [100.0, 10.0, 1.0], 100.0) == 0.0
    assert end_of_path([2.0, 3.0, 1.0], [100.0, 20.0, 1.0], 100.0) == 0.0
    assert needed(fold(RISING, 2), fold(3 * FALLING, 2)) == [2, 3, 4, 5]


@pytest.mark.parametrize("search", ["staged", "compare", "full"])
def test_a_column_of_noise_with_a_large_unit_ends_no_search(search):
    # it is fitted first, which is worse than a constant; the others pay much later
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 4)) * [1000, 1, 1, 1]
    Y = X[:, 1:] @ rng.normal(size=(3, 2)) + 0.3 * rng.normal(size=(100, 2))
    Y[0, 0] = np.nan
    model = OutputKernelRegressorCV("linear", "identity", search=search, eps=1e-6)
    assert model.fit(X, Y).best_score_ > 0.5


@pytest.mark.parametrize("largest", [0.3, 300.0])
def test_alphas_that_were_given_end_where_they_are_far_from_constants(largest):
    # the best is next to the first, far below where models are constants or near it
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = rng.integers(0, 2, size=60)
    alphas = largest * 10.0 ** -np.arange(6)
    model = OutputKernelClassifierCV("rbf", "identity", alphas=alphas).fit(X, y)
    means = model.scores_[0].mean(axis=-1)
    assert np.nanargmax(means) <= 1
    assert np.isnan(means[-1]) == (largest < 1)


def test_no_path_goes_below_what_was_clearly_behind():
    folds = fold(RISING, 4, dropped=[3]), fold(RISING, 3)
    # a tenth of the best one, the third, is above the fifth
    assert needed(*folds, grid=4.0 ** -np.arange(6)) == []
    assert needed(fold(RISING, 3), fold(RISING, 3), grid=4.0 ** -np.arange(6)) == [3, 4]


def test_what_was_dropped_is_not_fitted_again():
    one, other = fold(RISING, 4, dropped=[3]), fold(RISING, 3)
    assert needed(one, other) == []
    everything = fold(RISING, 4, dropped=range(4))
    assert needed(everything, fold(RISING, 0)) == []


def test_scores_of_further_alphas_join_the_others():
    one, more = fold(RISING, 2), fold(RISING, 4)
    more.drop(np.arange(6)[None] < 2)
    both = one.with_more(more)
    assert_array_equal(both.scores, fold(RISING, 4).scores)
    assert_array_equal(both.fitted, fold(RISING, 4).fitted)
    assert_array_equal(one.fitted, fold(RISING, 2).fitted)


@pytest.mark.parametrize("search", ["staged", "compare"])
@pytest.mark.parametrize("place", [0, 5])
def test_a_fold_unlike_the_others_ends_no_path(search, place):
    X, y, cv = classes_of_sites(place)
    alphas = np.geomspace(30, 1e-4, 10)
    found, full = (
        OutputKernelClassifierCV("rbf", alphas=alphas, search=way, cv=cv, tol=1e-7)
        for way in (search, "full")
    )
    found.fit(X, y), full.fit(X, y)
    assert found.alpha_ == full.alpha_
    assert found.best_score_ == pytest.approx(full.best_score_, abs=1e-4)
    means = found.scores_[0].mean(axis=-1)
    assert alphas[~np.isnan(means)].min() <= found.alpha_ / 9
    # and goes no further than it has to
    assert np.isnan(means[-1])


@pytest.mark.parametrize("n_folds", [20, *later(60)])
def test_many_small_folds_choose_as_one_that_fits_all(n_folds):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 2))
    Z = np.c_[np.sin(1.5 * X[:, 0]) * np.sin(1.5 * X[:, 1]), np.cos(X[:, 0])]
    Z += 0.05 * rng.normal(size=Z.shape)
    Z[rng.random(Z.shape) < 0.2] = np.nan
    folds = KFold(n_folds, shuffle=True, random_state=0)
    options = {"alphas": np.geomspace(30, 1e-9, 14), "cv": folds}
    options |= {"scoring": squared_error}
    found, full = (
        OutputKernelRegressorCV("rbf", "identity", search=way, **options).fit(X, Z)
        for way in ("staged", "full")
    )
    assert np.any(np.isnan(found.scores_))
    assert found.alpha_ == full.alpha_
    # fits that start elsewhere end within the same gap, which is that of scores
    assert found.best_score_ == pytest.approx(full.best_score_, rel=1e-2)


def squared_error(estimator, X, y):
    """Score as few rows as one, with targets that were not observed."""
    return -np.nanmean((estimator.predict(X) - y) ** 2)
