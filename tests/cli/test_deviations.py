"""Standard deviations on the command line."""

import numpy as np
import pandas as pd

from okl.cli.storage import load_model
from tests.cli.conftest import SMALL

TARGETS = ["y_a", "y_b", "y_c"]


def test_predictions_have_standard_deviations(okl, fitted, related, tmp_path):
    path = fitted[0] / "out" / "model.skops"
    related.to_csv(tmp_path / "table.csv", index=False)
    out = tmp_path / "predictions.csv"
    result = okl("predict", path, tmp_path / "table.csv", "--std", "--out", out)
    assert result.exit_code == 0, result.stderr
    predicted = pd.read_csv(out)
    assert list(predicted) == [*TARGETS, "y_a_std", "y_b_std", "y_c_std"]
    pipeline = load_model(path).pipeline
    mean, std = pipeline.predict(
        related[["height", "width", "town", "old"]], return_std=True, include_noise=True
    )
    np.testing.assert_allclose(predicted, np.hstack([mean, std]), rtol=1e-9)


def test_predictions_have_intervals(okl, fitted, related, tmp_path):
    path = fitted[0] / "out" / "model.skops"
    related.to_csv(tmp_path / "table.csv", index=False)
    out = tmp_path / "predictions.csv"
    arguments = ("predict", path, tmp_path / "table.csv", "--out", out)
    assert okl(*arguments, "--interval", "0.95").exit_code == 0
    found = pd.read_csv(out)
    ends = [f"{name}_{end}" for name in TARGETS for end in ("low", "high")]
    assert list(found) == [*TARGETS, *ends]
    with_std = load_model(path).predict(related, std=True)
    for name in TARGETS:
        for end, z in (("low", -1.959964), ("high", 1.959964)):
            expected = with_std[name] + z * with_std[f"{name}_std"]
            np.testing.assert_allclose(
                found[f"{name}_{end}"], expected, atol=1e-6 * expected.std()
            )
    inside = related["y_a"].between(found["y_a_low"], found["y_a_high"])
    assert 0.85 < inside.mean() <= 1.0
    assert okl(*arguments, "--interval", "0.95", "--std").exit_code == 0
    assert list(pd.read_csv(out)) == [*TARGETS, *(f"{n}_std" for n in TARGETS), *ends]
    for wrong in ("0", "1", "95"):
        result = okl(*arguments, "--interval", wrong)
        assert result.exit_code == 2
        assert "is no probability between 0 and 1" in result.stderr


def test_numbers_have_no_probabilities(okl, fitted, tmp_path):
    folder, _ = fitted
    result = okl("predict", folder / "out" / "model.skops", folder / "table.csv",
                 "--proba", "--out", tmp_path / "p.csv")  # fmt: skip
    assert result.exit_code == 2
    assert "this model predicts numbers. How sure these are" in result.stderr


def test_classes_have_no_standard_deviations(okl, tmp_path):
    table = pd.DataFrame({"x": np.arange(30.0), "y": ["a", "b", "c"] * 10})
    table.to_csv(tmp_path / "table.csv", index=False)
    okl(
        *("fit", tmp_path / "table.csv", "--target", "y", "--out", tmp_path / "out"),
        *("--kernel", "linear", "--set", "alphas=2", "--structure", "identity"),
    )
    model = tmp_path / "out" / "model.skops"
    out = tmp_path / "predictions.csv"
    result = okl("predict", model, tmp_path / "table.csv", "--std", "--out", out)
    assert result.exit_code == 2
    assert "predicts classes" in result.stderr


def test_other_losses_have_no_standard_deviations(okl, related_csv, tmp_path):
    result = okl(
        *("fit", related_csv, "--target", "y_a", "--out", tmp_path / "out", *SMALL),
        *("--loss", "huber"),
    )
    assert result.exit_code == 0, result.stderr
    model, out = tmp_path / "out" / "model.skops", tmp_path / "predictions.csv"
    result = okl("predict", model, related_csv, "--std", "--out", out)
    assert result.exit_code == 2
    assert (
        "--std and --interval need the squared loss, and this model has huber"
        in result.stderr
    )
    assert not out.exists()
