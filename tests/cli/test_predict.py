"""okl predict: the same rows, whatever their columns look like."""

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.linear_model import Ridge
from sklearn.preprocessing import FunctionTransformer

from okl.cli.storage import load_model
from okl.estimators.targets import TrainingTargets
from tests.cli.conftest import SMALL


@pytest.fixture
def model(fitted):
    return fitted[0] / "out" / "model.skops"


@pytest.fixture
def expected(model, related):
    """The predictions of the pipeline itself."""
    columns = ["height", "width", "town", "old"]
    return load_model(model).pipeline.predict(related[columns])


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv", "parquet"])
def test_predictions_are_those_of_the_pipeline(
    okl, model, related_csv, tmp_path, expected, suffix
):
    out = tmp_path / f"predictions.{suffix}"
    result = okl("predict", model, related_csv, "--out", out)
    assert result.exit_code == 0
    assert "120 rows, 3 predicted columns" in result.stdout
    if suffix == "parquet":
        predicted = pd.read_parquet(out)
    else:
        predicted = pd.read_csv(out, sep="\t" if suffix == "tsv" else ",")
    assert list(predicted.columns) == ["y_a", "y_b", "y_c"]
    np.testing.assert_allclose(predicted, expected, rtol=1e-9)


def test_columns_are_found_by_name(okl, model, related, tmp_path, expected):
    table = related[["y_a", "old", "town", "width", "height"]].assign(extra=1.0)
    table.to_csv(tmp_path / "table.csv", index=False)
    out = tmp_path / "predictions.csv"
    result = okl("predict", model, tmp_path / "table.csv", "--out", out)
    np.testing.assert_allclose(pd.read_csv(out), expected, rtol=1e-9)
    assert result.stderr.strip() == (
        "okl: ignored columns that the model does not know: extra"
    )


def test_codes_stay_text_in_a_table_where_all_look_like_numbers(okl, tmp_path):
    codes = ["007", "7", "x"] * 10
    table = pd.DataFrame({"code": codes, "y": [1.0, 2.0, 3.0] * 10})
    table.to_csv(tmp_path / "table.csv", index=False)
    okl(
        *("fit", tmp_path / "table.csv", "--target", "y", "--out", tmp_path / "out"),
        *("--kernel", "rbf", "--cv", "3"),
    )
    pd.DataFrame({"code": ["7", "007"]}).to_csv(tmp_path / "new.csv", index=False)
    model, out = tmp_path / "out" / "model.skops", tmp_path / "predictions.csv"
    okl("predict", model, tmp_path / "new.csv", "--out", out)
    np.testing.assert_allclose(pd.read_csv(out)["y"], [2.0, 1.0], atol=0.01)


def test_values_that_the_fit_has_not_seen_are_named(okl, tmp_path):
    towns, numbers = ["a", "b", "c"] * 10, np.arange(30.0)
    table = pd.DataFrame(
        {"town": towns, "old": [True] * 30, "x": numbers, "y": numbers}
    )
    table.to_csv(tmp_path / "table.csv", index=False)
    fit = ["fit", tmp_path / "table.csv", "--target", "y", *SMALL]
    okl(*fit, "--out", tmp_path / "out")
    new = pd.DataFrame({"town": ["a", "z", "?"], "old": [True, True, False], "x": 1.0})
    new.to_csv(tmp_path / "new.csv", index=False)
    predict = ["predict", tmp_path / "out" / "model.skops", tmp_path / "new.csv"]
    result = okl(*predict, "--out", tmp_path / "predictions.csv")
    assert result.exit_code == 0
    lines = result.stderr.splitlines()
    assert len(lines) == 2
    assert "warning: the column town has values" in lines[0]
    assert "'z' in row 2 and 1 more" in lines[0]
    assert "the column old has values" in lines[1]
    assert "'False' in row 3;" in lines[1]


@pytest.fixture
def refused(okl, tmp_path):
    """Run a prediction that must fail; return its one line."""

    def run(model, table, out=tmp_path / "predictions.csv"):
        before = sorted(tmp_path.rglob("*"))
        result = okl("predict", model, table, "--out", out)
        assert result.exit_code == 2
        assert sorted(tmp_path.rglob("*")) == before
        (line,) = result.stderr.splitlines()
        return line

    return run


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns=["town", "width"]), "no column width, town;"),
        (lambda t: t.assign(width="wide"), "width holds text; expected numbers"),
        (lambda t: t.assign(old=1.5), "old holds numbers; expected True and F"),
        (
            lambda t: t.assign(height=np.nan),
            "missing or infinite values in height (120",
        ),
    ],
)
def test_tables_unlike_that_of_the_fit(
    refused, model, related, tmp_path, change, message
):
    change(related).to_csv(tmp_path / "table.csv", index=False)
    assert message in refused(model, tmp_path / "table.csv")


@pytest.mark.parametrize("kept", [0, 100, 0.5, 0.99])
def test_a_truncated_model(refused, model, related_csv, tmp_path, kept):
    whole = model.read_bytes()
    size = int(kept * len(whole)) if isinstance(kept, float) else kept
    (tmp_path / "cut.skops").write_bytes(whole[:size])
    line = refused(tmp_path / "cut.skops", related_csv)
    assert "cut.skops is not a complete model of okl fit" in line


def test_a_damaged_model(refused, model, related_csv, tmp_path):
    damaged = bytearray(model.read_bytes())
    middle = len(damaged) // 2
    damaged[middle : middle + 64] = bytes(64)
    (tmp_path / "bad.skops").write_bytes(damaged)
    line = refused(tmp_path / "bad.skops", related_csv)
    assert "is not a complete model of okl fit" in line


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (Ridge(), "it holds a Ridge"),
        ({"weights": [1, 2]}, "it holds a dict"),
        (FunctionTransformer(np.save), "it holds numpy.save"),
    ],
)
def test_files_of_others(refused, related_csv, tmp_path, content, message):
    skops.io.dump(content, tmp_path / "other.skops")
    assert message in refused(tmp_path / "other.skops", related_csv)


def test_models_of_another_version(refused, model, related_csv, tmp_path):
    told = "was written by another version of okl, in a format that this one does not"
    # files had no number at first, and held types that are no longer there
    for strange in (None, 10**6):
        other = load_model(model)
        vars(other).pop("format")
        if strange is not None:
            vars(other)["format"] = strange
        skops.io.dump(other, tmp_path / "other.skops")
        assert told in refused(tmp_path / "other.skops", related_csv)
    gone = TrainingTargets(None, True, None)
    skops.io.dump(gone, tmp_path / "gone.skops")
    assert told in refused(tmp_path / "gone.skops", related_csv)


def test_missing_model(refused, fitted, related_csv):
    assert "there is no such file" in refused("nowhere.skops", related_csv)
    assert "it is a folder" in refused(fitted[0], related_csv)


def test_destinations(refused, model, related_csv, tmp_path):
    assert "would overwrite" in refused(model, related_csv, related_csv)
    assert "known endings" in refused(model, related_csv, tmp_path / "p.xlsx")
    (tmp_path / "folder.csv").mkdir()
    assert "is a folder" in refused(model, related_csv, tmp_path / "folder.csv")
    (tmp_path / "file").write_text("")
    assert "is a file" in refused(model, related_csv, tmp_path / "file" / "p.csv")
