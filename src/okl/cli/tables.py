"""Tables as files: CSV, TSV and Parquet, told apart by their names.

A table has named columns and at least one row. CSV knows no types, so they are read
from the cells: a column of numbers is numbers, one of True and False is truth values,
any other is text. Whoever knows better says which columns are text: "007" is then no
number.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from okl.cli.errors import UserError, listing, refusing

# The separator of each text format; Parquet has none.
_SEPARATORS = {
    ".csv": ",",
    ".csv.gz": ",",
    ".tsv": "\t",
    ".tsv.gz": "\t",
    ".parquet": None,
}
# What pandas, pyarrow and gzip raise for files that are not what their names say.
_UNREADABLE = (OSError, ValueError, EOFError, zlib.error)


def format_of(path: Path) -> str:
    """Return the suffix that tells the format of a table, ``".csv.gz"`` for example."""
    for suffix in _SEPARATORS:
        if path.name.lower().endswith(suffix):
            return suffix
    raise UserError(
        f"{path} has none of the known endings ({listing(_SEPARATORS)}), so its format "
        "is unknown; rename it, or convert it to one of these formats."
    )


def read_table(path: Path, *, text_columns: Iterable[str] = ()) -> pd.DataFrame:
    """Read a table.

    Parameters
    ----------
    path : Path
        A file with one of the known endings.
    text_columns : iterable of str
        Columns of a CSV file whose cells are text whatever they look like.

    Returns
    -------
    DataFrame
        With string column names, all different, and at least one row.

    Raises
    ------
    UserError
        If there is no such file, or it is not such a table.
    """
    suffix = format_of(path)
    if not path.is_file():
        raise UserError(f"there is no file {path}; check its name.")
    with refusing(f"cannot read {path} as {suffix[1:]}", *_UNREADABLE):
        if suffix == ".parquet":
            table = _with_named_index(pd.read_parquet(path, engine="pyarrow"))
        else:
            table = _read_text(path, suffix, text_columns)
    table.columns = table.columns.map(str)
    twice = table.columns[table.columns.duplicated()].unique()
    if len(twice):
        raise UserError(f"{path} has two columns named {listing(twice)}; rename one.")
    if table.empty:
        raise UserError(f"{path} has no rows; expected a header and at least one row.")
    return table


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table, without row labels, in the format its name tells."""
    suffix = format_of(path)
    if suffix == ".parquet":
        table.to_parquet(path, engine="pyarrow", index=False)
    else:
        table.to_csv(path, sep=_SEPARATORS[suffix], index=False)


def _read_text(path: Path, suffix: str, text_columns: Iterable[str]) -> pd.DataFrame:
    with warnings.catch_warnings():
        # Cells beyond the header would be left out, with no more than this warning.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            return pd.read_csv(
                path,
                sep=_SEPARATORS[suffix],
                compression="gzip" if suffix.endswith(".gz") else None,
                dtype=dict.fromkeys(text_columns, str),
                index_col=False,
                low_memory=False,  # one type for the whole of a column
            )
        except pd.errors.ParserWarning:
            raise UserError(
                f"{path} has rows with more cells than its first line has names; name "
                "every column there."
            ) from None


def _with_named_index(table: pd.DataFrame) -> pd.DataFrame:
    """Return row labels with a name as columns: none is dropped silently."""
    unnamed = [level for level, name in enumerate(table.index.names) if name is None]
    table = table.reset_index(level=unnamed, drop=True)
    return table if isinstance(table.index, pd.RangeIndex) else table.reset_index()
