"""Kinds of columns, and how later tables are held to them."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from okl.cli.columns import kind_of, kinds_of, plain
from okl.cli.data import take_apart
from okl.cli.errors import UserError
from okl.cli.preprocessing import encoder_for
from okl.cli.targets import choose_targets


@pytest.mark.parametrize(
    ("values", "dtype", "kind"),
    [
        ([1, 2], "int8", "number"),
        ([1, None], "Int64", "number"),
        ([1.5, 2], "float32", "number"),
        ([Decimal("1.5"), None], object, "number"),
        ([True, False], "bool", "boolean"),
        ([True, None], "boolean", "boolean"),
        ([True, None], object, "boolean"),
        (["a", "b"], object, "text"),
        (["a", None], "string", "text"),
        ([1, 2], "category", "text"),
        ([1j, 2], complex, None),
        (["a", 1], object, None),
        ([[1], [2]], object, None),
        ([pd.Timestamp("2020"), None], "datetime64[ns]", None),
        ([pd.Timedelta("1D"), None], "timedelta64[ns]", None),
    ],
)
def test_kinds(values, dtype, kind):
    assert kind_of(pd.Series(values, dtype=dtype)) == kind


def test_refused_columns_are_named():
    table = pd.DataFrame({"fine": [1.0], "phase": [1j], "many": [{1, 2}]})
    with pytest.raises(UserError, match=r"columns phase \(complex128\), many \(object"):
        kinds_of(table)


def test_names_that_blanks_begin_are_seen_to_be_others():
    table = pd.DataFrame({"a": [1.0], " b": [2.0]})
    with pytest.raises(UserError, match=r"no column b; .* The table has: a, ' b'\.$"):
        plain(table, {"a": "number", "b": "number"})


def test_plain_tables_have_plain_types():
    table = pd.DataFrame(
        {
            "count": pd.array([1, 2], "Int64"),
            "town": pd.Categorical(["b", "a"]),
            "old": pd.array([True, False], "boolean"),
        }
    )
    found = plain(table, {"old": "boolean", "town": "text", "count": "number"})
    assert list(found.columns) == ["old", "town", "count"]
    assert [str(dtype) for dtype in found.dtypes] == ["bool", "object", "float64"]
    assert list(found["town"]) == ["b", "a"]


def test_decimals_are_numbers_with_empty_cells_as_targets():
    prices = [Decimal("1.50"), Decimal("-2"), Decimal("3.25")]
    table = pd.DataFrame({"x": prices, "y": [prices[0], None, prices[2]]})
    data = take_apart(table, ["y"], None)
    assert list(data.features["x"]) == [1.5, -2.0, 3.25]
    assert data.missing == {"y": 1}
    assert data.y["y"].dtype == np.float64


def test_encoding_keeps_every_column():
    table = pd.DataFrame({"n": [1.0, 3.0], "town": ["b", "a"], "old": [True, False]})
    encoder = encoder_for({"n": "number", "town": "text", "old": "boolean"})
    X = encoder.fit_transform(table)
    np.testing.assert_array_equal(X, [[-1, 0, 1, 0, 1], [1, 1, 0, 1, 0]])
    unknown = encoder.transform(table.assign(town="c"))
    np.testing.assert_array_equal(unknown[:, 1:3], 0)


def test_a_constant_column_is_no_error():
    table = pd.DataFrame({"n": [2.0, 2.0], "town": ["a", "a"]})
    X = encoder_for({"n": "number", "town": "text"}).fit_transform(table)
    np.testing.assert_array_equal(X, [[0, 1], [0, 1]])


@pytest.mark.parametrize(
    ("patterns", "chosen"),
    [
        (["y_1"], ["y_1"]),
        (["y_2", "y_1", "y_1"], ["y_1", "y_2"]),
        (["y_*"], ["y_1", "y_2"]),
        (["y[1]"], ["y[1]"]),  # a name that is a column is no pattern
        (["?_[12]", "x"], ["x", "y_1", "y_2"]),
    ],
)
def test_targets_by_name_or_pattern(patterns, chosen):
    columns = ["x", "y_1", "y_2", "y[1]", "y1"]
    assert choose_targets(columns, patterns) == chosen


@pytest.mark.parametrize(
    ("targets", "task", "hint"),
    [
        ({"a": [1.5, 2.0]}, "regression", "numbers"),
        ({"a": [0, 1], "b": [1, 1]}, "regression", "--task classification"),
        ({"a": ["p", "q"] * 2}, "classification", "text"),
        ({"a": [True, False] * 2}, "classification", "boolean"),
        ({"a": [True, False], "b": [True, True]}, "classification", "truth values"),
    ],
)
def test_inferred_tasks(targets, task, hint):
    n_rows = len(targets["a"])
    table = pd.DataFrame({"x": np.linspace(1.0, 2.0, n_rows), **targets})
    data = take_apart(table, list(targets), None)
    assert data.task == task
    assert hint in data.reason
    assert list(data.features) == ["x"]
