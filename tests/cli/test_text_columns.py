"""Columns of text that were meant as numbers or dates, and those of many values."""

import warnings

import numpy as np
import pandas as pd
import pytest

from okl.cli.columns import plain
from okl.cli.data import take_apart
from okl.cli.errors import UserError
from okl.cli.text_columns import check_text_is_meant, warn_of_many_values


def numbers_with(texts, n=100):
    """Return numbers as text, all different, with these texts from row 8 on."""
    cells = [f"{number:.3f}" for number in np.linspace(-1, 1, n)]
    cells[7 : 7 + len(texts)] = texts
    return pd.DataFrame({"fine": ["a"] * n, "width": cells})


@pytest.mark.parametrize(
    ("texts", "described"),
    [
        (["n.d."], r"width \('n\.d\.' in row 8\)"),
        (["1,5", "<3"], r"width \('1,5' in row 8 and 1 more\)"),
        (["", *"abcdefghi"], r"width \('' in row 8 and 9 more\)"),
        (["?"] * 40, r"width \('\?' in row 8 and 39 more\)"),
        (["\x1b[31m" + "x" * 99], r"width \('\\x1b\[31mx+\.\.\.' in row 8\)"),
    ],
)
def test_text_among_numbers_is_refused_with_its_row(texts, described):
    with pytest.raises(UserError, match=f"among the numbers of {described}; rows"):
        check_text_is_meant(numbers_with(texts))


@pytest.mark.parametrize(
    ("texts", "share"),
    [(list("abcdefghijk"), 89), (["x", "y"] * 25, 50)],
)
def test_text_of_which_many_cells_are_numbers_is_said_to_be_text(texts, share):
    said = f"width is taken as text: {share}% of its cells are numbers, but '{texts[0]}"
    with pytest.warns(UserWarning, match=said):
        check_text_is_meant(numbers_with(texts))


@pytest.mark.parametrize(
    "column",
    [
        ["007", "7"] * 50,  # declared text, as Parquet can
        ["north", "south 2"] * 50,
        pd.Categorical(["1"] * 99 + ["x"]),
        pd.Categorical(["2020-01-01"] * 100),
        ["12b", "7", "12c"] * 30,
        ["may", "12-34-5678", "1.2.10"] * 30,
    ],
)
def test_text_is_text(column):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_text_is_meant(pd.DataFrame({"code": column}))


def test_codes_of_few_values_are_no_numbers():
    # one word only among them, as for missing values, but few different numbers
    with pytest.warns(UserWarning, match="67% of its cells are numbers"):
        check_text_is_meant(pd.DataFrame({"code": ["007", "7", "x"] * 30}))


@pytest.mark.parametrize(
    "form",
    [
        "%Y-%m-%d",
        "%Y-%m-%dT%H:%M:%SZ",
        "%d.%m.%Y %H:%M",
        "%m/%d/%Y",
        "%d %b %Y",
        "%Y-%m",
    ],
)
def test_dates_are_refused(form):
    days = pd.date_range("2020-01-01", periods=50, freq="9D").strftime(form)
    with pytest.raises(UserError, match=rf"the columns day \('{days[0]}'\): each"):
        check_text_is_meant(pd.DataFrame({"fine": ["a"] * 50, "day": days}))


def test_many_values():
    n = 60
    table = pd.DataFrame(
        {
            "person": [f"p{i}" for i in range(n)],
            "town": [f"t{i % 20}" for i in range(n)],
        }
    )
    with pytest.warns(UserWarning, match="person has 60 values in 60 rows") as warned:
        warn_of_many_values(table)
    assert len(warned) == 1
    few = pd.DataFrame({"person": list("abcdef"), "town": list("aabbcd")})
    with pytest.warns(UserWarning, match="person has 6 values in 6 rows") as warned:
        warn_of_many_values(few)
    assert len(warned) == 1
    repeated = pd.DataFrame({"town": [f"t{i % 201}" for i in range(5000)]})
    with pytest.warns(UserWarning, match="town has 201 values in 5000 rows"):
        warn_of_many_values(repeated)


@pytest.mark.parametrize(
    "form", ["{:.2f}", "{:,.2f}", "{:,.0f}", "{:.1f} %", "${:,.2f}", "-{}€"]
)
def test_numbers_with_commas_are_refused(form):
    numbers = [form.format(1234.5 * number) for number in range(60)]
    if form == "{:.2f}":
        numbers = [number.replace(".", ",") for number in numbers]
    with pytest.raises(
        UserError, match=r"have commas, .* in the columns width \('\D?0"
    ):
        check_text_is_meant(pd.DataFrame({"width": numbers}))
    few = pd.DataFrame({"rooms": ["1,2", "1,3", "2,3"] * 20})  # lists of two
    check_text_is_meant(few)


def test_features_and_targets():
    table = numbers_with(["n.d."]).drop(columns="fine").assign(x=np.arange(100.0))
    for target in ("width", "x"):
        with pytest.raises(UserError, match=r"width \('n.d.' in row 8\)"):
            take_apart(table, [target], None)
    # whoever asks for classes knows that they are names
    classes = table.assign(width=["1", "2", "3", "4"] * 24 + ["X"] * 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = take_apart(classes, ["width"], "classification")
    assert sorted(set(data.y)) == ["1", "2", "3", "4", "X"]


def test_a_later_table_with_text_among_numbers():
    table = numbers_with(["n.d."])
    with pytest.raises(UserError, match=r"fitted to: 'n\.d\.' in row 8\."):
        plain(table, {"width": "number"})
    declared = pd.DataFrame({"width": ["1", "2"]})
    with pytest.raises(UserError, match="numbers written as text"):
        plain(declared, {"width": "number"})


def test_numbers_that_overflow_are_refused():
    table = pd.DataFrame({"a": [1.0, -1e200], "b": [1e150, 0.0]})
    with pytest.raises(UserError, match="the columns a have numbers beyond"):
        plain(table, {"a": "number", "b": "number"})
