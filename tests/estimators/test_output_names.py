"""Targets in a data frame are those of the outputs with their names."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import cross_val_score

from okl import (
    OutputKernelClassifier,
    OutputKernelExtension,
    OutputKernelRegressor,
    OutputKernelRegressorCV,
    ReducedRankRegression,
    certify,
)
from okl.inspection import output_kernel_stability

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


def test_numbers_are_names_where_they_were_in_another_order():
    numbered = pd.DataFrame(Y.to_numpy())
    model = OutputKernelRegressor().fit(X, numbered[[2, 0, 1]])
    expected = model.score(X, numbered[[2, 0, 1]].to_numpy())
    assert_allclose(model.score(X, numbered), expected)
    assert_allclose(model.score(X, numbered[[1, 0, 2]]), expected)


def test_weights_of_targets_are_found_by_name():
    weights, order = Y.abs(), ["w", "u", "v"]
    arrays = Y.to_numpy(), weights.to_numpy()
    model = OutputKernelRegressor("rbf", "frobenius")
    expected = model.fit(X, arrays[0], sample_weight=arrays[1]).predict(X)
    score = model.score(X, arrays[0], sample_weight=arrays[1])
    # those of the targets, where the outputs of the fit have no names
    assert_allclose(model.score(X, Y, sample_weight=weights[order]), score)
    model.fit(X, Y, sample_weight=weights[order])
    assert_allclose(model.predict(X), expected)
    assert_allclose(model.score(X, Y[order], sample_weight=weights), score)
    assert_allclose(model.score(X, arrays[0], sample_weight=weights[order]), score)
    wrong = model.score(X, arrays[0], sample_weight=weights[order].to_numpy())
    assert abs(wrong - score) > 1e-3
    # other names say nothing of the outputs
    renamed = weights.rename(columns=str.upper)
    assert_allclose(model.score(X, Y, sample_weight=renamed), score)


def test_weights_of_targets_are_found_by_name_where_models_are_refitted():
    weights = Y.abs()
    model = OutputKernelRegressor("rbf", "frobenius").fit(X, Y, sample_weight=weights)
    one, other = (
        output_kernel_stability(model, X, Y, sample_weight=given, n_resamples=3)
        for given in (weights, weights[["w", "u", "v"]])
    )
    assert_allclose(other.covariance.std, one.covariance.std)


def test_weights_of_labels_are_found_by_name():
    labels, weights, order = (Y > 0).astype(int), Y.abs(), ["w", "u", "v"]
    model = OutputKernelClassifier(loss="logistic")
    expected = model.fit(X, labels, sample_weight=weights).decision_function(X)
    model.fit(X, labels, sample_weight=weights[order])
    assert_allclose(model.decision_function(X), expected)


def test_outputs_that_were_added_are_found_by_name():
    model = OutputKernelRegressor().fit(X, Y)
    new = pd.DataFrame({"n": Y["u"] - Y["v"], "o": Y["w"] ** 2})
    weights = new.abs()
    later = OutputKernelExtension(model).fit(X, new, sample_weight=weights[["o", "n"]])
    assert_allclose(
        OutputKernelExtension(model).fit(X, new, sample_weight=weights).predict(X),
        later.predict(X),
    )
    turned = new[["o", "n"]]
    assert_allclose(later.score(X, turned), later.score(X, new))
    gap = certify(later, X, new, sample_weight=weights).relative_gap
    assert gap <= model.tol
    again = certify(later, X, turned, sample_weight=weights)
    assert_allclose(again.relative_gap, gap)
    joint = later.joint_certificate(Y, new)
    assert_allclose(
        later.joint_certificate(Y[["w", "u", "v"]], turned).primal, joint.primal
    )


def test_reduced_rank_finds_them_by_name():
    model = ReducedRankRegression(rank=2).fit(X, Y)
    assert_allclose(model.score(X, Y[["w", "u", "v"]]), model.score(X, Y.to_numpy()))


def test_weights_with_names_of_outputs_and_others_are_refused():
    # they went by their places, although one of the names says another
    X, Y = np.eye(6), pd.DataFrame(np.arange(12.0).reshape(6, 2), columns=["a", "b"])
    weights = pd.DataFrame(np.ones((6, 2)), columns=["b", "c"])
    with pytest.raises(ValueError, match=r"sample_weight has the columns 'c'; the out"):
        OutputKernelRegressor().fit(X, Y, sample_weight=weights)
    model = OutputKernelRegressor().fit(X, Y)
    with pytest.raises(ValueError, match=r"sample_weight has the columns 'c'; the out"):
        model.score(X, Y, sample_weight=weights)
    # without any of their names there are only places
    named = weights.set_axis(["one", "two"], axis=1)
    OutputKernelRegressor().fit(X, Y, sample_weight=named)
