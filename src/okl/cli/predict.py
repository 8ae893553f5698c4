"""``okl predict``: from a model and a table to a table of predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pandas as pd

from okl.cli.answers import Asked, answer_table
from okl.cli.errors import UserError, listing
from okl.cli.left_out import incomplete_rows, without_empty_rows
from okl.cli.staging import staged_file
from okl.cli.storage import load_model
from okl.cli.tables import check_writable, read_cells, read_table, write_table
from okl.cli.targets import choose_columns
from okl.cli.text_format import AS_BY_NAME, TextFormat

_NOTHING = Asked()


def predict_table(
    model_path: Path,
    table_path: Path,
    out: Path,
    *,
    std: bool = False,
    interval: float | None = None,
    asked: Asked = _NOTHING,
    kept: Sequence[str] = (),
    skip_incomplete: bool = False,
    written: TextFormat = AS_BY_NAME,
    note: Callable[[str], None] = lambda line: None,
) -> pd.DataFrame:
    """Predict the targets of every row of a table, and write them.

    Parameters
    ----------
    model_path : Path
        The ``model.skops`` of a fit.
    table_path : Path
        A table with the columns of features of the fit, in any order. Targets and
        other columns are not used.
    out : Path
        The table to write; its name determines the format.
    std : bool
        Whether to add the standard deviations of the targets of new rows.
    interval : float, optional
        Add the ends of intervals that hold them with this probability.
    asked : Asked
        The options for classes.
    kept : sequence of str
        Columns of the table, or patterns, that are written before the predictions.
    skip_incomplete : bool
        Whether rows with an empty cell among the features get empty cells; else they
        are refused.
    written : TextFormat
        How the cells of text tables are written.
    note : callable
        Called with a line about columns that the model does not have.

    Returns
    -------
    DataFrame
        One column for each target; with ``std`` one ``NAME_std`` for each, with
        ``interval`` two, ``NAME_low`` and ``NAME_high``; and one for each probability
        that was asked for. Rows are in the order of the table.

    Raises
    ------
    UserError
        For anything that the user can correct; then nothing is written.
    """
    check_writable(out, written)
    if interval is not None and not 0 < interval < 1:
        raise UserError(
            f"--interval {interval} is no probability between 0 and 1, such as 0.9."
        )
    if out.resolve() in (model_path.resolve(), table_path.resolve()):
        raise UserError(
            f"--out {out} would overwrite a file that is read; give another name."
        )
    with staged_file(out) as file:
        model = load_model(model_path)
        columns = [*model.features.items(), *filter(None, [model.task_column])]
        texts = [name for name, kind in columns if kind == "text"]
        table = read_table(table_path, written, text_columns=texts)
        known = {*model.features, *model.targets}
        if model.task_column is not None:
            known.add(model.task_column[0])
        keep = choose_columns(list(table), kept, "--keep")
        unknown = [name for name in table if name not in known and name not in keep]
        if std or interval is not None:
            model.check_std()
        rows = without_empty_rows(table)
        if skip_incomplete:
            needed = [name for name, _ in columns if name in table]
            rows = rows[~incomplete_rows(rows, needed, note)]
        if asked == _NOTHING:
            predictions = model.predict(rows, std=std, interval=interval)
        else:
            predictions = answer_table(model, rows, asked)
        # rows that are left out have empty cells
        _check_distinct(keep, predictions)
        if len(rows) < len(table):  # whole numbers stay whole beside empty cells
            predictions = predictions.convert_dtypes(
                convert_string=False, convert_floating=False
            )
        predictions = predictions.set_axis(rows.index).reindex(table.index)
        if keep:
            cells = read_cells(table_path, written)
            as_written = table if cells is None else cells
            predictions = pd.concat([as_written[keep], predictions], axis=1)
        if unknown:
            note(f"ignored columns that the model does not know: {listing(unknown)}")
        write_table(predictions, file, written)
    return predictions


def _check_distinct(kept: Iterable[str], predicted: Iterable[str]) -> None:
    both = sorted({*kept} & {*predicted})
    if both:
        raise UserError(
            f"--keep {both[0]} is also the name of a column of predictions, and would "
            "be there twice; leave it out, or rename it in the table."
        )
