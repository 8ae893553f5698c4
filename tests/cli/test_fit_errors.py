"""What okl fit refuses: one line, exit code 2, and nothing written."""

import numpy as np
import pandas as pd
import pytest

from okl.cli import fit as fit_module
from okl.cli import results as results_module
from tests.cli.conftest import SMALL


@pytest.fixture
def refused(okl, tmp_path):
    """Run a fit that must fail; return its one line."""

    def run(table, *arguments, out=tmp_path / "out"):
        before = sorted(tmp_path.rglob("*"))
        result = okl("fit", table, "--out", out, *arguments)
        assert result.exit_code == 2
        assert result.stdout == ""
        lines = result.stderr.splitlines()
        assert lines[-1].startswith("okl: error: ")
        known = ("okl: task: ", "okl: search: ")
        assert all(line.startswith(known) for line in lines[:-1])
        assert sorted(tmp_path.rglob("*")) == before
        return lines[-1]

    return run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "z_*"], "matches, --target z_*. The table has: height, width"),
        (["--target", "Y_A"], "--target Y_A. Capitals count: y_a. The table has"),
        (
            ["--target", "y_a, height"],
            "Give one option for each column: --target y_a --target height. The table",
        ),
        (["--target", "*"], "every column of the table is a target"),
        (["--target", "y_a", "--target", "town"], "town (text), y_a (number)"),
        (["--target", "town", "--task", "regression"], "town do not fit: regression"),
        (["--target", "y_a", "--task", "classification"], "as text, such as v1.5"),
        (["--target", "y_*", "--task", "classification"], "only 0 and 1 in each"),
        (
            ["--target", "y_a", "--structure", "foo"],
            "one of: cluster, frobenius, identity",
        ),
        (
            ["--target", "y_a", "--structure", "cluster"],
            "--structure cluster needs --set structure__n_clusters=VALUE",
        ),
        (["--target", "y_a", "--kernel", "foo"], "--kernel foo is unknown; expected"),
        (["--target", "y_a", "--kernel", "precomputed"], "--kernel precomputed is"),
        (
            ["--target", "y_a", "--set", "foo=1"],
            "alpha_per_output, alphas, class_weight, eps",
        ),
        (["--target", "y_a", "--set", "kernel__foo=1"], "kernel__gamma"),
        (["--target", "y_a", "--set", "structure__rank=2"], "not know structure__rank"),
        (["--target", "y_a", "--set", "cv=3"], "--set cv=3: give --cv 3 instead"),
        (
            ["--target", "y_a", "--kernel", "linear", "--set", "kernel=rbf"],
            "--set kernel=rbf: give --kernel rbf instead",
        ),
        (
            ["--target", "y_a", "--loss", "huber", "--set", "loss=squared"],
            "--loss huber and --set loss=squared contradict each other",
        ),
        (
            ["--target", "y_a", "--alpha-per-output", "--set", "alpha_per_output=0"],
            "--alpha-per-output and --set alpha_per_output=0 contradict",
        ),
        (
            ["--target", "y_a", "--set", "tol=1e-3", "--set", "tol=1e-4"],
            "--set tol=1e-3 and --set tol=1e-4 contradict each other",
        ),
        (["--target", "y_a", "--set", "loss__delta=2"], "add --loss huber"),
        (
            ["--target", "y_a", "--loss", "huber", "--set", "loss__quantile=0.1"],
            "loss, loss__delta, max_iter",
        ),
        (["--target", "y_a", "--set", "tol"], "has no '='"),
        (["--target", "y_a", "--set", "=3"], "--set =3 has no name"),
        (["--target", "y_a", "--set", "tol="], "--set tol= has no value"),
        (["--target", "y_a", "--set", "temperature=2"], "for targets that are classes"),
        (["--target", "y_a", "--set", "kernel__gamma=-1"], "finite and > 0"),
        (["--target", "y_a", "--set", "kernel__gamma=wide"], "got 'wide'"),
        (["--target", "y_a", "--set", "alphas=0"], "alphas must be an integer >= 1"),
        (["--target", "y_a", "--set", "scoring=foo"], "Got 'foo' instead"),
        (["--target", "y_a", "--cv", "1"], "at least 2 folds"),
        (["--target", "y_a", "--cv", "0"], "at least 2 folds"),
        (["--target", "y_a", "--loss", ""], "Unknown loss ''"),
        (
            ["--target", "y_a", "--set", "loss=3", "--set", "loss__delta=2"],
            "--loss 3 is unknown; expected one of",
        ),
        (["--target", "y_a", "--cv", "70"], "the table has 120 rows"),
    ],
)
def test_arguments(refused, related_csv, arguments, message):
    line = refused(related_csv, *arguments)
    assert message in line
    assert len(line) < 500


def test_few_rows_have_few_folds(okl, related, tmp_path):
    options = ("--target", "y_a", "--out", tmp_path / "out", "--kernel", "linear")
    related.head(7).to_csv(tmp_path / "seven.csv", index=False)
    result = okl("fit", tmp_path / "seven.csv", *options, "--set", "alphas=2")
    assert result.exit_code == 0, result.stderr
    assert "okl: folds: 3, as there are few rows" in result.stderr
    related.head(3).to_csv(tmp_path / "three.csv", index=False)
    result = okl("fit", tmp_path / "three.csv", *options)
    assert "the table has 3 rows; holding some out takes at least 4" in result.stderr


def test_columns_of_other_kinds_are_named(refused, related, tmp_path):
    table = related.assign(
        day=pd.Timestamp("2020-01-01"), tags=[[1]] * len(related), phase=1j
    )
    table.drop(columns="phase").to_parquet(tmp_path / "table.parquet")
    line = refused(tmp_path / "table.parquet", "--target", "y_*")
    assert "day (datetime64" in line
    assert "tags (object)" in line


def test_missing_and_infinite_values_are_named(refused, related, tmp_path):
    table = related.astype({"old": object})
    table.loc[[3, 5], "width"] = np.nan
    table.loc[4, "y_b"] = np.inf
    table.loc[7, "town"] = None
    table.to_csv(tmp_path / "table.csv", index=False)
    line = refused(tmp_path / "table.csv", "--target", "y_*")
    n = len(table)
    for name, count, row in [("width", 2, 4), ("town", 1, 8), ("y_b", 1, 5)]:
        assert f"{name} ({count} of {n} rows, from row {row})" in line


@pytest.mark.parametrize("more", [",", ",,"])
def test_separators_at_the_end_of_lines_make_no_columns(okl, related, tmp_path, more):
    table, lines = related[["height", "y_a"]], []
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    for line in path.read_text(encoding="utf-8").splitlines():
        lines.append(line + more)
    path.write_text("\n".join(lines), encoding="utf-8")
    arguments = ("--target", "y_a", "--kernel", "linear", "--set", "alphas=3")
    result = okl("fit", path, *arguments, "--out", tmp_path / "out")
    assert result.exit_code == 0
    assert "neither a name nor cells" in result.stderr
    assert "features  1: 1 number" in result.stdout


def test_a_class_that_is_alone(refused, related, tmp_path):
    related.assign(one="same").to_csv(tmp_path / "table.csv", index=False)
    assert "same in every row" in refused(tmp_path / "table.csv", "--target", "one")


def test_classes_of_one_row_each_are_no_classes(refused, related, tmp_path):
    weights = [f"{number} kg" for number in range(len(related))]
    related.assign(weight=weights).to_csv(tmp_path / "t.csv", index=False)
    line = refused(tmp_path / "t.csv", "--target", "weight")
    assert "weight has a different class in each row: 0 kg, 1 kg, 2 kg and" in line


def test_classes_have_no_units(refused, related, tmp_path):
    related.assign(tall=related["height"] > 0).to_csv(tmp_path / "t.csv", index=False)
    told = refused(
        *(tmp_path / "t.csv", "--target", "tall", "--set", "normalize_y=False")
    )
    assert "--set normalize_y is for targets that are numbers" in told


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("table.txt", b"a,b\n1,2\n", "none of the known endings (.csv"),
        ("table.csv", None, "there is no file"),
        ("table.csv", b"", "is empty; expected a header"),
        ("table.csv", b"\n \n", "is empty; expected a header"),
        ("table.csv", b"\xef\xbb\xbf", "is empty; expected a header"),
        ("table.csv", b"a,b\n", "has no rows"),
        ("table.csv", b"a,b\n1,2,3\n4,5,6\n", "more cells than its first line"),
        (
            "table.csv",
            b"a,b\n1,2\n4,5,6\n",
            "the rows before it at most 2.",
        ),
        ("table.csv", b'a,b\n1,2\n4,"5\n', "EOF inside string"),
        ("table.csv", b"a,b\n1,\xff\xfe\n", "the byte 0xff in line 2"),
        ("table.csv.gz", b"a,b\n1,2\n", "Not a gzipped file"),
        ("table.parquet", b"a,b\n1,2\n", "cannot read"),
    ],
)
def test_tables(refused, tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    assert message in refused(path, "--target", "b")


@pytest.mark.parametrize("out", ["file", "file/sub/out"])
def test_a_file_in_the_way_is_noticed_before_any_work(
    refused, related_csv, tmp_path, monkeypatch, out
):
    (tmp_path / "file").write_text("mine")

    def work(*args):
        raise AssertionError("the table was read")

    monkeypatch.setattr(fit_module, "read_table", work)
    line = refused(related_csv, "--target", "y_a", out=tmp_path / out)
    assert f"{tmp_path / 'file'} is a file" in line
    assert (tmp_path / "file").read_text() == "mine"


def test_nothing_is_left_when_the_last_step_fails(
    okl, related_csv, tmp_path, monkeypatch
):
    def fail(**kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(results_module, "write_report", fail)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OSError, match="disk full"):
        okl(
            *("fit", related_csv, "--target", "y_a", *SMALL),
            *("--out", tmp_path / "new" / "out"),
        )
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("n_each", "text"),
    [(3, "--cv 5 does not fit"), (1, "each class has only one row")],
)
def test_more_folds_than_rows_of_a_class_are_refused(okl, tmp_path, n_each, text):
    paths = [f"x/{name}" for name in "abcd" for _ in range(n_each)] * (4 // n_each)
    paths = [f"{one}{k}" if n_each == 1 else one for k, one in enumerate(paths)]
    table = pd.DataFrame({"x": np.arange(len(paths), dtype=float), "kind": paths})
    table.to_csv(tmp_path / "table.csv", index=False)
    result = okl(
        *("fit", tmp_path / "table.csv", "--target", "kind", "--out", tmp_path / "out"),
        *("--cv", "5", "--tree", "paths"),
    )
    assert result.exit_code == 2
    assert text in result.stderr
