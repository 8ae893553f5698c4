"""Tables as files: what is read, and that spreadsheets run nothing that is written."""

import gzip

import numpy as np
import pandas as pd
import pytest

from okl.cli.columns import kinds_of
from okl.cli.errors import UserError
from okl.cli.formulas import as_text
from okl.cli.tables import (
    read_cells,
    read_table,
    with_names_as_text,
    write_matrix,
    write_table,
)
from okl.cli.text_format import TextFormat

TEXT = "höhe,b\n1,2\n3,4\n"


def write(path, content):
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TEXT.encode("utf-16"), "is UTF-16, as its first bytes say; convert it to UTF"),
        (TEXT.encode("utf-32"), "is UTF-32, as its first bytes say; convert it to UTF"),
        (TEXT.encode("utf-16-le"), "looks like UTF-16LE; convert it to UTF-8"),
        (TEXT.encode("utf-16-be"), "looks like UTF-16BE; convert it to UTF-8"),
        (TEXT.encode("latin-1"), r"Windows-1252 \(the byte 0xf6 in its first line"),
        (TEXT.encode() + "é,5".encode("cp1252"), r"\(the byte 0xe9 in line 4\); conv"),
    ],
)
def test_other_encodings_are_named(tmp_path, name, content, message):
    with pytest.raises(UserError, match=message):
        read_table(write(tmp_path / name, content))


def test_utf_8_may_have_a_mark(tmp_path):
    table = read_table(write(tmp_path / "t.csv", TEXT.encode("utf-8-sig")))
    assert list(table.columns) == ["höhe", "b"]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"a\0,b\n1,2\n", "its first line, the names"),
        (b"\0,b\n1,2\n", "its first line, the names"),
        (b"a,b\n1,2\nx\0,2\n", "line 3"),
    ],
)
def test_nul_is_refused(tmp_path, content, place):
    with pytest.raises(UserError, match=f"a NUL character in {place}"):
        read_table(write(tmp_path / "t.csv", content))


def test_nul_in_names_of_parquet(tmp_path):
    pd.DataFrame({"a\0": [1.0], "b": [2.0]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(UserError, match=r"names of columns, a\\x00;"):
        read_table(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", "\n\na,x,a,y,x\n1,2,3,4,5\n"),
        ("t.csv.gz", 'a,"x",a,y,x\n1,2,3,4,5\n'),
        ("t.tsv", "a\tx\ta\ty\tx\n1\t2\t3\t4\t5\n"),
        ("t.tsv.gz", "\ufeffa\tx\ta\ty\tx\n1\t2\t3\t4\t5\n"),
    ],
)
def test_columns_of_one_name_are_named(tmp_path, name, content):
    with pytest.raises(UserError, match="several columns named a, x; give"):
        read_table(write(tmp_path / name, content.encode()))


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("t.csv", "a;b;y\n1;2;3\n", "semicolons"),
        ("t.csv", "a;b;y\n0,1;0,2;0,3\n", "semicolons"),
        ("t.csv", "a|b|y\n1|2|3\n", "vertical bars"),
        ("t.csv", "a\tb\n1\t2\n", "tabs"),
        ("t.tsv", "a,b\n1,2\n", "commas"),
        # a name, or decimals, with a comma
        ("t.csv", "a, first;b;y\n1;2;3\n", "semicolons"),
        ("t.csv", "a, first;b, second;y\n0,1;0,2;0,3\n", "semicolons"),
        ("t.csv", "\n\na, first;y\n\n0,1;0,2\n", "semicolons"),
    ],
)
def test_another_separator_is_named(tmp_path, name, content, found):
    with pytest.raises(
        UserError, match=f"has {found} between the names of columns"
    ) as error:
        read_table(write(tmp_path / name, content.encode()))
    # commas cannot be in numbers as well
    assert ("decimal" in str(error.value)) == (found != "commas")
    assert "Give --sep" in str(error.value)


@pytest.mark.parametrize(
    "content",
    [
        "a;b,y\n1,2\n",  # names with semicolons
        "a;b;c,y\n1;2,2\n",
        '"a;b",y\n"1;2",2\n',
        "a,y\n1;2;3,2\n",
        "y\n1;2\n",
    ],
)
def test_other_signs_may_be_in_names_and_cells(tmp_path, content):
    table = read_table(write(tmp_path / "t.csv", content.encode()))
    assert len(table.columns) == content.partition("\n")[0].count(",") + 1


def test_a_separator_that_is_given_is_taken(tmp_path):
    content = b"len, cm;wid, cm;y, kg\n2,041;-2,559;4,08\n"
    table = read_table(write(tmp_path / "t.csv", content), TextFormat.of(";", ","))
    assert table.iloc[0].tolist() == [2.041, -2.559, 4.08]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv.gz"])
def test_semicolons_and_decimal_commas_if_asked_for(tmp_path, name):
    content = "a, first;b;n\n0,5;x;007\n-1,25;y;2\n\n3;z\n".encode("utf-8-sig")
    written = TextFormat.of(";", ",")
    path = write(tmp_path / name, content)
    with pytest.warns(UserWarning, match="line 5 of .* 2 of 3"):
        table = read_table(path, written)
    assert table["a, first"].tolist() == [0.5, -1.25, 3.0]
    assert read_cells(path, written)["a, first"].tolist() == ["0,5", "-1,25", "3"]
    table = with_names_as_text(table, path, ["n"], written=written)
    assert table["n"].tolist()[:2] == ["007", "2"]
    write_table(table, path, written)
    again = read_table(path, written, text_columns=["n"])
    assert again.equals(table.assign(n=table["n"].astype(again["n"].dtype)))
    # numbers with decimal commas are no formulas
    write_table(pd.DataFrame({"a": ["-1,5", "+,5", "-1,5x"]}), tmp_path / "c.csv")
    cells = read_table(tmp_path / "c.csv")["a"].tolist()
    assert cells == ["-1,5", "+,5", "'-1,5x"]


@pytest.mark.parametrize(
    ("separator", "decimal", "message"),
    [
        ("", ".", "--sep '' is not one sign"),
        (";;", ".", "--sep ';;' is not one sign"),
        ("a", ".", "is not one sign"),
        ("\n", ".", r"--sep '\\n' is not"),
        ('"', ".", "is not one sign"),
        (".", ".", "is not one sign"),
        (";", ";", "--decimal ';' is neither a point nor a comma"),
        (",", ",", "--sep and --decimal are both ','"),
    ],
)
def test_formats_that_cannot_be_are_refused(separator, decimal, message):
    with pytest.raises(UserError, match=message):
        TextFormat.of(separator, decimal)


def test_decimal_commas_are_not_between_cells(tmp_path):
    path = write(tmp_path / "t.csv", b"a,b\n1,2\n")
    with pytest.raises(UserError, match="commas between its cells, as its name says"):
        read_table(path, TextFormat.of(None, ","))
    assert TextFormat.of("tab", ",") == TextFormat.of("\\t", ",")
    assert TextFormat.of("tab", ",").separator_of(path, ".csv") == "\t"


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("t.xlsx", "save the sheet from the spreadsheet as 'CSV UTF-8'"),
        ("t.ODS", "save the sheet"),
        ("t.txt", "call it .csv, and say by --sep"),
        ("t", "call it .csv"),
        ("t.json", "convert it to one of these formats"),
    ],
)
def test_unknown_endings_have_a_remedy(tmp_path, name, remedy):
    with pytest.raises(UserError, match=remedy):
        read_table(tmp_path / name)


def test_whole_numbers_of_more_than_64_bits_are_numbers(tmp_path):
    table = read_table(
        write(tmp_path / "t.csv", b"a,b\n12345678901234567890123,1\n,2\n7,3\n")
    )
    assert table["a"].tolist()[::2] == [12345678901234567890123.0, 7.0]
    assert kinds_of(table) == {"a": "number", "b": "number"}
    cells = b"a\n12345678901234567890123\n-5\n"
    assert kinds_of(read_table(write(tmp_path / "t.csv", cells))) == {"a": "number"}


def test_a_name_that_looks_missing_is_a_name(tmp_path):
    with pytest.raises(UserError, match="several columns named NA;"):
        read_table(write(tmp_path / "t.csv", b"NA,NA\n1,2\n"))
    # columns without a name are told apart by their places
    table = read_table(write(tmp_path / "t.csv", b"a,a.1,,\n1,2,3,4\n"))
    assert list(table.columns) == ["a", "a.1", "Unnamed: 2", "Unnamed: 3"]


@pytest.mark.parametrize(
    "text",
    ["=A1", "=cmd|' /C calc'!A0", "+ve", "-x", "--", "@SUM(A1)", "\t=1", "\r1", "＝1"],
)
def test_formulas_begin_with_an_apostrophe(text):
    assert as_text(text) == f"'{text}"


@pytest.mark.parametrize(
    "text", ["+", "-", "=", "-1", "+1.5e-3", "-.5", "a=b", "", "x", "'=1", 3.5, None]
)
def test_other_cells_stay(text):
    assert as_text(text) is text


@pytest.mark.parametrize("suffix", ["csv", "tsv.gz", "parquet"])
def test_what_is_written_runs_nothing(tmp_path, suffix):
    table = pd.DataFrame(
        {"=a": ["+ve", "-", "x"], "b": [-1.0, 2.0, 3.0], "c": [True, False, True]}
    )
    write_table(table, tmp_path / f"t.{suffix}")
    again = read_table(tmp_path / f"t.{suffix}")
    if suffix == "parquet":
        assert again.equals(table)
    else:
        assert list(again.columns) == ["'=a", "b", "c"]
        assert list(again["'=a"]) == ["'+ve", "-", "x"]
        assert again[["b", "c"]].equals(table[["b", "c"]])


def test_rows_and_columns_of_a_matrix_run_nothing(tmp_path):
    write_matrix(np.eye(2), ["=a", "b"], tmp_path / "m.csv")
    L = pd.read_csv(tmp_path / "m.csv", index_col=0)
    assert list(L.columns) == list(L.index) == ["'=a", "b"]


def test_whole_numbers_beside_empty_cells_stay_whole(tmp_path):
    answers = pd.DataFrame({"kind": np.array([3, None, -10], dtype=object)})
    write_table(answers, tmp_path / "answers.csv")
    assert (tmp_path / "answers.csv").read_text().split() == ["kind", "3", '""', "-10"]


def test_dates_are_written_as_dates(tmp_path):
    when = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=2)})
    write_table(when, tmp_path / "when.csv")
    lines = (tmp_path / "when.csv").read_text().split()
    assert lines == ["when", "2020-01-01", "2020-01-02"]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv.gz"])
def test_lines_that_are_too_short_are_named(tmp_path, name):
    text = 'text,a,b\n"two\nlines, quoted",1,2\n\nx,1\ny,2,3\nz\n'
    content = text.replace(",", "\t" if "tsv" in name else ",").encode("utf-8-sig")
    told = r"line 5 of .* fewer cells .* 2 of 3 \(2 such lines in all\); what"
    with pytest.warns(UserWarning, match=told):
        table = read_table(write(tmp_path / name, content))
    assert np.isnan(table["b"]).tolist() == [False, True, False, True]


@pytest.mark.parametrize(
    "content",
    [b"a,b\n1,\n2,3\n", b"a\n1\n\n2\n", b"a,b\n%b,\n1,2\n" % (b"x" * 200_000)],
)
def test_empty_cells_and_empty_lines_are_not_short(tmp_path, content, recwarn):
    assert len(read_table(write(tmp_path / "t.csv", content))) == 2
    assert not recwarn.list
