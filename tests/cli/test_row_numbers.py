"""Row labels that pandas wrote as a column are not learned from without a word."""

import warnings

import numpy as np
import pandas as pd
import pytest

from okl.cli.data import take_apart
from okl.cli.tables import read_table

TABLE = pd.DataFrame(
    {"x": np.linspace(0, 1, 12), "hour": np.arange(12), "y": np.arange(12) % 5}
)


def written(table, path, **options):
    table.to_csv(path / "table.csv", **options)
    return read_table(path / "table.csv")


def test_row_labels(tmp_path):
    table = written(TABLE, tmp_path)
    with pytest.warns(UserWarning, match=r"without a name \(Unnamed: 0\) numbers"):
        data = take_apart(table, ["y"], None)
    assert list(data.features) == ["Unnamed: 0", "x", "hour"]


@pytest.mark.parametrize("name", ["id", "ID", "person_id", "row.index", "PassengerId"])
def test_ids(name, tmp_path):
    table = TABLE.rename(columns={"hour": name})
    with pytest.warns(
        UserWarning, match=f"the column {name} has a different whole number"
    ):
        take_apart(written(table, tmp_path, index=False), ["y"], None)


@pytest.mark.parametrize("first", [np.repeat([1, 2], 6), np.linspace(0, 1, 12)])
def test_other_columns_without_a_name(first, tmp_path):
    table = TABLE.set_index(pd.Index(first))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        take_apart(written(table, tmp_path), ["y"], None)
        take_apart(written(TABLE, tmp_path, index=False), ["y"], None)
        named = TABLE.rename(columns={"hour": "id", "x": "humid"})
        take_apart(written(named // 2, tmp_path, index=False), ["y"], None)
