"""``okl impute``: fill the empty cells of some columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from okl import OutputKernelImputer
from okl.cli.added_columns import with_deviations
from okl.cli.alike_values import warn_of_alike_values
from okl.cli.columns import Kind, kinds_of, plain
from okl.cli.errors import UserError, listing, refusing
from okl.cli.left_out import without_columns
from okl.cli.preprocessing import encoder_for
from okl.cli.row_numbers import warn_of_row_numbers
from okl.cli.staging import staged_file
from okl.cli.tables import (
    check_writable,
    format_of,
    read_cells,
    read_table,
    write_table,
)
from okl.cli.targets import check_observed, choose_targets
from okl.cli.text_columns import check_text_is_meant, warn_of_many_values
from okl.cli.text_format import AS_BY_NAME, TextFormat


def impute_table(
    table_path: Path,
    patterns: Sequence[str],
    out: Path,
    *,
    inputs: bool = True,
    std: bool = False,
    ignored: Sequence[str] = (),
    written: TextFormat = AS_BY_NAME,
    note: Callable[[str], None] = lambda line: None,
) -> int:
    """Fill the empty cells of the targets of a table, and write it.

    Parameters
    ----------
    table_path : Path
        A CSV, TSV or Parquet file.
    patterns : sequence of str
        Names of the columns to fill, or patterns.
    out : Path
        The table to write, with all columns; its name determines the format.
    inputs : bool
        Whether the targets are predicted from the other columns as well.
    std : bool
        Whether to add a column with the standard deviations of each target.
    ignored : sequence of str
        Columns that explain nothing, or patterns; they are written as they are.
    written : TextFormat
        How the cells of text tables are written.
    note : callable
        Called with a line about what is filled, before the work begins.

    Returns
    -------
    int
        The number of cells that were filled.

    Raises
    ------
    UserError
        For anything that the user can correct; then nothing is written.
    """
    check_writable(out, written)
    if out.resolve() == table_path.resolve():
        raise UserError(
            f"--out {out} would overwrite a file that is read; give another name."
        )
    with staged_file(out) as file:
        table = read_table(table_path, written)
        kept = without_columns(table, ignored, patterns)
        names = choose_targets(list(kept), patterns)
        check_observed(table[names])
        targets = _numbers(table[names])
        if std:
            with_deviations(table, names)  # refuse clashing names first
        features = kept.drop(columns=names) if inputs else table[[]]
        encoded = None
        if features.shape[1]:
            encoded = _encoded(features)
        n_empty = int(targets.isna().sum().sum())
        by = f" by {listing(features)}" if encoded is not None else ""
        note(f"fills {n_empty} empty cells of {listing(names)}{by}")
        with refusing("cannot fill the table", ValueError):
            filled, deviations = OutputKernelImputer().fit_transform(
                targets, X=encoded, return_std=True
            )
        table = _with_filled(table, table_path, out, targets.isna(), filled, written)
        if std:
            table = with_deviations(table, names, deviations)
        write_table(table, file, written)
    return n_empty


def _with_filled(
    table: pd.DataFrame,
    source: Path,
    out: Path,
    empty: pd.DataFrame,
    filled: np.ndarray | pd.DataFrame,
    written: TextFormat,
) -> pd.DataFrame:
    """Return the table with empty cells filled, and all others as they are written."""
    names = list(empty)
    numbers = pd.DataFrame(np.asarray(filled), columns=names, index=table.index)
    cells = None if format_of(out) == ".parquet" else read_cells(source, written)
    if cells is None:
        return table.assign(**numbers)
    texts = numbers.astype(str).replace(r"\.", written.decimal, regex=True)
    kept = {name: cells[name].where(~empty[name], texts[name]) for name in names}
    return cells[list(table)].assign(**kept)


def _numbers(targets: pd.DataFrame) -> pd.DataFrame:
    """Return targets as numbers, NaN where a cell is empty; refuse other targets."""
    kinds = kinds_of(targets)
    wrong = [f"{name} ({kind})" for name, kind in kinds.items() if kind != "number"]
    check_text_is_meant(targets[[n for n, kind in kinds.items() if kind == "text"]])
    if wrong:
        raise UserError(
            f"the columns {listing(wrong)} are not numbers, and only numbers can be "
            "filled in; choose others with --target."
        )
    return plain(targets, kinds, list(targets))


def _encoded(features: pd.DataFrame) -> object:
    """Return the other columns as numbers, standardised."""
    try:
        kinds: dict[str, Kind] = kinds_of(features)
        texts = features[[name for name, kind in kinds.items() if kind == "text"]]
        check_text_is_meant(texts)
        known = plain(features, kinds)
    except UserError as error:
        raise UserError(
            f"{error} These columns are the inputs for those to fill; --ignore leaves "
            "some of them out, --no-inputs all."
        ) from None
    warn_of_many_values(texts)
    warn_of_alike_values(texts)
    warn_of_row_numbers(features)
    return encoder_for(kinds).fit_transform(known)
