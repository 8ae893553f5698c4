"""Candidates that are clearly behind on the first fold are left out of the others."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons
from sklearn.metrics import accuracy_score, make_scorer

from okl import OutputKernelClassifierCV, OutputKernelRegressorCV
from okl.datasets import make_text_tree
from okl.estimators.search.race import PartScores, can_race, in_the_race
from okl.estimators.search.trials import Experiment
from okl.kernels import Gaussian, Linear
from okl.structures import Identity, Tree
from tests.covering import later
from tests.samples import classes_of_sites

ALPHAS = np.geomspace(10, 1e-3, 5)


def drawn(seed, n=400):
    """Return texts of classes in a tree, and structures that suit them more or less."""
    X, labels, tree = make_text_tree(
        n, (3, 4), n_words=150, length=30, random_state=seed
    )
    ratios = (0.03, 0.5, 0.97)
    return X, labels, [Tree(tree, [r, 1 - r], "level") for r in ratios]


def searched(X, labels, structures, **parameters):
    """Fit a search on a short grid, without the warning that it is short."""
    # folds are fitted to a hundred times the tolerance: close enough to tell structures
    given = {"alphas": ALPHAS, "cv": 3, "loss": "softmax", "tol": 1e-8}
    model = OutputKernelClassifierCV("linear", structures, **given | parameters)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The alpha chosen")
        return model.fit(X, labels)


@pytest.mark.parametrize("temperature", ["auto", 1.0])
@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
@pytest.mark.parametrize("seed", [0, *later(1, 2)])
def test_what_is_left_out_would_not_have_won(seed, scoring, temperature):
    options = {"temperature": temperature, "scoring": scoring}
    data = drawn(seed)
    full = searched(*data, search="full", **options)
    staged = searched(*data, **options)
    compare = searched(*data, search="compare", **options)
    means = full.scores_.mean(axis=-1)
    left_out = np.isnan(staged.scores_.mean(axis=-1))
    assert not np.any(np.isnan(means))
    # more than the ends of paths, by the race alone
    raced = np.all(np.isnan(staged.scores_), axis=-1)
    assert np.any(raced & ~np.isnan(compare.scores_.mean(axis=-1)))
    best = np.unravel_index(np.argmax(means), means.shape)
    assert not left_out[best]
    assert np.all(means[left_out] < means[best])
    assert staged.alpha_ == full.alpha_
    assert str(staged.structure_) == str(full.structure_)
    assert staged.best_score_ == pytest.approx(full.best_score_, rel=1e-2)
    assert_allclose(
        staged.scores_[~left_out], full.scores_[~left_out], rtol=2e-2, atol=1e-2
    )
    if temperature == "auto":
        assert_array_equal(
            np.isnan(staged.cv_results_["temperature"]), left_out.ravel()
        )


def test_to_compare_every_structure_has_a_score():
    model = searched(*drawn(0), search="compare", tol=1e-5)
    assert np.all(np.isfinite(np.nanmax(model.scores_.mean(axis=-1), axis=1)))


def test_accuracies_race_too():
    data = drawn(0)
    full = searched(*data, search="full", scoring="accuracy", tol=1e-5)
    staged = searched(*data, scoring="accuracy", tol=1e-5)
    left_out = np.isnan(staged.scores_.mean(axis=-1))
    assert np.any(left_out)
    assert np.all(full.scores_.mean(axis=-1)[left_out] < full.best_score_)


@pytest.mark.parametrize("form", ["long", *later("missing")])
def test_squared_losses_race_where_each_alpha_is_a_fit(form):
    rng = np.random.default_rng(0)
    n, m = 250, 5
    X, ids = rng.normal(size=(n, 3)), np.arange(n) % m
    slopes = rng.normal(size=3) + 0.3 * rng.normal(size=(m, 3))
    Y = X @ slopes.T + 0.5 * rng.normal(size=(n, m))
    if form == "missing":
        Y[rng.random(size=Y.shape) < 0.5] = np.nan
        given, params = (X, Y), {}
    else:
        given, params = (X, Y[np.arange(n), ids]), {"task": ids}
    structures = ["identity", "frobenius"]
    options = {"alphas": np.geomspace(100, 1e-3, 8), "cv": 3}
    full, staged = (
        OutputKernelRegressorCV("rbf", structures, search=way, **options).fit(
            *given, **params
        )
        for way in ("full", "staged")
    )
    means = full.scores_.mean(axis=-1)
    left_out = np.isnan(staged.scores_.mean(axis=-1))
    assert np.any(left_out)
    assert np.all(means[left_out] < full.best_score_)
    assert staged.alpha_ == full.alpha_
    assert str(staged.structure_) == str(full.structure_)


def whole_folds_only(truth, predicted):
    """Return the accuracy, which a few rows do not have."""
    if len(truth) < 60:
        raise ValueError("too few rows")
    return accuracy_score(truth, predicted)


@pytest.mark.parametrize(
    ("n", "scorer"),
    [
        (240, make_scorer(whole_folds_only)),
        (120, make_scorer(accuracy_score)),
        (57, None),
    ],
)
def test_where_blocks_have_no_score_all_is_fitted(n, scorer):
    data = drawn(0, n)
    one, other = (
        searched(*data, scoring=scorer, search=search, alphas=ALPHAS[:3], tol=1e-5)
        for search in ("staged", "compare")
    )
    assert_array_equal(one.scores_, other.scores_)


def test_the_squared_loss_has_no_race():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    Y = X @ rng.normal(size=(4, 3))
    model = OutputKernelRegressorCV(
        "linear", ["identity", "frobenius"], alphas=ALPHAS, cv=3
    )
    assert not np.any(np.isnan(model.fit(X, Y).scores_))


def test_other_losses_of_regression_race():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    Y = X @ rng.normal(size=(4, 2)) + rng.standard_t(4, size=(300, 2))
    options = {"alphas": np.geomspace(1e4, 1, 5), "cv": 3, "loss": "huber"}
    options |= {"tol": 1e-4}
    full, staged = (
        OutputKernelRegressorCV("linear", "identity", search=search, **options).fit(
            X, Y
        )
        for search in ("full", "staged")
    )
    assert staged.alpha_ == full.alpha_
    left_out = np.isnan(staged.scores_.mean(axis=-1))
    assert np.any(np.all(np.isnan(staged.scores_), axis=-1))
    assert np.all(full.scores_.mean(axis=-1)[left_out] < full.best_score_)


@pytest.mark.parametrize("order", [[0, 1, 2], *later([2, 1, 0])])
def test_kernels_race(order):
    X, y = make_moons(500, noise=0.15, random_state=0)
    kernels = [Gaussian(2.0), Linear(), Gaussian(1e-3)]
    options = {"kernels": [kernels[k] for k in order], "alphas": 4, "cv": 3}
    options |= {"tol": 1e-5, "scoring": "neg_log_loss"}
    full, staged = (
        OutputKernelClassifierCV(search=search, **options).fit(X, y)
        for search in ("full", "staged")
    )
    assert repr(staged.kernel_) == repr(full.kernel_)
    assert staged.alpha_ == pytest.approx(full.alpha_)
    # the same fits are not done again in a second stage
    assert_array_equal(staged.cv_results_["stage"], np.full(12, 2))
    means = staged.cv_results_["mean_test_score"]
    left_out = np.isnan(means)
    if order[0] == 0:  # the best one comes first
        assert np.all(left_out[4:])
    assert np.all(full.cv_results_["mean_test_score"][left_out] < full.best_score_)
    assert np.all(staged.cv_results_["rank_test_score"][left_out] > 1)


@pytest.mark.parametrize("place", [0, 5])
def test_a_fold_unlike_the_others_does_not_end_the_race_of_kernels(place):
    """The best alpha of the first kernel may be one that it was fitted at later."""
    X, y, cv = classes_of_sites(place)
    original, rivals = Experiment.run, []

    def run(self, kernel, structures, step, rival=None):
        rivals.append(rival)
        return original(self, kernel, structures, step, rival)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Experiment, "run", run)
        OutputKernelClassifierCV(
            kernels=[Gaussian(0.5), Linear()],
            alphas=np.geomspace(30, 1e-4, 10),
            cv=cv,
            tol=1e-5,
        ).fit(X, y)
    assert rivals[0] is None
    assert np.all(np.isfinite(rivals[1]))


def test_an_edge_of_the_grid_is_noticed_where_all_else_is_left_out():
    X, labels, _ = drawn(0)
    search = OutputKernelClassifierCV(
        "linear", alphas=[1e3, 1e2, 1.0], cv=3, temperature=1.0, tol=1e-4
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.warns(UserWarning, match="is the smallest of its grid"):
            search.fit(X, labels)
    assert np.all(np.isnan(search.scores_[0, :2]))


class TestBlocks:
    """What is compared on a fold."""

    @staticmethod
    def of(rows, neutral, score=np.mean):
        """Return the scores of blocks where each row has a score of its own."""

        class Stub:
            by_row = None

            def suited_to(self, predictions, test):
                return self

            def __call__(self, predictions, test):
                return float(score(predictions))

        return PartScores(Stub(), neutral)(rows[:, None], np.arange(len(rows)))

    @pytest.mark.parametrize("n_neutral", [0, 7])
    def test_their_differences_are_those_of_their_rows(self, n_neutral):
        one, two = np.random.default_rng(0).normal(size=(2, 83))
        a, b = (self.of(rows, np.arange(n_neutral)) for rows in (one, two))
        assert a[0] == pytest.approx(one.mean())
        sizes = np.array([len(one[first::10]) for first in range(10)])
        own = [(one - two)[first::10].mean() for first in range(10)]
        assert_allclose((a - b)[1:], own * sizes / (sizes + n_neutral), atol=1e-12)

    def test_a_score_that_a_block_lacks_is_unknown(self):
        def score(predictions):
            if len(predictions) < 20:
                raise ValueError("too few")
            return 0.5

        found = self.of(np.zeros(100), np.arange(0), score)
        assert_array_equal(found, [0.5] + [np.nan] * 10)

    @pytest.mark.parametrize(("by_row", "fewest"), [(None, 50), ("rows", 20)])
    def test_few_rows_have_none(self, by_row, fewest):
        judge = SimpleNamespace(by_row=by_row)
        assert not can_race(np.arange(fewest - 1), judge)
        assert can_race(np.arange(fewest), judge)

    def test_how_hard_rows_are_has_no_say(self):
        rng = np.random.default_rng(0)
        quality = np.array([[0.0, -0.05], [-0.01, -1.0]])
        rows = 0.01 * rng.normal(size=(2, 2, 10))
        scores = quality[..., None] + rows
        scores = np.concatenate([scores.mean(-1)[..., None], scores], axis=-1)
        fitted = np.ones((2, 2), dtype=bool)
        found = in_the_race(fitted, scores)
        assert_array_equal(found, [[True, False], [True, False]])
        hard = np.concatenate([[0.0], 50 * rng.normal(size=10)])
        assert_array_equal(in_the_race(fitted, scores + hard), found)
        assert_array_equal(in_the_race(fitted, 3 * scores), found)

    def test_another_kernel_may_be_ahead_of_all(self):
        scores = np.broadcast_to([[[0.0], [-0.1]]], (1, 2, 11))
        fitted = np.ones((1, 2), dtype=bool)
        assert_array_equal(in_the_race(fitted, scores, np.full(11, -0.5))[0], [1, 0])
        assert_array_equal(in_the_race(fitted, scores, np.full(11, 0.5))[0], [0, 0])

    def test_what_is_unknown_stays(self):
        scores = np.zeros((1, 4, 11))
        scores[0, 1] = -1.0
        scores[0, 2, 4] = np.nan
        scores[0, 3] = -np.inf
        fitted = np.array([[True, True, True, True]])
        assert_array_equal(in_the_race(fitted, scores), [[True, False, True, True]])
        unknown = np.full((1, 4, 11), np.nan)
        assert_array_equal(in_the_race(fitted, unknown), fitted)


def test_independent_outputs_race_by_alpha():
    X, labels, _ = drawn(1)
    full, staged = (
        searched(X, labels, [Identity()], search=search, alphas=7, tol=1e-5)
        for search in ("full", "staged")
    )
    assert staged.alpha_ == pytest.approx(full.alpha_)
    assert np.any(np.isnan(staged.scores_))
