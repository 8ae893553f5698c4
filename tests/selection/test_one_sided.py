"""Held-out scores of labels that training rows have all or none of."""

import numpy as np
import pytest

from okl import OutputKernelClassifier, OutputKernelClassifierCV
from okl.coding.tasks import Tasks
from okl.losses import Hinge, Logistic, Softmax
from okl.problems import Observed
from okl.selection.one_sided import finite_scores

# With half a row of each side added, of one side and four rows.
ODDS = np.log(4.5 / 0.5)
SCORES = np.array([[0.3, -900.0, 900.0], [-0.2, -900.0, 900.0]])


def _signs(*columns):
    return np.column_stack([np.asarray(column, dtype=float) for column in columns])


def test_labels_of_one_side_have_the_odds_of_half_a_row_more_of_each():
    targets = _signs([1, -1, 1, -1], [-1, -1, -1, -1], [1, 1, 1, 1])
    training = Observed(targets, Logistic())
    found = finite_scores(training, training.restrict([0, 1]))(SCORES)
    np.testing.assert_array_equal(found[:, 0], SCORES[:, 0])
    np.testing.assert_allclose(found[:, 1:], [[-ODDS, ODDS]] * 2)


def test_weights_count_as_rows_and_labels_observed_nowhere_stay():
    targets = _signs([1, -1, 1, -1], [-1, -1, -1, 1], [1, 1, 1, -1])
    weights = np.array([[1.0, 2.0, 0.0], [1, 2, 0], [1, 0, 0], [1, 0, 0]])
    training = Observed(targets, Logistic(), weights)
    found = finite_scores(training, training.restrict([0, 1]))(SCORES)
    np.testing.assert_allclose(found[:, 1], -ODDS)
    np.testing.assert_array_equal(found[:, [0, 2]], SCORES[:, [0, 2]])


def test_tasks_of_one_side_have_them_in_long_form():
    codes = np.array([0, 0, 0, 0, 1, 1])
    training = Observed(_signs([1, 1, 1, 1, 1, -1]), Logistic(), tasks=Tasks(codes, 3))
    rows = Observed(_signs([1, 1, 1]), Logistic(), tasks=Tasks(np.arange(3), 3))
    found = finite_scores(training, rows)(np.array([[900.0], [0.3], [0.1]]))
    np.testing.assert_allclose(found[:, 0], [ODDS, 0.3, 0.1])


def test_a_class_without_rows_has_them_beside_all_other_classes():
    targets = np.eye(3)[[0, 0, 2, 2]]
    training = Observed(targets, Softmax())
    scores = np.array([[0.3, -900.0, 1.0], [2.0, -900.0, -1.0]])
    found = finite_scores(training, training.restrict([0, 1]))(scores)
    chances = np.exp(found) / np.exp(found).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(chances[:, 1], 0.1)
    np.testing.assert_array_equal(found[:, [0, 2]], scores[:, [0, 2]])


def test_a_class_of_a_single_row_has_them_where_it_is_held_out_and_where_it_is_not():
    """Else the surer a fit is that no other row has it, the better is its score."""
    rows = Observed(np.eye(3)[[0, 1, 2, 0, 1, 0, 1]], Softmax())
    scores = np.array([[0.3, 1.0, -900.0], [2.0, 0.5, -900.0]])
    for train in ([0, 1, 2, 3, 4], [0, 1, 3, 4, 6]):
        training = rows.restrict(train)
        held_out = rows.restrict(np.setdiff1d(np.arange(7), train))
        found = finite_scores(training, held_out)(scores)
        n_rare = int(training.targets[:, 2].sum())
        chances = np.exp(found) / np.exp(found).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(chances[:, 2], (n_rare + 0.5) / 6)
        np.testing.assert_array_equal(found[:, :2], scores[:, :2])


@pytest.mark.parametrize("rare", ["label", "class", "one of two"])
def test_a_second_row_says_how_sure_to_be(rare):
    if rare == "label":
        codes, loss = _signs([1, -1, 1, -1, 1, -1], [-1, -1, 1, -1, -1, -1]), Logistic()
    elif rare == "class":
        codes, loss = np.eye(3)[[0, 1, 2, 0, 1, 0]], Softmax()
    else:
        codes, loss = np.eye(2)[[0, 0, 1, 0, 0, 0]], Softmax()
    once, last = Observed(codes, loss), np.arange(6) == 5
    scores = np.random.default_rng(0).normal(size=(2, codes.shape[1]))
    weight = np.where(np.arange(6) == 2, 7.0, 1.0)[:, None]  # of one row all the same
    for rows in (once, Observed(codes, loss, weight)):
        found = finite_scores(rows.restrict(range(4)), rows.restrict([4, 5]))(scores)
        assert not np.any(found[:, -1] == scores[:, -1])
    twice = Observed(np.where(last[:, None], codes[2], codes), loss)
    found = finite_scores(twice.restrict(range(4)), twice.restrict([4, 5]))(scores)
    np.testing.assert_array_equal(found, scores)


def test_classes_of_a_tree_and_tasks_of_a_single_row_have_relatives():
    labels = np.array([0, 1, 2, 0, 1, 0])
    scores = np.random.default_rng(0).normal(size=(2, 3))
    tree = Observed(np.eye(3)[labels], Softmax(), related=True)
    found = finite_scores(tree.restrict(range(4)), tree.restrict([4, 5]))(scores)
    np.testing.assert_array_equal(found, scores)
    tasks = Tasks(np.array([0, 0, 1, 1, 0, 1]), 2)
    long = Observed(_signs([1, -1, 1, -1, 1, -1]), Logistic(), tasks=tasks)
    found = finite_scores(long.restrict(range(4)), long.restrict([4, 5]))(scores[:, :1])
    np.testing.assert_array_equal(found, scores[:, :1])


def test_classes_of_a_single_row_each_are_told_apart():
    rows = Observed(np.eye(5)[:5], Softmax())
    scores = np.random.default_rng(0).normal(size=(1, 5))
    found = finite_scores(rows.restrict(range(4)), rows.restrict([4]))(scores)
    np.testing.assert_array_equal(found[:, :4], scores[:, :4])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_row_with_a_class_of_its_own_is_no_reason_to_be_sure():
    """Nothing says which new rows have it: one of thirty, as among those seen."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = OutputKernelClassifierCV("rbf").fit(X, np.arange(30) == 0)
    new = np.random.default_rng(1).normal(size=(200, 3))
    assert 0.01 < np.mean(model.predict_proba(new)[:, 1]) < 0.1


def test_classes_have_them_beside_the_only_one_that_rows_are_of():
    training = Observed(np.eye(3)[[1, 1, 1, 1]], Softmax())
    scores = np.array([[-900.0, 5.0, -900.0]])
    found = finite_scores(training, training.restrict([0]))(scores)
    np.testing.assert_allclose(found, [[5 - ODDS, 5, 5 - ODDS]])


def test_losses_without_probabilities_have_finite_intercepts():
    training = Observed(_signs([-1, -1], [1, -1]), Hinge())
    assert finite_scores(training, training)(SCORES) is SCORES


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("labels", ["indicators", "classes", "one of two", "tasks"])
def test_a_row_with_a_label_of_its_own_does_not_decide_the_temperature(labels):
    """Held out, it is of a label that no training row has."""
    generator = np.random.default_rng(0)
    n = 60
    X = generator.normal(size=(n, 2))
    likely = X[:, 0] + generator.logistic(size=n) > 0
    options = {"kernel": "linear", "structures": "identity", "alphas": 5}
    model = OutputKernelClassifierCV(**options)
    if labels == "indicators":
        rare = np.arange(n) == 7
        model.fit(X, np.column_stack([likely, rare]).astype(int))
    elif labels == "classes":
        model.fit(X, np.where(np.arange(n) == 7, 2, likely.astype(int)))
    elif labels == "one of two":  # all other training rows are of the other class
        model.set_params(loss="softmax").fit(X, np.arange(n) == 7)
    else:
        task = np.where(np.arange(n) < 3, "few", "many")
        model.fit(X, np.where(np.arange(n) < 3, np.arange(n) == 1, likely), task=task)
    assert np.all(np.abs(np.log(model.temperature_)) < np.log(1.4))


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_labels_of_one_side_have_probabilities_of_new_rows(temperature):
    """No row has the label, which does not say that none ever will."""
    X = np.arange(4.0)[:, None]
    Y = np.array([[0, 0, 1], [1, 0, 1], [0, 0, 1], [1, 0, 1]])
    model = OutputKernelClassifierCV(
        "linear", "identity", alphas=[1.0], temperature=temperature
    ).fit(X, Y)
    odds = np.array([-ODDS, ODDS]) / temperature
    likely = 1 / (1 + np.exp(-odds))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1:], np.tile(likely, (4, 1)))
    np.testing.assert_array_equal(model.predict(X)[:, 1:], Y[:, 1:])
    model.fit_intercept = False  # which is what is infinite
    few = model.fit(X, Y).predict_proba([[0.0]])
    np.testing.assert_allclose(few, 0.5)


def test_tasks_of_one_side_have_probabilities_of_new_rows():
    X = np.tile(np.arange(4.0), 2)[:, None]
    task = np.repeat(["few", "many"], 4)
    y = np.array(["yes", "yes", "yes", "yes", "no", "yes", "no", "yes"])
    model = OutputKernelClassifier("linear", "identity", loss="logistic")
    model.fit(X, y, task=task)
    np.testing.assert_allclose(model.predict_proba(X)[:, 0], 0.9)
    own = model.predict_proba(X, task=task)[:, 1]
    np.testing.assert_allclose(own[:4], 0.9)
    np.testing.assert_array_equal(own[4:], model.predict_proba(X[4:])[:, 1])
    unsure = model.predict(X, task=task, reject=0.05)
    assert set(unsure) == {None}
