"""okl impute: the empty cells of a table, filled in."""

import numpy as np
import pandas as pd
import pytest

from okl import OutputKernelImputer


@pytest.fixture
def holes(tmp_path):
    """A table with empty cells, and what was in them."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(120, 1))
    whole = pd.DataFrame(np.exp(z * [1, -1, 0.5]), columns=["y_a", "y_b", "y_c"])
    whole *= np.exp(0.05 * rng.normal(size=(120, 3)))
    table = whole.mask(rng.random((120, 3)) < 0.3)
    table.insert(1, "height", rng.normal(size=120))
    table["town"] = rng.choice(["Rome", "Oslo"], 120)
    table.to_csv(tmp_path / "table.csv", index=False)
    return table, whole


TARGETS = ["y_a", "y_b", "y_c"]


def test_without_inputs(okl, holes, tmp_path):
    table, whole = holes
    out = tmp_path / "filled.csv"
    result = okl(
        *("impute", tmp_path / "table.csv", "--target", "y_*", "--out", out),
        *("--no-inputs", "--std"),
    )
    assert result.exit_code == 0, result.stderr
    assert f"{int(table.isna().sum().sum())} cells filled" in result.stdout
    filled = pd.read_csv(out)
    assert list(filled) == [*table, "y_a_std", "y_b_std", "y_c_std"]
    expected, std = OutputKernelImputer().fit_transform(table[TARGETS], return_std=True)
    # as near as two fits to the tolerance are
    np.testing.assert_allclose(filled[TARGETS], expected, rtol=1e-6)
    std_columns = [f"{name}_std" for name in TARGETS]
    np.testing.assert_allclose(filled[std_columns], std, rtol=1e-5)
    assert filled["town"].equals(table["town"])
    empty = table[TARGETS].isna().to_numpy()
    some = empty & ~empty.all(axis=1)[:, None]
    errors = np.abs(np.log(expected / whole))[some]
    assert np.median(errors) < 0.15


def test_with_inputs(okl, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=30)
    table = pd.DataFrame({"x": x, "y": np.sin(x), "z": -np.cos(x)})
    table["y"] = table["y"].mask(rng.random(30) < 0.3)
    table.to_csv(tmp_path / "table.csv", index=False)
    out = tmp_path / "filled.parquet"
    result = okl(
        *("impute", tmp_path / "table.csv", "--target", "y", "--target", "z"),
        *("--out", out),
    )
    assert result.exit_code == 0, result.stderr
    assert "of y, z by x" in result.stderr
    filled = pd.read_parquet(out)
    assert list(filled) == ["x", "y", "z"]
    np.testing.assert_allclose(filled["y"], np.sin(x), atol=0.2)


@pytest.mark.parametrize(
    ("change", "arguments", "said"),
    [
        ({}, ["--target", "town"], "town (text) are not numbers"),
        ({"y_a": np.nan}, ["--target", "y_*"], "y_a are empty in every row"),
        ({"height": np.nan}, ["--target", "y_*"], "--no-inputs"),
        ({"height": "2020-01-31"}, ["--target", "y_*"], "--no-inputs"),
        ({"y_a_std": 1.0}, ["--target", "y_a", "--std"], "second column y_a_std"),
        ({}, ["--target", "q_*"], "no column is called"),
    ],
)
def test_refusals(okl, holes, tmp_path, change, arguments, said):
    holes[0].assign(**change).to_csv(tmp_path / "table.csv", index=False)
    out = tmp_path / "filled.csv"
    result = okl("impute", tmp_path / "table.csv", *arguments, "--out", out)
    assert result.exit_code == 2
    assert said in result.stderr
    assert not out.exists()


def test_the_table_is_not_overwritten(okl, holes, tmp_path):
    path = tmp_path / "table.csv"
    result = okl("impute", path, "--target", "y_*", "--out", path)
    assert result.exit_code == 2
    assert "would overwrite a file that is read" in result.stderr


def test_row_numbers_that_explain_are_told_of(okl, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=30), "y": rng.normal(size=30)})
    table["y"] = table["y"].mask(rng.random(30) < 0.3)
    source = tmp_path / "table.csv"
    table.to_csv(source)
    arguments = ("impute", source, "--target", "y", "--out", tmp_path / "filled.csv")
    assert "numbers the rows, as pandas writes them" in okl(*arguments).stderr
    assert "numbers the rows" not in okl(*arguments, "--no-inputs").stderr


def test_other_cells_are_written_as_they_were(okl, holes, tmp_path):
    table, _ = holes
    table = table.assign(town=np.char.mod("%04d", np.arange(120)), flag="TRUE")
    table["y_a"] = (10 * table["y_a"]).round().astype("Int64")
    source, out = tmp_path / "codes.csv", tmp_path / "filled.csv"
    table.to_csv(source, index=False)
    arguments = ("--target", "y_*", "--out", out, "--no-inputs")
    assert okl("impute", source, *arguments).exit_code == 0
    before, after = (
        pd.read_csv(path, dtype=str, na_filter=False) for path in (source, out)
    )
    empty = before == ""
    assert empty.any(axis=None)
    assert after.where(~empty).equals(before.where(~empty))
    assert np.isfinite(after[TARGETS].astype(float)).all(axis=None)


def test_a_column_without_name_and_cells_is_not_written(okl, holes, tmp_path):
    path, out = tmp_path / "table.csv", tmp_path / "filled.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(f"{line}," for line in lines), encoding="utf-8")
    result = okl("impute", path, "--target", "y_*", "--out", out, "--no-inputs")
    assert result.exit_code == 0, result.stderr
    assert list(pd.read_csv(out)) == list(holes[0])
