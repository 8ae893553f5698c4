"""A kernel is learned from the most frequent of very many classes, then from all."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from okl import OutputKernelClassifierCV
from okl.losses import Logistic, Softmax, Squared
from okl.problems import Observed
from okl.selection import frequent_classes as chosen
from okl.selection import kernel_of_folds as recipe
from okl.selection.frequent_classes import frequent_classes, sizes_to_learn_from
from okl.selection.standard_rows import StandardRows

COUNTS = np.array([9, 2, 7, 7, 3, 8, 7])
CODES = np.repeat(np.arange(7), COUNTS)
# The rows of class 3 are the nearest to the mean, and of class 6 next to these.
AWAY = np.array([5.0, 5.0, 4.0, 1.0, 5.0, 5.0, 3.0])
Z = AWAY[CODES, None] * np.sign(np.random.default_rng(0).normal(size=(43, 2)))
FOLDS = [(np.flatnonzero(np.arange(43) % 2 != k), np.arange(k, 43, 2)) for k in (0, 1)]


@pytest.fixture(autouse=True)
def limits(monkeypatch):
    monkeypatch.setattr(chosen, "_FEW", 3)
    monkeypatch.setattr(chosen, "_MOST", 4 * 32.0**2)


def rows_of(targets, loss, weights=None, Z=Z):
    return StandardRows(Z, Observed(targets, loss, weights), True, None)


CLASSES = rows_of(np.eye(7)[CODES], Softmax())


def test_the_most_frequent_classes_are_kept_with_their_rows():
    some, kept = frequent_classes(CLASSES), [0, 3, 5, 6]
    assert_array_equal(some.classes, kept)  # 9 + 7 + 8 + 7 rows: fewer than 32
    assert_array_equal(some.rows, np.flatnonzero(np.isin(CODES, some.classes)))
    few = some.of(CLASSES)
    assert_array_equal(few.Z, Z[some.rows])
    assert_array_equal(few.observed.targets, np.eye(7)[CODES[some.rows]][:, kept])
    assert sizes_to_learn_from(CLASSES.observed) == (31, 4)


def test_what_classes_are_called_does_not_matter():
    # those that are as frequent go by how far their rows are from the mean
    names = np.random.default_rng(1).permutation(7)
    renamed = rows_of(np.eye(7)[names[CODES]], Softmax())
    kept = frequent_classes(renamed).classes
    assert_array_equal(np.sort(names[[0, 3, 5, 6]]), kept)


def test_folds_are_those_of_the_rows_that_are_kept():
    some = frequent_classes(CLASSES)
    folds = some.folds(FOLDS, 43)
    assert len(folds) == 2
    for (train, test), (few, held_out) in zip(FOLDS, folds, strict=True):
        for numbers, rows in ((few, train), (held_out, test)):
            kept = np.isin(CODES[rows], some.classes)
            assert_array_equal(some.rows[numbers], rows[kept])
    alone = [(np.flatnonzero(CODES != 1), np.flatnonzero(CODES == 1)), *FOLDS]
    assert len(some.folds(alone, 43)) == 2  # nothing is held out there


def test_weights_of_rows_are_kept():
    weights = np.arange(43.0)[:, None] + 1
    rows = StandardRows(
        Z, Observed(np.eye(7)[CODES], Softmax(), weights), True, weights[:, 0]
    )
    some = frequent_classes(rows)
    assert_array_equal(some.of(rows).row_weights, weights[some.rows, 0])
    assert_array_equal(some.of(rows).observed.weights, weights[some.rows])


def test_a_few_classes_are_kept_whatever_they_cost(monkeypatch):
    monkeypatch.setattr(chosen, "_MOST", 0.0)
    assert len(frequent_classes(CLASSES).classes) == 3
    monkeypatch.setattr(chosen, "_FEW", 7)
    assert frequent_classes(CLASSES) is None


def test_all_classes_are_used_if_they_cost_little(monkeypatch):
    monkeypatch.setattr(chosen, "_MOST", 7 * 43.0**2)
    assert frequent_classes(CLASSES) is None
    assert sizes_to_learn_from(CLASSES.observed) == (43, 7)
    monkeypatch.setattr(chosen, "_MOST", 7 * 43.0**2 - 1)
    assert len(frequent_classes(CLASSES).classes) == 6


def test_labels_are_kept_whose_rarer_value_is_frequent(monkeypatch):
    monkeypatch.setattr(chosen, "_MOST", 40.0**2 * 4)
    labels = np.full((40, 8), -1.0)
    for j in range(8):
        labels[: j + 5, j] = 1.0
    labels[:, 1::2] *= -1
    rows = rows_of(labels, Logistic(), Z=np.ones((40, 2)))
    some = frequent_classes(rows)
    assert_array_equal(some.classes, [4, 5, 6, 7])
    assert_array_equal(some.rows, np.arange(40))


def test_labels_of_rows_of_their_own_cost_these_rows():
    given = np.zeros((48, 6))
    for j in range(6):
        given[8 * j : 8 * j + 8, j] = 1.0
    labels = np.where(np.arange(48)[:, None] % 8 < [4, 4, 3, 4, 3, 4], 1.0, -1.0)
    rows = rows_of(labels, Logistic(), given, np.ones((48, 2)))
    some = frequent_classes(rows)
    # all six take 48^2 x 6, and the four that have as many rows of both values 32^2 x 4
    assert_array_equal(some.classes, [0, 1, 3, 5])
    assert_array_equal(some.rows, np.flatnonzero(given[:, some.classes].any(axis=1)))


def test_numbers_are_all_used():
    assert frequent_classes(rows_of(np.eye(7)[CODES], Squared())) is None


def test_the_last_steps_are_of_all_classes():
    sizes, found = [], []

    class Spy(StandardRows):
        def learned(self, start, criterion, max_iter, *, near=False):
            sizes.append((len(self.Z), criterion.observed.n_outputs, max_iter, near))
            found.append(super().learned(start, criterion, max_iter, near=near))
            return found[-1]

    rows = Spy(Z, CLASSES.observed, True, None)
    number, kernel = recipe.kernel_of_folds([rows], FOLDS)
    assert number == 0
    *few, last = sizes
    assert {size[:2] for size in few} == {(31, 4)}
    assert last == (43, 7, recipe._OF_ALL, True)
    assert kernel is found[-1].kernel


def test_a_column_that_tells_only_rare_classes_apart_counts():
    rng = np.random.default_rng(0)
    centres = np.zeros((7, 4))
    centres[:4, :2] = 4 * rng.normal(size=(4, 2))
    centres[4:, 2:] = [[0, 1], [1, 0], [1, 1]]
    codes = np.repeat(np.arange(7), [10] * 4 + [8] * 3)
    X = centres[codes]
    X[:, :2] += 0.5 * rng.normal(size=(64, 2))
    model = OutputKernelClassifierCV(cv=3, random_state=0).fit(X, codes)
    assert np.all(model.feature_relevances_ > 0)
    assert model.score(X[codes >= 4], codes[codes >= 4]) > 0.9
