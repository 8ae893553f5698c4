"""okl evaluate: scores of rows with known targets, by scikit-learn's metrics."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    mean_squared_error,
    r2_score,
    recall_score,
)

from okl.cli.errors import UserError
from okl.cli.evaluate import evaluate_table
from okl.cli.storage import load_model
from tests.cli.conftest import FEW, SMALL


def fitted_to(okl, table, tmp_path, *options):
    """The model of the first eighty rows; the path of a table of the others."""
    train, test, out = (tmp_path / name for name in ("train.csv", "test.csv", "out"))
    table[:80].to_csv(train, index=False)
    table[80:].to_csv(test, index=False)
    result = okl("fit", train, "--out", out, *options)
    assert result.exit_code == 0, result.stderr
    return out / "model.skops", test


def cells(page):
    """The cells of each row of the first table, by the first word."""
    lines = page.split("\n\n")[0].splitlines()[3:]
    return {line.split()[0]: line.split()[1:] for line in lines}


def test_numbers(okl, related, tmp_path):
    columns = ["height", "width", "town", "y_a", "y_b"]
    table = related[columns].copy()
    table.loc[85:89, "y_a"] = np.nan
    table.loc[85, "y_b"] = np.nan
    model, test = fitted_to(okl, table, tmp_path, "--target", "y_*", *SMALL)
    result = okl("evaluate", model, test, "--std")
    assert result.exit_code == 0, result.stderr
    assert "left out: 1 of 40 rows without a target" in result.stderr
    found = cells(result.stdout)
    predicted = load_model(model).predict(table[80:].reset_index(), std=True)
    scores = []
    for name, n_rows in (("y_a", 35), ("y_b", 39)):
        true, here = table[name][80:].to_numpy(), table[name][80:].notna().to_numpy()
        true, ours = true[here], predicted[name].to_numpy()[here]
        scores.append(r2_score(true, ours))
        inside = [
            np.mean(np.abs(true - ours) <= z * predicted[f"{name}_std"][here])
            for z in (0.6745, 1.2816, 1.96)
        ]
        expected = [scores[-1], n_rows, *inside]
        np.testing.assert_allclose(np.double(found[name][:5]), expected, atol=6e-5)
        rmse = mean_squared_error(true, ours) ** 0.5
        assert float(found[name][5]) == pytest.approx(rmse, rel=1e-3)
    assert float(found["mean"][0]) == pytest.approx(np.mean(scores), abs=1e-4)
    assert "Scores of rows that the model was fitted to are too good." in result.stdout


def test_tasks(okl, related, tmp_path):
    table = related[["height", "width", "town", "y_a"]]
    options = ("--target", "y_a", "--task-column", "town", *SMALL)
    model, test = fitted_to(okl, table, tmp_path, *options)
    found = cells(evaluate_table(model, test))
    rest = table[80:].reset_index(drop=True)
    predicted = load_model(model).predict(rest)["y_a"]
    for town, rows in rest.groupby("town"):
        score = r2_score(rows["y_a"], predicted[rows.index])
        assert float(found[town][0]) == pytest.approx(score, abs=1e-4)
        assert found[town][1] == str(len(rows))
    # a row of "all rows": two words
    score = r2_score(rest["y_a"], predicted)
    assert float(found["all"][1]) == pytest.approx(score, abs=1e-4)


def test_tasks_may_be_absent_and_written_as_whole_numbers(okl, related, tmp_path):
    table = related[["height", "width", "y_a"]].assign(
        town=related["town"].map({"Rome": 1.0, "Oslo": 2.0, "Bonn": 2.5})
    )
    options = ("--target", "y_a", "--task-column", "town", *SMALL)
    model, test = fitted_to(okl, table, tmp_path, *options)
    whole = cells(evaluate_table(model, test))
    rest = table[80:][table["town"][80:] < 2.5].astype({"town": int})
    rest.to_csv(test, index=False)
    found = cells(evaluate_table(model, test))
    assert (found["1.0"], found["2.0"]) == (whole["1.0"], whole["2.0"])
    assert found["2.5"] == ["-", "0", "-"]


@pytest.mark.parametrize("kind", [bool, int])
def test_a_class_may_be_empty(okl, related, tmp_path, kind):
    table = related[["height", "width"]].assign(old=related["old"].astype(kind))
    options = ("--target", "old", "--task", "classification", *SMALL)
    model, test = fitted_to(okl, table, tmp_path, *options)
    rest = table[80:].astype({"old": object})
    rest.iloc[3, 2] = None
    rest.to_csv(test, index=False)
    assert "on 39 rows" in evaluate_table(model, test)
    # whole numbers stay whole where a row is skipped
    table[80:].assign(height=[np.nan, *table["height"][81:]]).to_csv(test, index=False)
    out = tmp_path / "p.csv"
    okl("predict", model, test, "--skip-incomplete", "--out", out)
    answers = out.read_text().split()[1:]
    assert set(answers[1:]) <= ({"True", "False"} if kind is bool else {"0", "1"})


def test_a_constant_target_lies_in_its_intervals(okl, related, tmp_path, recwarn):
    table = related[["height", "width", "y_a"]].assign(same=3.0)
    options = ("--target", "y_a", "--target", "same", *SMALL)
    model, test = fitted_to(okl, table, tmp_path, *options)
    recwarn.clear()
    assert cells(evaluate_table(model, test, std=True))["same"][4] == "1.0000"
    assert not recwarn.list


def test_classes(okl, related, tmp_path):
    table = related[["height", "width", "y_a", "town"]].copy()
    table["town"] = table["town"].map({"Rome": "02", "Oslo": "1", "Bonn": "10"})
    options = ("--target", "town", "--task", "classification", *SMALL)
    model, test = fitted_to(okl, table, tmp_path, *options)
    page = evaluate_table(model, test)
    rest = table[80:].reset_index(drop=True)
    loaded = load_model(model)
    predicted, p = loaded.predict(rest)["town"], loaded.probabilities(rest)
    found = cells(page)
    for name in ("02", "1", "10"):
        recalled = recall_score(rest["town"] == name, predicted == name)
        assert float(found[name][0]) == pytest.approx(recalled, abs=1e-4)
    accuracy = accuracy_score(rest["town"], predicted)
    assert float(found["all"][1]) == pytest.approx(accuracy, abs=1e-4)
    loss = log_loss(rest["town"], p, labels=["02", "1", "10"])
    said = " ".join(page.split())
    share = rest["town"].value_counts(normalize=True)
    entropy = -np.sum(share * np.log(share))
    assert f"The log loss of a row is {loss:.4f}; that of always" in said
    assert f"the frequencies of these rows {entropy:.4f}." in said
    assert f"table, {share.index[0]}, is that of {share.iloc[0]:.4f}" in said
    rest.loc[[0, 1], "town"] = "Paris"
    rest.loc[2, "town"] = None
    rest.to_csv(test, index=False)
    page = evaluate_table(model, test)
    said = " ".join(page.split())
    assert "2 rows are of classes that the model does not know, Paris. They" in said
    right = np.sum(rest["town"][3:] == predicted[3:])
    assert float(cells(page)["all"][1]) == pytest.approx(right / 39, abs=1e-4)
    loss = log_loss(rest["town"][3:], p[3:], labels=["02", "1", "10"])
    assert f"{loss:.4f}" in page
    assert "on 39 rows" in page


def test_labels(okl, related, tmp_path):
    table = related[["height", "width"]].assign(
        tall=related["y_a"] > 0, wide=related["y_b"] > 500.0
    )
    model, test = fitted_to(okl, table, tmp_path, "--target", "[tw]*e", "--target",
                            "tall", *SMALL)  # fmt: skip
    rest = table[80:].reset_index(drop=True).astype({"wide": object})
    rest.loc[4, "wide"] = None
    rest.to_csv(test, index=False)
    found = cells(evaluate_table(model, test))
    loaded = load_model(model)
    predicted, p = loaded.predict(rest), loaded.probabilities(rest)
    for j, (name, n_rows) in enumerate((("tall", 40), ("wide", 39))):
        here = rest[name].notna()
        true = rest[name][here].astype(bool)
        expected = [
            accuracy_score(true, predicted[name][here].astype(bool)),
            n_rows,
            max(true.mean(), 1 - true.mean()),
            log_loss(true, p[here, j]),
        ]
        np.testing.assert_allclose(np.double(found[name]), expected, atol=6e-5)


def test_classes_in_a_tree(okl, related, tmp_path):
    table = related[["height", "width", "y_a"]].assign(
        kind="a/" + related["town"].where(related["town"] != "Rome", "z/Rome")
    )
    table["kind"] = table["kind"].str.replace("a/z", "z")
    options = ("--target", "kind", "--tree", "paths", *FEW)
    model, test = fitted_to(okl, table, tmp_path, *options)
    page = evaluate_table(model, test)
    assert "Accuracy by level" in page
    # classes of a tree are in its order
    p = load_model(model).probabilities(table[80:].reset_index(drop=True))
    names = load_model(model).pipeline[-1].classes_.tolist()
    own = p[np.arange(40), [names.index(kind) for kind in table["kind"][80:]]]
    assert f"The log loss of a row is {-np.mean(np.log(own)):.4f};" in page
    assert "Largest confusions between relatives" in page
    table[80:].assign(kind="a/Lima").to_csv(test, index=False)
    with pytest.raises(UserError, match="not those of the tree of the fit"):
        evaluate_table(model, test)


def test_labels_may_lack_columns_and_be_truth_values(okl, related, tmp_path):
    table = related[["height", "width"]].assign(
        tall=related["y_a"] > 0, wide=related["y_b"] > 500.0
    )
    options = ("--target", "tall", "--target", "wide", "--task", "classification")
    model, test = fitted_to(
        okl, table.astype({"tall": int, "wide": int}), tmp_path, *options, *SMALL
    )
    whole = cells(evaluate_table(model, test))
    table[80:].drop(columns="wide").to_csv(test, index=False)
    result = okl("evaluate", model, test)
    assert "not in the table, and not scored: wide" in result.stderr
    assert cells(result.stdout)["tall"] == whole["tall"]
    assert cells(result.stdout)["wide"][:2] == ["-", "0"]
    table[80:].astype({"tall": int}).replace({"tall": {1: 2}}).to_csv(test, index=False)
    result = okl("evaluate", model, test)
    assert result.exit_code == 2
    assert "the targets tall do not fit: classification of several" in result.stderr


def test_classes_that_are_all_unknown_are_wrong(okl, related, tmp_path, recwarn):
    table = related[["height", "width", "town"]]
    model, test = fitted_to(okl, table, tmp_path, "--target", "town", *SMALL)
    table[80:].assign(town=table["town"].str.lower()).to_csv(test, index=False)
    recwarn.clear()
    page = evaluate_table(model, test)
    assert cells(page)["all"] == ["rows", "0.0000"]
    assert "bonn, oslo, rome" in page
    assert not recwarn.list


def test_what_is_refused(okl, related, tmp_path):
    table = related[["height", "width", "y_a"]]
    model, test = fitted_to(okl, table, tmp_path, "--target", "y_a", *SMALL)
    table.drop(columns="y_a").to_csv(test, index=False)
    result = okl("evaluate", model, test)
    assert result.exit_code == 2
    assert "no column y_a, which the model predicts; without" in result.stderr
    table.assign(y_a=np.nan).to_csv(test, index=False)
    assert "y_a are empty in every row" in okl("evaluate", model, test).stderr
    table.assign(height=[np.nan, *table["height"][1:]]).to_csv(test, index=False)
    assert "missing or infinite values in height" in okl("evaluate", model, test).stderr
    result = okl("evaluate", model, test, "--skip-incomplete")
    assert result.exit_code == 0
    assert "on 119 rows" in result.stdout


def test_quantiles(okl, related, tmp_path):
    table = related[["height", "width", "y_a"]]
    options = ("--target", "y_a", "--loss", "quantile", "--set", "loss__quantile=0.8")
    model, test = fitted_to(okl, table, tmp_path, *options, *SMALL)
    page = evaluate_table(model, test)
    rest = table[80:].reset_index(drop=True)
    away = rest["y_a"] - load_model(model).predict(rest)["y_a"]
    loss = np.mean(np.maximum(0.8 * away, -0.2 * away))
    assert float(cells(page)["y_a"][2]) == pytest.approx(loss, rel=1e-3)
    assert "A score of zero is that of the quantile 0.8 of" in page
    result = okl("evaluate", model, test, "--std")
    assert "--std and --interval need the squared loss" in result.stderr


def test_columns_are_of_the_kinds_of_the_fit(okl, related, tmp_path):
    table = pd.DataFrame({"a": related["height"], "code": related["old"] * 1})
    options = ("--target", "code", "--task", "classification", *SMALL)
    model, test = fitted_to(okl, table, tmp_path, *options)
    table[80:].assign(code=["1.0", "0"] * 20).to_csv(test, index=False)
    assert set(cells(evaluate_table(model, test))) == {"0", "1", "all"}
