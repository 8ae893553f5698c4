"""The scores of held-out rows, and the simple rivals of a fit."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import RidgeCV
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.model_selection import GroupKFold, KFold, cross_val_predict

from okl.cli.data import take_apart
from okl.cli.rivals import constants_of, frequencies_score, rivals_of
from okl.cli.truth import Truth
from okl.estimators.score_of_numbers import R2, ScoreOfNumbers
from okl.losses import Logistic, Quantile, Squared
from tests.cli.conftest import FEW

ALPHAS = np.logspace(-3, 5, 17)


def numbers(n=40, m=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, X @ rng.normal(size=(2, m)) + 0.5 * rng.normal(size=(n, m))


def test_ridge_is_that_of_scikit_learn():
    X, Y = numbers()
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))
    truth = Truth(Y, ["a", "b", "c"], None, R2, False)
    found = rivals_of(truth, X, folds)
    expected = cross_val_predict(RidgeCV(ALPHAS, alpha_per_target=True), X, Y, cv=folds)
    assert list(found) == ["ridge"]
    np.testing.assert_allclose(found["ridge"], expected)
    np.testing.assert_allclose(
        truth.scores(expected), r2_score(Y, expected, multioutput="raw_values")
    )
    assert truth.overall(expected) == pytest.approx(r2_score(Y, expected))


def test_outputs_with_missing_targets_have_a_ridge_of_their_own_rows():
    X, Y = numbers()
    folds = list(KFold(4).split(X))
    Y[::3, 0] = np.nan
    Y[:38, 2] = np.nan  # a fold has one
    found = rivals_of(Truth(Y, ["a", "b", "c"], None, R2, False), X, folds)["ridge"]
    for j, known in ((0, ~np.isnan(Y[:, 0])), (1, np.full(40, True))):
        for train, test in folds:
            rows = train[known[train]]
            model = RidgeCV(ALPHAS).fit(X[rows], Y[rows, j])
            np.testing.assert_allclose(found[test, j], model.predict(X[test]))
    assert np.isnan(found[30:, 2]).all() & np.isfinite(found[:30, 2]).all()


def test_of_tasks_ridge_has_one_slope_and_a_level_each():
    X, Y = numbers(60, 1)
    task = np.arange(60) % 3
    y = Y + 10.0 * task[:, None]
    folds = list(KFold(5, shuffle=True, random_state=0).split(X))
    truth = Truth(y, ["0", "1", "2"], task, R2, False)
    found = rivals_of(truth, X, folds)["ridge"]
    columns = np.column_stack([X, np.eye(3)[task]])
    expected = cross_val_predict(RidgeCV(ALPHAS), columns, y[:, 0], cv=folds)
    np.testing.assert_allclose(found[:, 0], expected)
    assert truth.overall(found) == pytest.approx(r2_score(y, found))
    own = [r2_score(y[task == k], found[task == k]) for k in range(3)]
    np.testing.assert_allclose(truth.scores(found), own)


def test_classes_and_labels_are_recognised():
    X, Y = numbers(60, 3)
    folds = list(KFold(3).split(X))
    classes = np.array(["x", "y", "z"])[np.argmax(Y, axis=1)]
    truth = Truth(classes, ["x", "y", "z"], None, None, True)
    (found,) = rivals_of(truth, X, folds).values()
    accuracy = accuracy_score(classes, found.astype(str))
    assert truth.overall(found) == pytest.approx(accuracy)
    assert accuracy > 0.6
    for j, name in enumerate(truth.outputs):
        own = classes == name
        assert truth.scores(found)[j] == pytest.approx(np.mean(found[own] == name))
    labels = (Y > [0.0, 1.5, 0.0]) * 1.0
    labels[7, 1] = np.nan
    truth = Truth(labels, ["x", "y", "z"], None, None, False)
    found = rivals_of(truth, X, folds)
    assert list(found) == ["ridge", "most frequent"]
    assert set(np.unique(found["ridge"])) == {0.0, 1.0}
    rare = np.nanmean(labels[:, 1])
    assert rare < 0.3
    assert truth.scores(found["most frequent"])[1] == pytest.approx(1 - rare)
    assert truth.scores(found["ridge"])[0] > 0.8
    # the commoner answer of the training rows: each row is held out by itself
    one = np.array([[0.0], [1.0]] * 10)
    alone = [(np.delete(np.arange(20), i), np.array([i])) for i in range(20)]
    truth = Truth(one, ["x"], None, None, False)
    assert truth.overall(rivals_of(truth, X[:20], alone)["most frequent"]) == 0.0


def test_means_are_no_rival_of_a_quantile():
    X, Y = numbers()
    folds = list(KFold(4).split(X))
    measure = ScoreOfNumbers.of(Quantile(0.9))
    assert not rivals_of(Truth(Y, list("abc"), None, measure, False), X, folds)


def test_in_groups_the_alpha_of_ridge_is_chosen_by_groups():
    X, Y = numbers(60)
    groups = np.arange(60) // 5
    folds = list(GroupKFold(4).split(X, groups=groups))
    found = rivals_of(Truth(Y, list("abc"), None, R2, False), X, folds, groups)["ridge"]
    for train, test in folds:
        inner = list(GroupKFold(5).split(X[train], groups=groups[train]))
        expected = RidgeCV(ALPHAS, cv=inner, scoring="neg_mean_squared_error")
        expected = expected.fit(X[train], Y[train]).predict(X[test])
        np.testing.assert_allclose(found[test], expected)


def test_small_groups_leave_ridge_an_alpha():
    """R^2 is none of a part of one row, and the least alpha would be taken."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 8)), rng.normal(size=(12, 1))
    folds = list(KFold(4).split(X))
    found = rivals_of(Truth(Y, ["y"], None, R2, False), X, folds, np.arange(12))
    assert r2_score(Y, found["ridge"]) > -1.5


@pytest.mark.filterwarnings("error")
def test_an_output_that_a_fold_does_not_know_has_no_mean_there():
    Y = np.full((12, 2), np.nan)
    Y[:, 0], Y[3, 1] = np.arange(12.0), 1.0
    folds = list(KFold(4).split(Y))
    truth = Truth(Y, ["a", "b"], None, R2, False)
    assert np.isnan(constants_of(truth, folds)[3:6, 1]).all()
    labels = Truth((Y > 5) * 1.0 + 0 * Y, ["a", "b"], None, None, False)
    found = rivals_of(labels, Y[:, :1], folds)["most frequent"]
    assert np.isnan(found[3:6, 1]).all()


@pytest.mark.parametrize("quantile", [None, 0.9])
def test_constants_are_those_of_the_training_rows(quantile):
    _, Y = numbers(40, 2)
    Y[:25, 1] = np.nan
    folds = list(KFold(4).split(Y))
    measure = ScoreOfNumbers(quantile)
    found = constants_of(Truth(Y, ["a", "b"], None, measure, False), folds)
    of = np.nanmean if quantile is None else lambda y: np.nanquantile(y, quantile)
    for train, test in folds:
        for j in range(2):
            np.testing.assert_allclose(found[test, j], of(Y[train, j]))
    # of tasks, each has its own
    task = np.arange(40) % 2
    y = Y[:, :1] + task[:, None]
    found = constants_of(Truth(y, ["0", "1"], task, measure, False), folds)
    train, test = folds[1]
    own = train[task[train] == 1]
    np.testing.assert_allclose(found[test[task[test] == 1], 0], of(y[own]))
    assert constants_of(Truth(y, ["a"], None, None, False), folds) is None


def test_frequencies_have_the_log_likelihood_of_the_training_rows():
    rng = np.random.default_rng(0)
    classes = np.array(["a", "b", "c"])[rng.integers(3, size=60)]
    folds = list(KFold(3).split(classes))
    expected = []
    for train, test in folds:
        counts = np.array([np.sum(classes[train] == c) + 0.5 for c in "abc"])
        p = np.tile(counts / counts.sum(), (len(test), 1))
        expected.append(-log_loss(classes[test], p, labels=["a", "b", "c"]))
    assert frequencies_score(classes, folds) == pytest.approx(np.mean(expected))
    labels = (rng.random((60, 2)) < [0.1, 0.5]) * 1.0
    labels[3, 0] = np.nan
    expected = []
    for train, test in folds:
        own = []
        for j in range(2):
            seen = labels[train, j][~np.isnan(labels[train, j])]
            true = labels[test, j][~np.isnan(labels[test, j])]
            p = (seen.sum() + 0.5) / (len(seen) + 1)
            own.append(np.mean(np.log(np.where(true == 1, p, 1 - p))))
        expected.append(np.mean(own))
    assert frequencies_score(labels, folds) == pytest.approx(np.mean(expected))


def test_two_classes_are_both_scored(okl, related, tmp_path):
    table = related[["height", "width", "old"]]
    table.to_csv(tmp_path / "table.csv", index=False)
    result = okl(
        *("fit", tmp_path / "table.csv", "--target", "old", "--out", tmp_path / "out"),
        *FEW,
    )
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.split("Held-out scores of the outputs")[1].splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines[3:6]}
    assert list(rows) == ["False", "True", "all"]
    share = table["old"].mean()
    found = np.double([rows["False"], rows["True"]])
    both = found[0] * (1 - share) + found[1] * share
    np.testing.assert_allclose(both, np.double(rows["all"][1:]), atol=2e-4)
    assert "The frequencies of classes in the training rows have the score -0" in (
        result.stdout
    )


@pytest.mark.parametrize(
    ("targets", "loss", "name"),
    [
        ({"y": [0.5, 1.5, 2.5] * 4}, Squared(), "R^2"),
        ({"y": ["a", "b", "c"] * 4}, Logistic(), "rows recognised"),
        ({"y": [True, False] * 6, "z": [True, False] * 6}, Logistic(), "accuracy"),
    ],
)
def test_a_table_says_how_it_is_scored(targets, loss, name):
    table = pd.DataFrame({"x": np.arange(12.0), **targets})
    data = take_apart(table, ["[yz]"], None)
    truth = Truth.of(data, {}, list(targets), loss)
    assert truth.score_name == name
    assert truth.row_has_one_output == (name == "rows recognised")


def test_a_report_has_the_accuracy_of_all_rows_and_that_of_one_answer(
    okl, related, tmp_path
):
    table = related[["height", "width", "town"]]
    table.to_csv(tmp_path / "table.csv", index=False)
    result = okl(
        *("fit", tmp_path / "table.csv", "--target", "town", "--out", tmp_path / "out"),
        *FEW,
    )
    share = table["town"].value_counts(normalize=True)
    said = " ".join(result.stdout.split())
    assert f"class, {share.index[0]}, is that of {share.iloc[0]:.4f} of the" in said
    (row,) = (line.split() for line in result.stdout.splitlines() if "all rows" in line)
    assert len(row) == 2 + 3
    assert all(0 < float(one) < 1 for one in row[2:])
