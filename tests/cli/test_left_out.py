"""Columns and rows of a table that are left out, and other text formats, as options."""

import numpy as np
import pandas as pd
import pytest

from okl.cli.errors import UserError
from okl.cli.left_out import incomplete_rows, without_columns, without_empty_rows
from okl.cli.storage import load_model
from tests.cli.conftest import SMALL


def last_line(result):
    return result.stderr.strip().splitlines()[-1]


def test_semicolons_and_decimal_commas_from_fit_to_predictions(okl, related, tmp_path):
    table = related[["height", "width", "town", "y_a", "y_b"]]
    options = ("--sep", ";", "--decimal", ",")
    plain, theirs = tmp_path / "plain.csv", tmp_path / "theirs.csv"
    table.to_csv(plain, index=False)
    table.to_csv(theirs, index=False, sep=";", decimal=",")
    found = {}
    for path, how in ((plain, ()), (theirs, options)):
        out, answers = tmp_path / path.stem, tmp_path / f"{path.stem}_answers.csv"
        result = okl("fit", path, "--target", "y_*", "--out", out, *SMALL, *how)
        assert result.exit_code == 0, result.stderr
        result = okl("predict", out / "model.skops", path, "--out", answers, *how)
        assert result.exit_code == 0, result.stderr
        found[path] = answers
    answers = pd.read_csv(found[theirs], sep=";", decimal=",")
    np.testing.assert_allclose(answers, pd.read_csv(found[plain]), rtol=1e-9)
    # the format of what is written is checked before any work
    result = okl("predict", "none.skops", theirs, "--out", found[plain],
                 "--decimal", ",")  # fmt: skip
    assert result.exit_code == 2
    assert "give --sep as well" in last_line(result)
    result = okl("fit", theirs, "--target", "y_*", "--out", tmp_path / "no")
    assert "Give --sep ';' (and --decimal ," in last_line(result)


def test_cells_are_filled_in_the_format_of_the_table(okl, related, tmp_path):
    table = related[["height", "y_a", "y_b"]].assign(note="x, y")
    table.loc[3, "y_a"] = np.nan
    path, out = tmp_path / "t.csv", tmp_path / "filled.csv"
    table.to_csv(path, index=False, sep=";", decimal=",")
    result = okl(
        *("impute", path, "--target", "y_*", "--out", out, "--ignore", "note"),
        *("--sep", ";", "--decimal", ","),
    )
    assert result.exit_code == 0, result.stderr
    assert "by height" in result.stderr
    assert "note" not in result.stderr
    before, after = (name.read_text().splitlines() for name in (path, out))
    assert [i for i in range(len(before)) if before[i] != after[i]] == [4]
    filled = pd.read_csv(out, sep=";", decimal=",")
    assert np.isfinite(filled["y_a"]).all()
    assert filled["note"].eq("x, y").all()


def test_ignored_columns_are_not_used(okl, related, tmp_path):
    path, out = tmp_path / "t.csv", tmp_path / "out"
    table = related[["height", "width", "y_a"]].assign(row_id=range(120), row_name="x")
    table.to_csv(path, index=False)
    target = ("--target", "y_a")
    result = okl("fit", path, *target, "--out", out, "--ignore", "row_*", *SMALL)
    assert result.exit_code == 0, result.stderr
    assert "row_" not in result.stderr
    assert set(load_model(out / "model.skops").features) == {"height", "width"}
    for ignored, said in (
        ("y_a", "--ignore leaves out y_a, which another option names"),
        ("Row_id", "matches, --ignore Row_id. Capitals count: row_id"),
        ("row_id,width", "--ignore row_id --ignore width"),
    ):
        result = okl("fit", path, *target, "--out", out, "--ignore", ignored)
        assert result.exit_code == 2
        assert said in last_line(result)
    with pytest.raises(UserError, match="leaves out width, which another"):
        without_columns(table, ["w*"], [None, "width"])


def test_rows_with_an_empty_feature_are_left_out_if_asked_for(okl, related, tmp_path):
    path, out = tmp_path / "t.csv", tmp_path / "out"
    table = related[["height", "town", "y_a", "y_b"]].copy()
    table.loc[[2, 7], "height"] = np.nan
    table.loc[[7, 9], "town"] = None
    table.loc[11, "y_a"] = np.nan  # a target that was not observed
    table.to_csv(path, index=False)
    arguments = ("fit", path, "--target", "y_*", "--out", out, *SMALL)
    result = okl(*arguments)
    assert result.exit_code == 2
    assert "leave out such rows (--skip-incomplete of" in last_line(result)
    result = okl(*arguments, "--skip-incomplete")
    assert result.exit_code == 0, result.stderr
    said = "left out: 3 of 120 rows with an empty cell among the features: height (2),"
    assert said in result.stderr
    assert "117 rows" in result.stdout
    assert "left out  3 rows with an empty cell" in result.stdout
    answers = tmp_path / "answers.csv"
    arguments = ("predict", out / "model.skops", path, "--out", answers)
    assert okl(*arguments).exit_code == 2
    assert okl(*arguments, "--skip-incomplete", "--std").exit_code == 0
    found = pd.read_csv(answers)
    assert np.flatnonzero(found.isna().all(axis=1)).tolist() == [2, 7, 9]
    assert found.isna().to_numpy().sum() == 3 * 4
    whole = okl("predict", out / "model.skops", path, "--out", answers,
                "--skip-incomplete")  # fmt: skip
    np.testing.assert_allclose(pd.read_csv(answers), found[["y_a", "y_b"]])
    assert "120 rows, 2 predicted" in whole.stdout
    with pytest.raises(UserError, match=r"every row .*: a \(2\), b \(1\)"):
        incomplete_rows(pd.DataFrame({"a": [None, None], "b": [1, None]}), ["a", "b"],
                        print)  # fmt: skip


def test_classes_of_rows_left_out_are_empty(okl, related, tmp_path):
    path, out = tmp_path / "t.csv", tmp_path / "out"
    table = related[["height", "width", "old"]].copy()
    table.to_csv(path, index=False)
    okl("fit", path, "--target", "old", "--out", out, *SMALL)
    table.loc[0, "width"] = np.nan
    table.to_csv(path, index=False)
    answers = tmp_path / "answers.parquet"
    result = okl("predict", out / "model.skops", path, "--out", answers, "--proba",
                 "--skip-incomplete")  # fmt: skip
    assert result.exit_code == 0, result.stderr
    found = pd.read_parquet(answers)
    assert found.isna().all(axis=1).tolist() == [True] + [False] * 119
    assert set(found["old"].dropna()) <= {True, False}


def test_rows_without_a_class_are_left_out_if_asked_for(okl, related, tmp_path):
    path = tmp_path / "t.csv"
    table = related[["height", "width", "town"]].copy()
    table.loc[[3, 8], "town"] = None
    table.to_csv(path, index=False)
    arguments = ("fit", path, "--target", "town", "--out", tmp_path / "out", *SMALL)
    assert okl(*arguments).exit_code == 2
    result = okl(*arguments, "--skip-incomplete", "--ignore", "width")
    assert result.exit_code == 0, result.stderr
    assert "left out  2 rows with an empty cell, columns width" in result.stdout


def test_columns_may_be_kept_beside_predictions(okl, related, tmp_path):
    path, out = tmp_path / "t.csv", tmp_path / "out"
    table = related[["height", "width", "y_a"]].assign(who=range(100, 220), note="x")
    table.to_csv(path, index=False)
    okl("fit", path, "--target", "y_a", "--out", out, *SMALL, "--ignore", "[wn]*[oe]")
    arguments = ("predict", out / "model.skops", path, "--out", tmp_path / "p.csv")
    result = okl(*arguments, "--keep", "who", "--keep", "n*")
    assert result.exit_code == 0, result.stderr
    assert "ignored columns" not in result.stderr
    found = pd.read_csv(tmp_path / "p.csv")
    assert list(found) == ["who", "note", "y_a"]
    assert found["who"].tolist() == list(range(100, 220))
    result = okl(*arguments, "--keep", "y_a")
    assert result.exit_code == 2
    assert "--keep y_a is also the name of a column of predict" in last_line(result)
    table.assign(y_a_std=1).to_csv(path, index=False)
    result = okl(*arguments, "--keep", "y_a_std", "--std")
    assert result.exit_code == 2
    assert "--keep y_a_std is also the name" in last_line(result)
    codes = [f"{i:03d}" for i in range(119)]
    table.assign(who=[*codes, ""]).to_csv(path, index=False)
    okl(*arguments, "--keep", "who")
    assert pd.read_csv(tmp_path / "p.csv", dtype=str)["who"].tolist()[:119] == codes
    # a column without a name or cells, as where lines end with a comma
    path.write_text("".join(f"{line},\n" for line in path.read_text().splitlines()))
    result = okl(*arguments, "--keep", "who")
    assert result.exit_code == 0, result.stderr
    assert pd.read_csv(tmp_path / "p.csv", dtype=str)["who"].tolist()[:119] == codes


def test_decimal_commas_in_numbers_have_a_remedy(okl, fitted, related, tmp_path):
    folder, _ = fitted
    path = tmp_path / "t.csv"
    text = related["height"].map("{:.3f}".format).str.replace(".", ",")
    related.assign(height=text).to_csv(path, index=False)
    result = okl("predict", folder / "out" / "model.skops", path, "--out",
                 tmp_path / "p.csv")  # fmt: skip
    assert result.exit_code == 2
    assert "If commas are before decimals, give --decimal ," in last_line(result)


def test_ignored_columns_are_no_targets_of_a_pattern(okl, related, tmp_path):
    path, out = tmp_path / "t.csv", tmp_path / "filled.csv"
    table = related[["y_a", "y_b"]].assign(day=pd.date_range("2020", periods=120))
    table.loc[3, "y_a"] = np.nan
    table.to_csv(path, index=False)
    result = okl("impute", path, "--target", "*", "--ignore", "day", "--out", out)
    assert result.exit_code == 0, result.stderr
    assert pd.read_csv(out)["day"].equals(pd.read_csv(path)["day"])


def test_rows_without_any_cell_are_left_out(okl, related, tmp_path):
    path, out = tmp_path / "t.csv", tmp_path / "out"
    table = related[["height", "width", "y_a"]]
    text = table.to_csv(index=False)
    path.write_text(text + ",,\n,,\n")
    result = okl("fit", path, "--target", "y_a", "--out", out, *SMALL)
    assert result.exit_code == 0, result.stderr
    assert "2 of 122 rows have no cell, the first of them row 121" in result.stderr
    assert "120 rows" in result.stdout
    okl("predict", out / "model.skops", path, "--out", tmp_path / "p.csv")
    found = pd.read_csv(tmp_path / "p.csv", skip_blank_lines=False)["y_a"]
    # they stay beside their rows
    assert np.flatnonzero(found.isna()).tolist() == [120, 121]
    with pytest.raises(UserError, match="every row of the table is empty"):
        without_empty_rows(pd.DataFrame({"a": [None], "b": [np.nan]}))
