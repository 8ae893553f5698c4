"""Parameters of structures with labels: the names of outputs, not their places."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from okl import OutputKernelClassifier, OutputKernelRegressor
from okl.structures import Diagonal, Fixed, Graph, Mixing
from okl.structures.labelled import in_order_of

NAMES, MIXED = ["u", "v", "w"], ["w", "u", "v"]
ORDER = [1, 2, 0]  # of NAMES among MIXED
L = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 4.0]])
A = np.array([[0.0, 5.0, 0.0], [5.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
DELTA = np.diag(A.sum(axis=1)) - A
B = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])


def frame(matrix, columns=True):
    return pd.DataFrame(matrix, MIXED, MIXED if columns else None)


# With labels, and what that means for outputs in the order of NAMES.
STRUCTURES = [
    (Fixed(frame(L)), Fixed(L[np.ix_(ORDER, ORDER)])),
    (Fixed(pd.DataFrame(L, columns=MIXED)), Fixed(L[np.ix_(ORDER, ORDER)])),
    (Graph(frame(A)), Graph(A[np.ix_(ORDER, ORDER)])),
    (Graph.from_laplacian(frame(DELTA)), Graph(A[np.ix_(ORDER, ORDER)])),
    (Diagonal(pd.Series([1.0, 2.0, 3.0], MIXED)), Diagonal([2.0, 3.0, 1.0])),
    (Mixing(2, frame(B, columns=False)), Mixing(2, B[ORDER])),
]
X = np.random.default_rng(0).normal(size=(30, 2))
Y = pd.DataFrame(np.random.default_rng(1).normal(size=(30, 3)), columns=NAMES)


@pytest.mark.parametrize(("labelled", "meant"), STRUCTURES)
def test_rows_are_outputs_by_name(labelled, meant):
    given = labelled.get_params()
    model = OutputKernelRegressor("rbf", labelled).fit(X, Y)
    expected = OutputKernelRegressor("rbf", meant).fit(X, Y.to_numpy())
    assert_allclose(model.output_kernel_, expected.output_kernel_)
    assert_allclose(model.predict(X), expected.predict(X))
    # the parameters of the estimator stay what they are
    assert all(model.structure.get_params()[name] is given[name] for name in given)
    # in long form outputs are the sorted ids
    ids, y = np.repeat(["v", "w", "u"], 10), Y["u"].to_numpy()
    one = OutputKernelRegressor("rbf", labelled).fit(X, y, task=ids)
    two = OutputKernelRegressor("rbf", meant).fit(X, y, task=ids)
    assert_allclose(one.predict(X, task=ids), two.predict(X, task=ids))


def test_classes_are_outputs_by_name():
    classes = np.array(NAMES)[Y.to_numpy().argmax(axis=1)]
    one = OutputKernelClassifier("rbf", Fixed(frame(L))).fit(X, classes)
    two = OutputKernelClassifier("rbf", STRUCTURES[0][1]).fit(X, classes)
    assert_allclose(one.output_kernel_, two.output_kernel_)


def test_what_names_nothing_goes_by_its_place():
    for unnamed in (L, pd.DataFrame(L)):
        assert in_order_of(unnamed, NAMES, "output_kernel of Fixed") is unnamed
    # outputs without names, or with the numbers that pandas gives
    one = OutputKernelRegressor("rbf", Fixed(frame(L))).fit(X, Y.to_numpy())
    two = OutputKernelRegressor("rbf", Fixed(frame(L)))
    two.fit(X, pd.DataFrame(Y.to_numpy()))
    for model in (one, two):
        scale = np.outer(model.y_scale_, model.y_scale_)
        assert_allclose(model.output_kernel_, L * scale)


def test_a_table_whose_axes_have_other_orders():
    table = frame(L)[["v", "u", "w"]]
    found = in_order_of(table, NAMES, "output_kernel of Fixed", axes=2)
    assert_array_equal(found, L[np.ix_(ORDER, ORDER)])


def test_names_may_be_numbers():
    numbers = pd.DataFrame(L, [2, 0, 1], [2, 0, 1])
    meant = L[np.ix_(ORDER, ORDER)]
    for names in (["0", "1", "2"], [0, 1, 2]):
        assert_array_equal(in_order_of(numbers, names, "L", axes=2), meant)
    later = pd.DataFrame(L, [12, 10, 11], [12, 10, 11])
    assert_array_equal(in_order_of(later, [10, 11, 12], "L", axes=2), meant)


def test_columns_of_a_table_without_row_labels():
    # as those of polars are; the columns of Mixing are no outputs
    table = pl.DataFrame(L, schema=MIXED)
    meant = L[np.ix_(ORDER, ORDER)]
    for one in (table, table.to_arrow()):
        assert_array_equal(in_order_of(one, NAMES, "L", axes=2), meant)
    square = pd.DataFrame(L, columns=["one", "two", "three"])
    assert in_order_of(square, NAMES, "mixing of Mixing") is square


@pytest.mark.parametrize("other", [["u", "v", "x"], ["a", "b", "c"], ["u", "u", "v"]])
def test_other_names_are_refused(other):
    structure = Fixed(pd.DataFrame(L, other, other))
    with pytest.raises(ValueError, match=r"of Fixed has the labels.*outputs"):
        OutputKernelRegressor("rbf", structure).fit(X, Y)


def test_a_table_of_another_size_is_refused_for_its_size():
    structure = Fixed(pd.DataFrame(np.eye(2), ["u", "v"], ["u", "v"]))
    with pytest.raises(ValueError, match="one row and one column per output"):
        OutputKernelRegressor("rbf", structure).fit(X, Y)
