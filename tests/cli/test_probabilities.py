"""okl predict --proba: the probabilities of classes and labels beside the answers."""

import numpy as np
import pandas as pd
import pytest

from okl.cli.storage import load_model
from tests.cli.conftest import FEW, SMALL


def probable(okl, model, table, out, *options):
    result = okl("predict", model, table, "--out", out, "--proba", *options)
    assert result.exit_code == 0, result.stderr
    return pd.read_csv(out)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    return table.assign(level=pd.cut(table["a"], [-9, -0.5, 0.5, 9], labels=False))


def test_of_classes(okl, rows, tmp_path):
    table, out = tmp_path / "table.csv", tmp_path / "out"
    rows.to_csv(table, index=False)
    okl(
        *("fit", table, "--target", "level", "--out", out, *SMALL),
        *("--task", "classification"),
    )
    model = out / "model.skops"
    found = probable(okl, model, table, tmp_path / "p.csv")
    assert list(found) == ["level", "P(0)", "P(1)", "P(2)"]
    p = load_model(model).pipeline.predict_proba(rows[["a", "b"]])
    np.testing.assert_allclose(found.iloc[:, 1:], p, rtol=1e-12)
    assert (found["level"] == p.argmax(axis=1)).all()
    # with an answer of another kind, the probabilities are the same
    cautious = probable(okl, model, table, tmp_path / "p.csv", "--reject", "0.3")
    assert cautious["level"].isna().any()
    pd.testing.assert_frame_equal(cautious.iloc[:, 1:], found.iloc[:, 1:])


def test_of_labels(okl, rows, tmp_path):
    table, out = tmp_path / "table.csv", tmp_path / "out"
    labels = rows[["a", "b"]].assign(left=rows["a"] > 0, up=rows["b"] > 0.5)
    labels.to_csv(table, index=False)
    okl("fit", table, "--target", "left", "--target", "up", "--out", out, *FEW)
    model = out / "model.skops"
    found = probable(okl, model, table, tmp_path / "p.csv")
    assert list(found) == ["left", "up", "P(left)", "P(up)"]
    p = load_model(model).pipeline.predict_proba(labels[["a", "b"]])
    np.testing.assert_allclose(found[["P(left)", "P(up)"]], p, rtol=1e-12)
    assert (found[["left", "up"]] == (p > 0.5)).all(axis=None)
    result = okl(
        *("predict", model, table, "--out", tmp_path / "q.csv"),
        "--proba",
        "--reject",
        1,
    )
    assert result.exit_code == 2
    assert "this model has several targets, which are labels" in result.stderr


def test_a_column_that_is_there_is_not_written_over(okl, rows, tmp_path):
    table, out = tmp_path / "table.csv", tmp_path / "out"
    labels = rows[["a", "b"]].assign(left=rows["a"] > 0)
    labels["P(left)"] = rows["b"] > 0
    labels.to_csv(table, index=False)
    okl("fit", table, "--target", "left", "--target", "P(left)", "--out", out, *FEW)
    written = tmp_path / "p.csv"
    result = okl("predict", out / "model.skops", table, "--out", written, "--proba")
    assert result.exit_code == 2
    assert "--proba would write a second column P(left)" in result.stderr
    assert not written.exists()


@pytest.mark.parametrize("options", [[], ["--loss", "hinge"]])
def test_of_models_that_have_none(okl, rows, tmp_path, options):
    table, out = tmp_path / "table.csv", tmp_path / "out"
    kind = "classification" if options else "regression"
    rows.to_csv(table, index=False)
    okl(
        *("fit", table, "--target", "level", "--task", kind, "--out", out),
        *(*SMALL, *options),
    )
    result = okl(
        *("predict", out / "model.skops", table, "--out", tmp_path / "p.csv"), "--proba"
    )
    assert result.exit_code == 2
    said = "this model has none" if options else "this model predicts numbers"
    assert said in result.stderr
