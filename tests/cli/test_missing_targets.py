"""Empty cells of targets: not observed, neither filled nor a reason to drop rows."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from okl import OutputKernelRegressor
from okl.cli.data import take_apart
from okl.cli.errors import UserError
from okl.cli.fit import fit_table
from okl.cli.preprocessing import encoder_for
from okl.cli.storage import load_model
from tests.cli.conftest import FEWER_ALPHAS, SMALL
from tests.covering import later

TARGETS = ["y_a", "y_b", "y_c"]


def with_holes(table, names, part=0.3, seed=0):
    """Empty some cells."""
    rng = np.random.default_rng(seed)
    return table.assign(
        **{name: table[name].mask(rng.random(len(table)) < part) for name in names}
    )


@pytest.fixture
def holed(related):
    return with_holes(related.drop(columns="other"), TARGETS)


@pytest.mark.parametrize("suffix", ["csv", *later("parquet")])
def test_regression(okl, holed, related, tmp_path, suffix):
    path = tmp_path / f"table.{suffix}"
    if suffix == "csv":
        holed.to_csv(path, index=False)
    else:
        holed.to_parquet(path)
    result = okl(
        *("fit", path, "--target", "y_*", "--out", tmp_path / "out", *FEWER_ALPHAS),
        *("--kernel", "rbf", "--cv", "3"),
    )
    assert result.exit_code == 0, result.stderr
    empty = holed[TARGETS].isna().sum()
    told = f"{empty.sum()} of 360 cells, {empty.sum() / 360:.1%}: " + ", ".join(
        f"{name} ({empty[name]})" for name in TARGETS
    )
    assert f"okl: missing targets: {told}" in result.stderr
    assert f"missing   {told}" in result.stdout
    model = load_model(tmp_path / "out" / "model.skops")
    predicted = model.predict(related)
    for name in TARGETS:
        residual = (related[name] - predicted[name])[holed[name].isna()]
        assert residual.std() < 0.7 * related[name].std()
    # the same by hand
    final = model.pipeline[-1]
    features = related[["height", "width", "town", "old"]].astype({"old": str})
    X = encoder_for(model.features).fit_transform(features)
    by_hand = OutputKernelRegressor(final.kernel, "frobenius", final.alpha)
    by_hand.fit(X, holed[TARGETS])
    assert_allclose(final.output_kernel_, by_hand.output_kernel_, rtol=1e-6)
    assert_allclose(predicted, by_hand.predict(X), rtol=1e-6)


def test_one_target_is_learned_from_the_rows_that_have_it(holed, tmp_path):
    options = {
        "structures": ["identity"],
        "kernels": ["rbf"],
        "assignments": ["alphas=[0.3]", "tol=1e-12"],
    }
    holed.drop(columns=["y_b", "y_c"]).to_csv(tmp_path / "all.csv", index=False)
    fit = fit_table(tmp_path / "all.csv", ["y_a"], tmp_path / "one", **options)
    assert list(fit.data.missing) == ["y_a"]
    assert fit.kept.model.certificate_.status == "optimal"
    empty = holed["y_a"].isna().to_numpy()
    coefficients = fit.kept.model.dual_coef_[:, 0]
    assert np.abs(coefficients[empty]).max() < 1e-5 * np.abs(coefficients).max()


def test_labels(okl, related, tmp_path):
    labels = related[["height", "town"]].assign(
        above=related["y_a"] > 0, below=related["y_b"] > 0
    )
    table = with_holes(labels, ["above", "below"])
    table.to_csv(tmp_path / "table.csv", index=False)
    result = okl(
        *("fit", tmp_path / "table.csv", "--target", "above", "--target", "below"),
        *("--out", tmp_path / "out", *SMALL),
    )
    assert result.exit_code == 0, result.stderr
    assert "classification (the targets are truth values)" in result.stderr
    assert "missing targets: " in result.stderr
    predicted = load_model(tmp_path / "out" / "model.skops").predict(table)
    assert list(predicted.dtypes) == [bool, bool]
    unseen = table[["above", "below"]].isna().to_numpy()
    right = (predicted == labels[["above", "below"]]).to_numpy()
    assert right[unseen].mean() > 0.7
    numbers = labels.astype({"above": int, "below": int})
    with_holes(numbers, ["above", "below"]).to_csv(tmp_path / "n.csv", index=False)
    result = okl(
        *("fit", tmp_path / "n.csv", "--target", "[ab]*", "--out", tmp_path / "o"),
        *("--task", "classification", *SMALL),
    )
    assert result.exit_code == 0, result.stderr
    again = load_model(tmp_path / "o" / "model.skops").predict(table)
    assert (again == predicted).all(axis=None)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, None, 3], "Int64"),
        ([1.5, None, 3], "float32"),
        ([0, 1, None], "Int8"),
    ],
)
def test_numbers_with_empty_cells_are_numbers(values, dtype):
    table = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": pd.array(values, dtype)})
    data = take_apart(table, ["y"], None)
    assert data.task == "regression"
    assert data.missing == {"y": 1}
    expected = [np.nan if value is None else value for value in values]
    assert_allclose(data.y["y"], expected)
    assert ("--task classification" in data.reason) == (dtype == "Int8")


@pytest.mark.parametrize(
    ("columns", "targets", "task", "message"),
    [
        ({"a": [1.0, 2, 3], "b": [None] * 3}, "ab", None, "targets b are empty in"),
        ({"a": [True, False, True], "b": [None] * 3}, "ab", None, "b are empty in"),
        (
            {"a": ["p", None, "q"]},
            "a",
            None,
            r"values in a \(1 of 3 rows.* row 2",
        ),
        (
            {"a": [0, 1, None]},
            "a",
            "classification",
            r"in a \(1 of 3 rows.* row 3",
        ),
        ({"a": [0, 1, None], "b": [0, 2, 1]}, "ab", "classification", "the targets b"),
        (
            {"a": [np.inf, 1, None]},
            "a",
            None,
            r"values in a \(1 of 3 rows.* row 1",
        ),
        (
            {"a": [1, 2, None], "x": [1, None, 2]},
            "a",
            None,
            r"in x \(1 of 3 rows.* row 2",
        ),
    ],
)
def test_what_is_refused(columns, targets, task, message):
    table = pd.DataFrame({"x": [1.0, 2.0, 3.0], **columns})
    with pytest.raises(UserError, match=message):
        take_apart(table, list(targets), task)


def test_an_empty_column_is_named_on_the_command_line(okl, holed, tmp_path):
    holed.assign(y_b=np.nan).to_csv(tmp_path / "table.csv", index=False)
    result = okl(
        "fit", tmp_path / "table.csv", "--target", "y_*", "--out", tmp_path / "out"
    )
    assert result.exit_code == 2
    assert result.stderr.strip() == (
        "okl: error: the targets y_b are empty in every row; leave them out of "
        "--target."
    )
    assert not (tmp_path / "out").exists()
