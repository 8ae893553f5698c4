"""Probabilities of labels with one row on a side."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from okl import OutputKernelClassifier, OutputKernelClassifierCV
from okl.coding.tasks import Tasks
from okl.estimators.rare_labels import RareLabels
from okl.losses import Logistic
from okl.problems import Observed

N = 40
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
EASY = (X @ RNG.normal(size=(3, 2)) > 0).astype(int)
ONE = np.arange(N) == 7
LABELS = np.column_stack([EASY[:, 0], ONE, ~ONE, EASY[:, 1]]).astype(float)
RATE = 1.5 / (N + 1)


def model_of(**options):
    return OutputKernelClassifier("rbf", "identity", 0.01, loss="logistic", **options)


@pytest.mark.parametrize("temperature", [1.0, [0.5, 2.0, 2.0, 1.0]])
def test_ends_are_drawn_half_way_to_what_is_known_without_inputs(temperature):
    model = model_of(temperature=temperature).fit(X, LABELS)
    scores, found = model.decision_function(X), model.predict_proba(X)
    p = expit(scores / temperature)
    assert_allclose(found[:, [0, 3]], p[:, [0, 3]], rtol=1e-9)
    p[:, 2] = 1 - p[:, 2]
    low = RATE / 2 + (1 - RATE) * p
    expected = np.where(p <= 0.5, low, 0.25 + p / 2)[:, [1, 2]]
    expected[:, 1] = 1 - expected[:, 1]
    assert_allclose(found[:, [1, 2]], expected, rtol=1e-9)


def test_neither_the_order_of_rows_nor_the_likelier_side_changes():
    new = np.random.default_rng(1).normal(size=(500, 3))
    new[0] = X[7]
    model = model_of().fit(X, LABELS)
    found, scores = model.predict_proba(new), model.decision_function(new)
    assert found[0, 1] > 0.5
    for j in range(4):
        assert_array_equal(np.argsort(found[:, j]), np.argsort(scores[:, j]))
    assert_array_equal(found > 0.5, model.predict(new))
    assert found[:, 1].min() >= RATE / 2
    assert found[:, 1].max() <= 0.75
    assert found[:, 2].max() <= 1 - RATE / 2


def test_no_label_is_next_to_impossible_after_a_search():
    new = np.random.default_rng(1).normal(size=(2000, 3))
    # a rare label that the others say nothing of
    rare = np.random.default_rng(2).random(2000) < 0.04
    search = OutputKernelClassifierCV(alphas=5).fit(X, LABELS[:, [0, 1, 3]])
    p = search.predict_proba(new)[:, 1]
    loss = -np.mean(np.where(rare, np.log(p), np.log1p(-p)))
    constant = -np.mean(np.where(rare, np.log(RATE), np.log1p(-RATE)))
    assert loss < constant + 0.15
    own = search.decision_function(new)[:, 1] / search.temperature_[1]
    of_fit = np.mean(np.logaddexp(0, np.where(rare, -own, own)))
    assert loss < of_fit / 2


def test_weights_of_zero_do_not_count_as_rows():
    twice = np.column_stack([ONE | (np.arange(N) == 8), EASY[:, 0]]).astype(float)
    weights = np.ones(N)
    model = model_of().fit(X, twice, sample_weight=weights)
    assert_allclose(model.predict_proba(X), expit(model.decision_function(X)))
    weights[8] = 0.0
    model = model_of().fit(X, twice, sample_weight=weights)
    p = expit(model.decision_function(X)[:, 0])
    rate = 1.5 / N
    expected = np.where(p <= 0.5, rate / 2 + (1 - rate) * p, 0.25 + p / 2)
    assert_allclose(model.predict_proba(X)[:, 0], expected)


def test_tasks_have_relatives_and_are_left_as_they_are():
    signs = np.where(np.arange(12) % 6 == 0, 1.0, -1.0)[:, None]
    tasks = Tasks(np.repeat([0, 1], 6), 2)
    scores = np.linspace(-3, 3, 24).reshape(12, 2)
    long = RareLabels.of(Observed(signs, Logistic(), tasks=tasks))
    assert_array_equal(long.scores(scores, 1.0), scores)
    wide = RareLabels.of(Observed(signs[:6], Logistic()))
    assert np.all(wide.scores(scores[:, :1], 1.0) != scores[:, :1])


def test_without_an_intercept_and_after_pickling():
    model = model_of(fit_intercept=False).fit(X, LABELS)
    assert_allclose(model.predict_proba(X), expit(model.decision_function(X)))
    model = model_of().fit(X, LABELS)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
