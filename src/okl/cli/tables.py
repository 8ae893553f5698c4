"""Tables as files: CSV, TSV and Parquet, recognised by the names of files.

A table has named columns and at least one row. CSV has no types. They are inferred from
the cells: a column of numbers is read as numbers, one of True and False as truth
values, any other as text. A caller can name columns that are text, or that hold names:
names are text if they are not written as numbers are, so that "007" does not become 7.
"""

from __future__ import annotations

import gzip
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype

from okl.cli.columns import kind_of
from okl.cli.encoding import check_encoding
from okl.cli.errors import UserError, listing, refusing
from okl.cli.formulas import as_text, inert
from okl.cli.row_numbers import UNNAMED
from okl.cli.short_lines import warn_of_short_lines
from okl.cli.text_format import AS_BY_NAME, SEPARATORS, TextFormat, check_separator

_FORMATS = (*SEPARATORS, ".parquet")
_SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods", ".numbers")
_PLAIN_TEXT = (".txt", ".dat", ".data", ".tab", ".asc", "")
# Codes: not written as whole numbers are, or with more digits than a float keeps.
_CODE = re.compile(r"\+.*|-?0\d.*|-?\d{16,}")
# What pandas says of a row with more cells than those before it.
_LONG_ROW = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")
# Errors of pandas, pyarrow and gzip for files whose content does not fit their names.
_UNREADABLE = (OSError, ValueError, EOFError, zlib.error)


def format_of(path: Path) -> str:
    """Return the suffix that tells the format of a table, ``".csv.gz"`` for example."""
    for suffix in _FORMATS:
        if path.name.lower().endswith(suffix):
            return suffix
    known = f"{path} has none of the known endings ({listing(_FORMATS)})"
    if path.suffix.lower() in _SPREADSHEETS:
        raise UserError(
            f"{known}; save the sheet from the spreadsheet as 'CSV UTF-8', or write it "
            "by pandas.read_excel(path).to_csv(name, index=False)."
        )
    if path.suffix.lower() in _PLAIN_TEXT:
        raise UserError(
            f"{known}, so its format is unknown; call it .csv, and say by --sep what "
            "is between the cells if that is no comma."
        )
    raise UserError(
        f"{known}, so its format is unknown; convert it to one of these formats."
    )


def check_writable(path: Path, written: TextFormat) -> None:
    """Raise `UserError` if a table cannot be written to a file of this name."""
    suffix = format_of(path)
    if suffix in SEPARATORS:
        written.separator_of(path, suffix)


def read_table(
    path: Path, written: TextFormat = AS_BY_NAME, *, text_columns: Iterable[str] = ()
) -> pd.DataFrame:
    """Read a table.

    Parameters
    ----------
    path : Path
        A file with one of the known endings.
    written : TextFormat
        How the cells are written, if it is text.
    text_columns : iterable of str
        Columns of a CSV file that are read as text, whatever the cells look like.

    Returns
    -------
    DataFrame
        A table with different strings as column names, and at least one row.

    Raises
    ------
    UserError
        If there is no such file, or if it is not such a table.
    """
    suffix = format_of(path)
    if not path.is_file():
        raise UserError(f"there is no file {path}; check its name.")
    with refusing(f"cannot read {path} as {suffix[1:]}", *_UNREADABLE):
        if suffix == ".parquet":
            table = _with_named_index(pd.read_parquet(path, engine="pyarrow"))
        else:
            types_of: dict[str, Any] = {"dtype": dict.fromkeys(text_columns, str)}
            separator = written.separator_of(path, suffix)
            types_of |= {"decimal": written.decimal}
            with _opened(path, "rb") as lines:
                check_encoding(path, lines)
            if written.separator is None:
                with _lines(path) as lines:
                    check_separator(path, lines, separator)
            table = _read_text(path, separator, types_of)
            if table.iloc[:, -1].isna().any():  # so it is where a line is too short
                with _lines(path) as lines:
                    warn_of_short_lines(path, lines, separator)
            table = _without_nameless(table)
    table.columns = table.columns.map(str)
    _check_names(path, list(table.columns))
    if table.empty:
        raise UserError(f"{path} has no rows; expected a header and at least one row.")
    return table


def _without_nameless(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table without columns that have neither a name nor cells."""
    nothing = [
        name
        for name in table
        if str(name).startswith(UNNAMED) and table[name].isna().all()
    ]
    if nothing and len(table):
        which = "a column has" if len(nothing) == 1 else f"{len(nothing)} columns have"
        warnings.warn(
            f"{which} neither a name nor cells, as where lines end with a separator: "
            "left out",
            stacklevel=3,
        )
        return table.drop(columns=nothing)
    return table


def read_cells(path: Path, written: TextFormat = AS_BY_NAME) -> pd.DataFrame | None:
    """Return the cells of a text table as they are written; None for Parquet.

    Parameters and errors are those of `read_table`, which must be called before.
    """
    suffix = format_of(path)
    if suffix == ".parquet":
        return None
    separator = written.separator_of(path, suffix)
    return _read_text(path, separator, {"dtype": str, "na_filter": False})


def with_names_as_text(
    table: pd.DataFrame,
    path: Path,
    names: Sequence[str],
    texts: Sequence[str] = (),
    written: TextFormat = AS_BY_NAME,
) -> pd.DataFrame:
    """Return a table that was read, with names such as "007" as they are written.

    Parameters
    ----------
    table : DataFrame
        What `read_table` returned.
    path : Path
        The file of the table.
    names : sequence of str
        Columns of ids or classes. A column of numbers stays one, unless a cell begins
        with a zero or a plus sign, or has more digits than a float keeps.
    texts : sequence of str
        Columns that are text, whatever the cells look like.
    written : TextFormat
        How the cells are written.
    """
    numbers = [name for name in names if kind_of(table[name]) in ("number", None)]
    cells = read_cells(path, written) if numbers or texts else None
    if cells is None:
        return table
    codes = [name for name in numbers if cells[name].str.fullmatch(_CODE).any()]
    names = (*codes, *texts)
    return table.assign(
        **{name: cells[name].where(table[name].notna(), None) for name in names}
    )


def write_table(
    table: pd.DataFrame, path: Path, written: TextFormat = AS_BY_NAME
) -> None:
    """Write a table, without row labels, in the format of the file's name."""
    suffix = format_of(path)
    if suffix == ".parquet":
        table.to_parquet(path, engine="pyarrow", index=False)
    else:
        separator = written.separator_of(path, suffix)
        how: dict[str, Any] = {"sep": separator, "decimal": written.decimal}
        inert(table).to_csv(path, index=False, **how)


def write_matrix(matrix: np.ndarray, names: Sequence[str], path: Path) -> None:
    """Write a square matrix as CSV, with names of rows and columns."""
    labels = [as_text(name) for name in names]
    pd.DataFrame(matrix, index=labels, columns=labels).to_csv(path)


def _read_text(path: Path, separator: str, types_of: dict[str, Any]) -> pd.DataFrame:
    how: dict[str, Any] = {
        "sep": separator,
        "compression": "gzip" if _is_compressed(path) else None,
        "index_col": False,
    }
    # pandas renames the second of two columns with the same name, so that names are
    # read as if they were cells. Columns without a name are numbered: there may be
    # several.
    try:
        names = pd.read_csv(
            path, header=None, nrows=1, dtype=str, na_filter=False, **how
        )
    except pd.errors.EmptyDataError:
        raise UserError(
            f"{path} is empty; expected a header and at least one row."
        ) from None
    _check_names(path, list(filter(None, names.iloc[0])))
    with warnings.catch_warnings():
        # pandas only warns of cells beyond the header, and leaves them out.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            table = pd.read_csv(
                path,
                low_memory=False,  # one type for all of a column
                **how,
                **types_of,
            )
        except pd.errors.ParserWarning:
            raise UserError(
                f"{path} has rows with more cells than its first line has names; name "
                "every column there."
            ) from None
        except pd.errors.ParserError as error:
            raise _refused_line(path, error) from error
    # whole numbers of more than 64 bits
    long = [name for name in table if infer_dtype(table[name]) == "integer"]
    long = [name for name in long if table[name].dtype == object]
    return table.astype(dict.fromkeys(long, np.float64))


def _refused_line(path: Path, error: pd.errors.ParserError) -> Exception:
    """Return what to say of a row that is too long, of any other error itself."""
    found = _LONG_ROW.search(str(error))
    if found is None:
        return error
    most, number, cells = found.groups()
    return UserError(
        f"row {number} of {path}, the header counted, has {cells} cells, and the rows "
        f"before it at most {most}. A cell that holds the separator must be in quotes."
    )


def _is_compressed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")


def _opened(path: Path, mode: str, **text: Any) -> Any:
    """Return an open file, which is unpacked as it is read if its name says so."""
    opener = gzip.open if _is_compressed(path) else open
    return opener(path, mode, **text)


def _lines(path: Path) -> Any:
    """Return an open text file whose lines are to be split into cells."""
    return _opened(path, "rt", encoding="utf-8-sig", newline="")


def _check_names(path: Path, names: Sequence[str]) -> None:
    """Refuse names that do not distinguish the columns."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise UserError(
            f"{path} has several columns named {listing(twice)}; give each column a "
            "name of its own."
        )
    nul = [name for name in names if "\0" in name]
    if nul:
        raise UserError(
            f"{path} has NUL characters in the names of columns, {listing(nul)}; "
            "rename them."
        )


def _with_named_index(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with named row labels as columns, so that none is dropped."""
    unnamed = [level for level, name in enumerate(table.index.names) if name is None]
    table = table.reset_index(level=unnamed, drop=True)
    return table if isinstance(table.index, pd.RangeIndex) else table.reset_index()
