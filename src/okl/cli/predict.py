"""``okl predict``: from a model and a table to a table of predictions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from okl.cli.answers import Asked, answer_table
from okl.cli.errors import UserError, listing
from okl.cli.staging import staged_file
from okl.cli.storage import load_model
from okl.cli.tables import format_of, read_table, write_table

_NOTHING = Asked()


def predict_table(
    model_path: Path,
    table_path: Path,
    out: Path,
    *,
    std: bool = False,
    asked: Asked = _NOTHING,
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
    asked : Asked
        The options for classes.
    note : callable
        Called with a line about columns that the model does not have.

    Returns
    -------
    DataFrame
        One column for each target; with ``std`` one ``NAME_std`` for each; and one for
        each probability that was asked for. Rows are in the order of the table.

    Raises
    ------
    UserError
        For anything that the user can correct; then nothing is written.
    """
    format_of(out)
    if out.resolve() in (model_path.resolve(), table_path.resolve()):
        raise UserError(
            f"--out {out} would overwrite a file that is read; give another name."
        )
    with staged_file(out) as file:
        model = load_model(model_path)
        columns = [*model.features.items(), *filter(None, [model.task_column])]
        texts = [name for name, kind in columns if kind == "text"]
        table = read_table(table_path, text_columns=texts)
        known = {*model.features, *model.targets}
        if model.task_column is not None:
            known.add(model.task_column[0])
        unknown = [name for name in table if name not in known]
        if std:
            model.check_std()
        if asked == _NOTHING:
            predictions = model.predict(table, std=std)
        else:
            predictions = answer_table(model, table, asked)
        if unknown:
            note(f"ignored columns that the model does not know: {listing(unknown)}")
        write_table(predictions, file)
    return predictions
