"""A kernel is learned from the most frequent of very many classes or labels."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from okl import OutputKernelClassifierCV
from okl.estimators.search import frequent_classes
from okl.estimators.search.frequent_classes import most_frequent
from okl.estimators.search.learnable_targets import of_learnable_outputs
from okl.estimators.search.plan import planned
from okl.losses import Logistic, Softmax, Squared
from okl.problems import Observed

N_CLASSES = 8
COUNTS = np.array([9, 2, 7, 7, 1, 3, 8, 7])
CODES = np.repeat(np.arange(N_CLASSES), COUNTS)
ONE_HOT = np.eye(N_CLASSES)[CODES]


@pytest.fixture(autouse=True)
def limits(monkeypatch):
    monkeypatch.setattr(frequent_classes, "_FEW", 3)
    monkeypatch.setattr(frequent_classes, "_MOST", 4 * 32.0**2)


def of_classes(seed=0):
    return of_learnable_outputs(Observed(ONE_HOT, Softmax()), seed)


def test_the_most_frequent_classes_are_kept_with_their_rows():
    rows, some = of_classes()
    assert some.n_outputs == 4  # 9 + 8 + 7 + 7 rows: fewer than 32
    kept = np.unique(CODES[rows])
    assert {0, 6} < set(kept) <= {0, 2, 3, 6, 7}
    assert_array_equal(rows, np.flatnonzero(np.isin(CODES, kept)))
    assert_array_equal(some.targets, ONE_HOT[rows][:, kept])


def test_the_seed_chooses_among_classes_that_are_as_frequent():
    kept = {tuple(np.unique(CODES[of_classes(seed)[0]])) for seed in range(20)}
    assert kept == {(0, 2, 3, 6), (0, 2, 6, 7), (0, 3, 6, 7)}
    assert_array_equal(of_classes(1)[0], of_classes(1)[0])


def test_a_few_classes_are_kept_whatever_they_cost(monkeypatch):
    monkeypatch.setattr(frequent_classes, "_MOST", 0.0)
    assert of_classes()[1].n_outputs == 3


def test_all_classes_are_kept_if_they_cost_little(monkeypatch):
    n = COUNTS.sum() - 1  # one class has a single row
    for most, n_classes in (((N_CLASSES - 1) * n**2, N_CLASSES - 1), (7 * n**2 - 1, 6)):
        monkeypatch.setattr(frequent_classes, "_MOST", float(most))
        assert of_classes()[1].n_outputs == n_classes
    monkeypatch.setattr(frequent_classes, "_FEW", N_CLASSES)
    # a random state is not moved where nothing is drawn
    state = np.random.RandomState(0)
    of_classes(state)
    assert state.randint(1000) == np.random.RandomState(0).randint(1000)


def labels(n=40, n_labels=8):
    """Label j has j + 5 rows, or all but so many where j is odd."""
    columns = np.full((n, n_labels), -1.0)
    for j in range(n_labels):
        columns[: j + 5, j] = 1.0
    columns[:, 1::2] *= -1
    return columns


def test_labels_are_kept_whose_rarer_value_is_frequent(monkeypatch):
    monkeypatch.setattr(frequent_classes, "_MOST", 40.0**2 * 4)
    rows, some = of_learnable_outputs(Observed(labels(), Logistic()), 0)
    assert len(rows) == 40
    assert_array_equal(some.targets, labels()[:, 4:])


def test_labels_of_rows_of_their_own_cost_these_rows():
    given = np.zeros((48, 6))
    for j in range(6):
        given[8 * j : 8 * j + 8, j] = 1.0
    columns = np.where(np.arange(48)[:, None] % 8 < [4, 4, 3, 4, 3, 4], 1.0, -1.0)
    rows, some = of_learnable_outputs(Observed(columns, Logistic(), given), 0)
    # all six take 48^2 x 6, and the four that have as many rows of both values 32^2 x 4
    assert_array_equal(some.weights.sum(axis=0), 8.0)
    assert_array_equal(rows, np.flatnonzero(given[:, [0, 1, 3, 5]].any(axis=1)))


def test_numbers_are_all_kept():
    targets = np.random.default_rng(0).normal(size=(200, 12))
    rows, some = of_learnable_outputs(Observed(targets, Squared()), 0)
    assert some.n_outputs == 12
    assert len(rows) == 200


def test_costs_are_those_of_the_classes_kept():
    rows = np.eye(N_CLASSES, dtype=bool)[CODES]
    assert len(most_frequent(COUNTS, rows, 0)) == 4
    together = np.ones((31, N_CLASSES), dtype=bool)
    assert len(most_frequent(COUNTS, together, 0)) == 4
    assert_array_equal(most_frequent(COUNTS[:3], rows[:, :3], 0), [0, 1, 2])


def test_a_kernel_learned_from_some_classes_tells_all_apart():
    rng = np.random.default_rng(0)
    centres = 3 * rng.normal(size=(N_CLASSES, 3))
    codes = np.repeat(np.arange(N_CLASSES), 10)
    X = centres[codes] + 0.5 * rng.normal(size=(80, 3))
    model = OutputKernelClassifierCV(cv=3, random_state=0)
    *_, search = planned(clone(model), X, codes, None, None, {})
    assert search.learning.observed.n_outputs == 3
    model.fit(X, codes)
    assert len(model.classes_) == N_CLASSES
    assert model.score(X, codes) > 0.9
