"""The log likelihood of rows is what scikit-learn's scorer says, without its checks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from okl import OutputKernelClassifierCV
from okl.coding.labels import LogOdds, OneHot
from okl.estimators.label_coder import LabelCoder
from okl.estimators.search.held_out_classifier import HeldOutClassifier
from okl.estimators.search.judge import Judge
from okl.estimators.search.race import PartScores
from okl.estimators.search.row_scores import RowScores
from okl.estimators.search.trial import Trial
from okl.kernels import Gaussian
from okl.losses import Softmax
from okl.selection.cautious_alpha import cautious_alpha

# What holds so many rows out that a search races.
ROWS = 240


def by_hand(model, X, y):
    """Return what ``scoring="neg_log_loss"`` stands for, as a function."""
    return -log_loss(y, model.predict_proba(X), labels=model.classes_)


def drawn(n_classes, seed=0):
    """Return rows, and labels that are words."""
    rng = np.random.default_rng(seed)
    y = np.arange(ROWS) % n_classes
    X = rng.normal(size=(ROWS, 4)) + 0.7 * y[:, None] * rng.normal(size=4)
    return X, np.array(["wren", "owl", "lark", "kite"])[y]


@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [1.0, 50.0])
@pytest.mark.parametrize(
    ("coding", "n_classes"), [(OneHot, 4), (OneHot, 2), (LogOdds, 2)]
)
def test_their_mean_is_the_score_of_scikit_learn(
    coding, n_classes, size, weighted, temperature
):
    rng = np.random.default_rng(0)
    _, y = drawn(n_classes)
    weights = rng.exponential(size=ROWS) if weighted else None
    kind = "binary" if n_classes == 2 else "multiclass"
    coder = LabelCoder(np.unique(y), kind, coding(), temperature)
    rows = rng.permutation(ROWS)[:90]
    # probabilities of zero, clipped by both, are among the larger ones
    predictions = size * rng.normal(size=(90, 1 if coding is LogOdds else n_classes))
    scores = RowScores.of(coder, y, weights)
    of_rows = None if weights is None else weights[rows]
    expected = -log_loss(
        y[rows],
        np.exp(coder.log_probabilities(predictions)),
        labels=coder.classes,
        sample_weight=of_rows,
    )
    assert np.mean(scores(predictions, rows)) == pytest.approx(expected)


def test_a_label_that_is_no_class_has_none():
    coder = LabelCoder(np.array(["a", "b", "c"]), "multiclass", OneHot())
    assert RowScores.of(coder, np.array(["a", "c"]), None) is not None
    for strange in ("0", "bb", "d"):
        assert RowScores.of(coder, np.array(["a", strange]), None) is None


@pytest.mark.parametrize("temperature", ["auto", 1.0])
@pytest.mark.parametrize("loss", ["softmax", "logistic"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.each_value
def test_a_search_chooses_as_with_the_scorer(n_classes, loss, temperature):
    X, y = drawn(n_classes)

    def fitted(scoring):
        model = OutputKernelClassifierCV(
            kernels=["rbf", "linear"],
            tol=1e-4,
            alphas=[1.0, 0.1],
            loss=loss,
            cv=2,
            search="full",
            temperature=temperature,
            scoring=scoring,
        )
        return model.fit(X, y)

    expected = fitted(by_hand)
    for scoring in (None, "neg_log_loss"):
        found = fitted(scoring)
        assert_allclose(found.scores_, expected.scores_, rtol=1e-9)
        assert found.alpha_ == expected.alpha_


def test_rows_count_by_their_weights():
    X, y = drawn(3)
    weights = np.random.default_rng(1).integers(1, 4, ROWS).astype(float)

    repeated = np.repeat(np.arange(ROWS), weights.astype(int))
    # the same folds, of copies of the rows
    splits = list(StratifiedKFold(3).split(X, y))
    copies = [
        tuple(np.flatnonzero(np.isin(repeated, part)) for part in parts)
        for parts in splits
    ]
    kernel = {"kernel": "rbf", "alphas": [1.0, 0.1], "search": "full", "tol": 1e-8}
    one = OutputKernelClassifierCV(cv=splits, **kernel)
    other = OutputKernelClassifierCV(cv=copies, **kernel)
    one.fit(X, y, sample_weight=weights)
    other.fit(X[repeated], y[repeated])
    assert_allclose(one.scores_, other.scores_, rtol=1e-3)
    one.fit(X, y)
    assert np.any(np.abs(one.scores_ / other.scores_ - 1) > 1e-2)


def test_a_fold_may_lack_a_class():
    X, y = drawn(4)
    rows = np.arange(ROWS)
    folds = [(rows[rows % 3 != k], rows[rows % 3 == k]) for k in range(3)]
    folds[0] = folds[0][0], folds[0][1][y[folds[0][1]] != "owl"]
    given = {"kernels": ["rbf"], "alphas": [1.0, 0.1], "cv": folds}
    found = OutputKernelClassifierCV(scoring="neg_log_loss", **given).fit(X, y)
    expected = OutputKernelClassifierCV(scoring=by_hand, **given).fit(X, y)
    assert_allclose(found.scores_, expected.scores_, rtol=1e-9)


def test_a_race_compares_the_rows_that_count():
    _, y = drawn(4)
    coder = LabelCoder(np.unique(y), "multiclass", OneHot())
    weights = np.random.default_rng(1).exponential(size=ROWS)
    rows = np.arange(0, ROWS, 3)
    weights[rows[4::10]] = 0.0
    plain = RowScores.of(coder, y, None)
    predictions = np.random.default_rng(0).normal(size=(len(rows), 4))
    one_by_one = plain(predictions, rows)

    def raced(by_row):
        stand_in = HeldOutClassifier(coder, Softmax())
        judge = Judge(None, stand_in, y, {}, None, None, by_row)
        return PartScores(judge, rows[:0])(predictions, rows)

    found = raced(plain)
    assert_allclose(found[1:], one_by_one)
    assert found[0] == pytest.approx(one_by_one.mean())
    found = raced(RowScores.of(coder, y, weights))
    assert found[0] == pytest.approx(np.average(one_by_one, weights=weights[rows]))
    counts = weights[rows] > 0
    ratios = (found[1:] / one_by_one[counts]) / weights[rows][counts]
    assert_allclose(ratios, ratios[0])
    assert found[1:].mean() == pytest.approx(found[0])
    assert np.all(np.isnan(raced(RowScores.of(coder, y, 0 * weights))))


def test_they_say_how_many_rows_there_are():
    _, y = drawn(3)
    coder = LabelCoder(np.unique(y), "multiclass", OneHot())
    weights = np.arange(ROWS) % 3 / 2
    rows = np.r_[np.arange(30), np.arange(15)]  # some are held out twice
    assert RowScores.of(coder, y, None).n_rows(rows) == 30
    assert RowScores.of(coder, y, weights).n_rows(rows) == 15


@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
def test_few_rows_choose_a_cautious_alpha(scoring):
    rng = np.random.default_rng(8)
    y = np.arange(10) % 2
    X = rng.normal(size=(10, 3)) + y[:, None]
    model = OutputKernelClassifierCV(Gaussian(0.3), search="full", scoring=scoring)
    means = model.fit(X, y).scores_[0].mean(axis=-1)
    at = cautious_alpha(model.alphas_[0], means, 10.0)
    assert at < np.argmax(means)
    assert model.alpha_ == model.alphas_[0, at]
    assert model.best_score_ == means[at]
    assert model.temperature_ == model.cv_results_["temperature"][at]
    assert_array_equal(model.cv_results_["chosen_alpha"], np.arange(len(means)) == at)
    # what is not a log likelihood, and alphas that were given, are taken as they are
    others = {"scoring": "accuracy"}, {"alphas": model.alphas_[0]}
    for other in others:
        model.set_params(**{"scoring": scoring} | other).fit(X, y)
        means = model.scores_[0].mean(axis=-1)
        assert model.alpha_ == model.alphas_[0, np.argmax(means)]


def test_a_race_is_against_the_likeliest_though_a_cautious_alpha_is_chosen():
    scores = np.array([[[-0.70], [-0.60], [-0.59]]])
    race = np.arange(6.0).reshape(1, 3, 2)
    alphas = np.array([[1.0, 0.1, 0.01]])
    trial = Trial(None, None, [], alphas, scores, 0.0, None, race=race, n_likely=10.0)
    assert trial.chosen == (0, 1)
    assert trial.score == -0.60
    assert trial.best == -0.59
    assert_allclose(trial.rival, race[0, 2])
