"""The scores of held-out rows, and the simple rivals of a fit."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import RidgeCV
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import KFold, cross_val_predict

from okl.cli.data import take_apart
from okl.cli.rivals import rivals_of
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


def test_means_are_no_rival_of_a_quantile():
    X, Y = numbers()
    folds = list(KFold(4).split(X))
    measure = ScoreOfNumbers.of(Quantile(0.9))
    assert not rivals_of(Truth(Y, list("abc"), None, measure, False), X, folds)


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
