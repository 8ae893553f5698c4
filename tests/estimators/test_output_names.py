"""Targets in a data frame are those of the outputs with their names."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import cross_val_score

from okl import (
    OutputKernelClassifier,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
Y = pd.DataFrame(
    X @ rng.normal(size=(3, 3)) + 0.3 * rng.normal(size=(40, 3)), columns=list("uvw")
)


@pytest.mark.parametrize("searched", [False, True])
def test_a_score_finds_the_columns_by_name(searched):
    model = OutputKernelRegressor("rbf", "frobenius")
    if searched:
        model = OutputKernelRegressorCV("rbf", "frobenius", alphas=[0.1, 1.0])
    model.fit(X, Y)
    expected = model.score(X, Y.to_numpy())
    assert_allclose(model.score(X, Y), expected)
    assert_allclose(model.score(X, Y[["w", "u", "v"]]), expected)
    assert_allclose(model.score(X, pd.DataFrame(Y.to_numpy())), expected)
    assert abs(model.score(X, Y[["w", "u", "v"]].to_numpy()) - expected) > 0.1


def test_frames_of_polars_too():
    polars = pytest.importorskip("polars")
    model = OutputKernelRegressor().fit(X, Y)
    frame = polars.from_pandas(Y[["w", "u", "v"]])
    assert_allclose(model.score(X, frame), model.score(X, Y))


def test_tables_of_pyarrow_too():
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.Table.from_pandas(Y)
    model = OutputKernelRegressor().fit(X, table)
    assert list(model.output_names_) == ["u", "v", "w"]
    assert_allclose(model.score(X, table.select(["w", "u", "v"])), model.score(X, Y))
    frame = Y.rename(columns={"u": "column_names"})
    model = OutputKernelRegressor().fit(X, frame)
    assert list(model.output_names_) == ["column_names", "v", "w"]


def test_labels_are_found_by_name():
    labels = (Y > 0).astype(int)
    model = OutputKernelClassifier(loss="logistic").fit(X, labels)
    assert_allclose(model.score(X, labels[["v", "w", "u"]]), model.score(X, labels))
    one = OutputKernelClassifier(loss="softmax")
    classes = pd.DataFrame({"class": labels.sum(axis=1)})
    one.fit(X, classes["class"])
    assert one.score(X, classes["class"]) == one.score(X, classes["class"].to_numpy())


def test_other_names_are_refused():
    model = OutputKernelRegressor().fit(X, Y)
    with pytest.raises(ValueError, match=r"columns 'z'; the outputs .* 'u', 'v', 'w'"):
        model.score(X, Y.rename(columns={"v": "z"}))
    with pytest.raises(ValueError, match="y has 2 columns; the outputs"):
        model.score(X, Y[["u", "w"]])
    assert np.isfinite(cross_val_score(model, X, Y, cv=3)).all()


def test_one_output_has_any_name():
    model = OutputKernelRegressor().fit(X, Y[["u"]])
    renamed = Y[["u"]].rename(columns={"u": "v"})
    assert model.score(X, renamed) == model.score(X, Y[["u"]])


def test_names_that_come_twice_are_named():
    twice = pd.DataFrame(Y.to_numpy(), columns=["u", "u", "w"])
    with pytest.raises(ValueError, match="y has 2 columns of the name 'u'"):
        OutputKernelRegressor().fit(X, twice)


@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_targets_whose_squares_leave_the_range_have_no_score(factor):
    model = OutputKernelRegressor().fit(X, factor * Y)
    with pytest.raises(ValueError, match=r"y_true has entries up to .* Rescale"):
        model.score(X, factor * Y)
