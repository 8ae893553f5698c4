"""okl fit and predict of tables in long form: --task-column."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.pipeline import Pipeline

from okl import (
    OutputKernelClassifierCV,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
)
from okl.cli.data import take_apart
from okl.cli.errors import UserError
from okl.cli.search import prepare, search_structures
from okl.cli.settings import label, parse_settings
from okl.cli.storage import load_model, save_model
from okl.structures import Frobenius, Identity, Mean
from tests.cli.conftest import FEW, FEWER_ALPHAS, SMALL


def sample(n=90, seed=0):
    """Return a table of three schools: pupils, one mark each."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, 2)), columns=["height", "width"])
    table["school"] = rng.choice(["north", "south", "west"], n)
    shift = table["school"].map({"north": 0.0, "south": 5.0, "west": -5.0})
    table["mark"] = 50 + 10 * table["height"] + shift + rng.normal(size=n)
    return table


@pytest.fixture(scope="module")
def fitted(okl_without_pictures, tmp_path_factory):
    folder = tmp_path_factory.mktemp("long")
    sample().to_csv(folder / "table.csv", index=False)
    result = okl_without_pictures(
        *("fit", folder / "table.csv", "--target", "mark", "--out", folder / "out"),
        *("--task-column", "school", "--kernel", "linear", *FEWER_ALPHAS),
    )
    assert result.exit_code == 0, result.stderr
    return folder, result


def test_outputs_are_the_tasks(fitted):
    folder, result = fitted
    L = pd.read_csv(folder / "out" / "output_kernel.csv", index_col=0)
    assert list(L.columns) == list(L.index) == ["north", "south", "west"]
    assert "one a row, in the column school" in result.stdout
    assert "held-out R^2 of all rows" in result.stdout


def test_predictions_are_those_of_each_row_s_task(okl, fitted):
    folder, _ = fitted
    new = sample(seed=1).drop(columns="mark")
    new.to_csv(folder / "new.csv", index=False)
    model, out = folder / "out" / "model.skops", folder / "predictions.csv"
    result = okl("predict", model, folder / "new.csv", "--out", out)
    assert result.exit_code == 0
    assert result.stderr == ""
    predicted = pd.read_csv(out)
    assert list(predicted.columns) == ["mark"]
    assert np.std(predicted["mark"] - sample(seed=1)["mark"]) < 2
    # by hand, in the units of the table
    table = sample()
    features = table[["height", "width"]]
    scaled = (features - features.mean()) / features.std(ddof=0)
    inside = load_model(model).pipeline[-1]
    alone = OutputKernelRegressor("linear", "frobenius", inside.alpha)
    alone.fit(scaled, table["mark"], task=table["school"])
    rows = (new[["height", "width"]] - features.mean()) / features.std(ddof=0)
    by_hand = alone.predict(rows, task=new["school"])
    np.testing.assert_allclose(predicted["mark"], by_hand, atol=0.1)


def test_numbers_name_tasks_as_well_and_classes_may_be_learned(okl, tmp_path):
    table = sample()
    table["school"] = table["school"].map({"north": 3, "south": 1, "west": 20})
    table["mark"] = np.where(table["mark"] > 50, "pass", "fail")
    table.to_csv(tmp_path / "table.csv", index=False)
    result = okl(
        *("fit", tmp_path / "table.csv", "--target", "mark", "--out", tmp_path / "out"),
        *("--task-column", "school", "--loss", "logistic", *SMALL),
    )
    assert result.exit_code == 0, result.stderr
    L = pd.read_csv(tmp_path / "out" / "output_kernel.csv", index_col=0)
    assert list(L.columns) == ["1", "3", "20"]
    section = result.stdout.split("Held-out scores of the outputs: accuracy")[1]
    scores = dict(line.split()[:2] for line in section.splitlines()[3:6])
    assert list(scores) == ["1", "3", "20"]
    assert all(0.7 < float(score) <= 1 for score in scores.values())
    # the same numbers, written otherwise
    table.assign(school=table["school"].astype(float)).to_csv(
        tmp_path / "new.csv", index=False
    )
    out = tmp_path / "predictions.csv"
    result = okl("predict", tmp_path / "out" / "model.skops", tmp_path / "new.csv",
                 "--out", out)  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert np.mean(pd.read_csv(out)["mark"] == table["mark"]) > 0.9


def test_answers_are_by_the_probabilities_of_each_row_s_task(okl, tmp_path):
    """Those of a task whose rows are all of one class are as sure as its rows many.

    At the temperature of the alpha, as all of them.
    """
    table = sample()
    west = table["school"] == "west"
    table["mark"] = np.where((table["mark"] > 50) | west, "pass", "fail")
    path, model = tmp_path / "table.csv", tmp_path / "out" / "model.skops"
    table.to_csv(path, index=False)
    result = okl(
        *("fit", path, "--target", "mark", "--out", tmp_path / "out"),
        *("--task-column", "school", "--loss", "logistic", *FEW, "--cv", "3"),
    )
    assert result.exit_code == 0, result.stderr
    out, odds = tmp_path / "answers.csv", np.log((0.5 + west.sum()) / 0.5)
    classifier = load_model(model).pipeline[-1]
    unsure = 1 / (1 + np.exp(odds / classifier.temperature))
    for cost, answered in [(0.9 * unsure, False), (0.5, True)]:
        result = okl("predict", model, path, "--out", out, "--reject", cost)
        assert result.exit_code == 0, result.stderr
        answers = pd.read_csv(out)["mark"]
        assert np.all(answers.notna()[west] == answered)
        assert np.mean((answers == table["mark"])[answers.notna()]) > 0.9


def test_tasks_and_classes_that_say_nothing_are_refused():
    alone = sample().assign(pupil=range(90))
    with pytest.raises(
        UserError, match="pupil names a different task in each of the 90"
    ):
        take_apart(alone, ["mark"], None, "pupil")
    graded = sample().assign(mark=["good", "fair", "poor"] * 30)
    with pytest.raises(
        UserError, match="two classes, and mark has 3: good, fair, poor"
    ):
        take_apart(graded, ["mark"], None, "school")


@pytest.mark.usefixtures("briefly")
@pytest.mark.parametrize("numbers", [True, False], ids=["numbers", "classes"])
def test_intercepts_are_those_of_the_search(numbers):
    table = sample()
    if not numbers:
        table["mark"] = np.where(table["mark"] > 50, "pass", "fail")
    data = take_apart(table, ["mark"], None, "school")
    X, ids = data.features.to_numpy(), {"task": data.ids.values}
    settings = parse_settings([], [], ["alphas=[1.0]"])
    outcome = search_structures(data, X, prepare(data, settings, 2))
    kind = OutputKernelRegressorCV if numbers else OutputKernelClassifierCV
    default = kind(alphas=[1.0], cv=outcome.folds, search="compare")
    default.fit(X, data.y, **ids)
    same = max(outcome.candidates[:-1], key=lambda one: one.score)
    expected = np.full(3, data.y.mean()) if numbers else 0.0
    assert_allclose(same.model.intercept_, expected)
    asked = "predict" if numbers else "predict_proba"
    found, expected = (getattr(m, asked)(X, **ids) for m in (same.model, default))
    assert_allclose(found, expected, rtol=1e-4)


def test_a_number_that_was_learned_is_short():
    assert label(Mean(1187.293876869325)) == "mean(gamma=1187)"
    assert label(Mean(0.00012345678)) == "mean(gamma=0.0001235)"
    assert label(Mean(0.0125)) == "mean(gamma=0.0125)"


MEANS = [Mean(0.3), Mean(3.0), Mean(30.0), Mean(300.0)]


@pytest.mark.parametrize(
    ("kernels", "structures", "column", "expected"),
    [
        ([], [], "school", [*MEANS, Frobenius()]),
        (["linear"], [], "school", [Frobenius()]),
        ([], ["mean"], "school", [Mean()]),
        ([], [], None, []),
    ],
    ids=["nothing named", "kernel", "structure", "columns"],
)
def test_tasks_are_drawn_to_their_mean_by_default(
    kernels, structures, column, expected
):
    data = take_apart(sample(), ["mark"], None, column)
    search = prepare(data, parse_settings(kernels, structures, []), None)
    assert list(map(repr, search.structures)) == list(
        map(repr, [*expected, Identity()])
    )


def test_what_is_refused(okl, fitted, tmp_path):
    folder, _ = fitted
    table = folder / "table.csv"

    def fit(*arguments):
        result = okl("fit", table, "--out", tmp_path / "out", *arguments)
        assert result.exit_code == 2
        return result.stderr

    assert "no column is called --task-column class. The table has: height" in fit(
        "--target", "mark", "--task-column", "class"
    )
    assert "every row has one target, got height, mark" in fit(
        "--target", "mark", "--target", "height", "--task-column", "school"
    )
    assert "--target and --task-column are both school" in fit(
        "--target", "mark", "--target", "school", "--task-column", "school"
    )
    alone = tmp_path / "alone.csv"
    sample()[["school", "mark"]].to_csv(alone, index=False)
    result = okl("fit", alone, "--target", "mark", "--task-column", "school",
                 "--out", tmp_path / "out")  # fmt: skip
    assert "but school names the task; leave at least one to pred" in result.stderr
    unknown = sample().drop(columns="mark").assign(school="east")
    unknown.to_csv(tmp_path / "unknown.csv", index=False)
    result = okl(
        *("predict", folder / "out" / "model.skops", tmp_path / "unknown.csv"),
        *("--out", tmp_path / "predictions.csv"),
    )
    assert result.exit_code == 2
    told = "the column school has tasks that the table of the fit did not have: east; "
    assert told + "it had north, south, west. Leave" in result.stderr
    unknown.drop(columns="school").to_csv(tmp_path / "absent.csv", index=False)
    result = okl(
        *("predict", folder / "out" / "model.skops", tmp_path / "absent.csv"),
        *("--out", tmp_path / "predictions.csv"),
    )
    assert result.exit_code == 2
    assert "school" in result.stderr


@pytest.mark.parametrize("classes", [False, True])
def test_tasks_of_one_row_have_no_held_out_scores(okl, tmp_path, classes):
    table = sample(30)
    table["school"] = [f"school {min(i, 9)}" for i in range(30)]
    if classes:
        table["mark"] = np.where(table["mark"] > 50, "pass", "fail")
    table.to_csv(tmp_path / "table.csv", index=False)
    result = okl(
        *("fit", tmp_path / "table.csv", "--target", "mark", "--out", tmp_path / "out"),
        *("--task-column", "school", *FEW, "--structure", "frobenius"),
    )
    assert result.exit_code == 0, result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    rows = [line for line in lines if line[:1] == ["school"] and line[-1:] == ["-"]]
    # a model of all rows, ridge, has an answer for classes
    assert [line[:4] for line in rows] == [
        ["school", str(i), "-", "-"] for i in range(9)
    ]


@pytest.mark.parametrize("alpha_per_output", [False, True])
def test_a_saved_model_knows_how_to_be_fitted_again(fitted, tmp_path, alpha_per_output):
    """Of learned relations standard deviations take fits without some rows."""
    folder, _ = fitted
    saved, table = load_model(folder / "out" / "model.skops"), sample()
    search = OutputKernelRegressorCV("linear", "frobenius", alphas=3)
    search.set_params(alpha_per_output=alpha_per_output)
    X = saved.pipeline[:-1].transform(table[["height", "width"]])
    search.fit(X, table["mark"], task=table["school"])
    alpha = np.ravel(search.alpha_)
    if alpha_per_output:
        assert np.ptp(alpha) > 0
    model = OutputKernelRegressor("linear", "frobenius", search.alpha_)
    model.fit(X, table["mark"], task=table["school"])
    assert model._process.refits is not None
    pipeline = Pipeline([*saved.pipeline.steps[:-1], ("model", model)])
    save_model(replace(saved, pipeline=pipeline), tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops").pipeline[-1]
    assert_allclose(again.noise_variance_, model.noise_variance_, rtol=1e-6)
