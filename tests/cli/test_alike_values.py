"""Values of text that are written differently and may mean the same."""

import warnings

import pandas as pd
import pytest

from okl.cli.alike_values import warn_of_alike_values
from okl.cli.data import take_apart


def said_of(cells):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_alike_values(pd.DataFrame({"town": cells}))
    return [str(one.message) for one in caught]


@pytest.mark.parametrize("other", ["berlin", "Berlin ", " Berlin", "BERLIN"])
def test_values_that_look_alike_are_named(other):
    (said,) = said_of(["Berlin", "Rome", other, "Rome", None])
    assert said.startswith("the column town has values that differ")
    assert f"'Berlin' and '{other}'." in said


def test_blanks_inside_count_as_one():
    (said,) = said_of(["New York", "New  York", "Rome"])
    assert "'New York' and 'New  York'" in said


@pytest.mark.parametrize(
    "cells", [["Berlin", "Bern", "Rome"], [1, 2, 2], [True, False, True], [None] * 3]
)
def test_others_are_not(cells):
    assert said_of(cells) == []


def test_a_few_are_examples():
    names = [f"town {letter}" for letter in "abcdef"]
    (said,) = said_of([*names, *map(str.upper, names)])
    assert said.count(" and 'TOWN") == 3
    assert "and 3 more" in said


@pytest.mark.parametrize("role", ["feature", "class", "task", "group"])
def test_so_are_classes_tasks_and_groups(role):
    table = pd.DataFrame({"a": range(40), "y": [0.5, 1.5] * 20})
    table["kind"] = ["cat", "dog", "Dog", "cat"] * 10
    target = ["kind"] if role == "class" else ["y"]
    named = ("kind" if role == "task" else None, "kind" if role == "group" else None)
    with pytest.warns(UserWarning, match="'dog' and 'Dog'"):
        take_apart(table, target, None, *named)
