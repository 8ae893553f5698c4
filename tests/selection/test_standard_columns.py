"""Units of columns, and entries that are far from all others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from okl import OutputKernelClassifierCV, OutputKernelRegressorCV
from okl.selection.standard_columns import StandardColumns
from tests.covering import later


def draw(n=150):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.c_[np.sin(2 * X[:, 0]) + X[:, 1], X[:, 0] * X[:, 2]]


def of(X, weights=None):
    return StandardColumns.of(X, weights, centred=True)


@pytest.mark.parametrize("wrong", [9999.0, -9999.0, 1e12])
def test_a_wrong_entry_is_no_unit(wrong):
    X, _ = draw()
    clean = of(X)
    X[7, 0] = wrong
    columns = of(X)
    assert_array_equal(columns.deviations[1:], clean.deviations[1:])
    # it counts as one a hundred times the distance of the quartiles away
    assert columns.deviations[0] < 15 * clean.deviations[0]
    assert np.abs(columns.rows(X)).max() < 15
    # where linear trends stop does not follow it either
    assert np.all(columns.ends[0] <= columns.limits[0])
    assert np.all(columns.limits[1] <= columns.ends[1])
    assert np.abs(columns.ends[:, 0]).max() < 250


@pytest.mark.parametrize(
    "column",
    [
        np.exp(1.5 * np.random.default_rng(1).normal(size=150)),
        np.repeat([0.0, 1.0], [140, 10]),
        np.repeat([0.0, 1e6], [149, 1]),
        np.r_[np.random.default_rng(2).normal(size=140), np.full(10, 9999.0)],
    ],
    ids=["a long tail", "a rare sign", "one that is not zero", "many"],
)
def test_other_columns_are_as_they_are(column):
    columns = of(column[:, None])
    assert np.all((columns.ends[0] < column) & (column < columns.ends[1]))
    assert columns.deviations[0] == pytest.approx(column.std())


def test_rows_without_weight_do_not_say_what_is_far():
    X, _ = draw()
    far = np.concatenate([X, np.full((60, 3), 1e6)])
    weights = np.repeat([1.0, 0.0], [150, 60])
    far[3] = 9999
    X[3] = 9999
    assert_allclose(of(far, weights).ends, of(X).ends)


def test_quartiles_that_differ_by_rounding_do_not_count():
    column = np.repeat([0.3, 0.1 + 0.2, 1.0], [100, 97, 3])
    columns = of(column[:, None])
    assert columns.deviations[0] == pytest.approx(column.std())


@pytest.mark.parametrize("noise", [1e-9, 1e-12, 1e-17])
def test_a_rare_sign_with_rounding_is_fitted(noise):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(100, 2))
    X[:, 1] = noise * rng.normal(size=100) + (np.arange(100) < 2)
    Y = np.c_[X[:, 0] + 2 * X[:, 1].round(), X[:, 0]] + 0.1 * rng.normal(size=(100, 2))
    model = OutputKernelRegressorCV(structures="identity").fit(X, Y)
    assert model.certificate_.status == "optimal"
    assert model.score(X, Y) > 0.9


@pytest.mark.parametrize("classes", [False, *later(True)])
@pytest.mark.parametrize("wrong", [9999.0, *later(100.0, 1e12)])
def test_a_wrong_entry_hides_no_column(wrong, classes):
    X, Y = draw()
    labels = (Y[:, 0] > 0.3) * 1 + (Y[:, 1] > 0)
    train, test = slice(100), slice(100, None)
    X[5, 0] = wrong
    model = OutputKernelRegressorCV(structures="identity", alphas=8)
    if classes:
        Y, model = labels, OutputKernelClassifierCV(alphas=4)
    model.fit(X[train], Y[train])
    assert model.score(X[test], Y[test]) > (0.7 if classes else 0.8)
