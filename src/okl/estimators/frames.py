"""Errors that name the columns that hold no numbers, or lack some.

scikit-learn's checks turn a data frame into an array, and NumPy's error about a cell
that is no number does not name its column. Where there are only dates, NumPy takes them
for nanoseconds, in arrays as in data frames, be they rows, targets or weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import get_tags
from sklearn.utils.validation import check_array, validate_data

from okl.numerics.dates import columns_of, listed_columns, refuse_dates
from okl.numerics.missing import is_missing, refuse_masked
from okl.numerics.numbers import refuse_no_columns


def validated(estimator: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
    """Return what `sklearn.utils.validation.validate_data` does.

    Raises
    ------
    ValueError
        As that does, but with the columns of a data frame that hold dates or text, and
        those with missing cells; for texts that are no columns; and for masked entries.
    """
    refuse_masked(X, "X")
    refuse_no_columns(X, "X")
    try:
        found = validate_data(estimator, X, *args, **kwargs)
    except (TypeError, ValueError) as error:
        # an error about the names of columns is none about their cells
        if "feature names" not in str(error):
            refuse_dates(X, "X", error)
            _refuse_cells(X, error)
            _refuse_texts(X, error)
            _refuse_missing(X, get_tags(estimator).input_tags.pairwise, error)
        raise
    refuse_dates(X, "X")
    return found


def refuse_text(y: Any) -> None:
    """Refuse targets that are classes, where numbers are expected.

    Raises
    ------
    ValueError
        With the names of the estimators for classes.
    """
    try:
        cells = np.asarray(y)
    except ValueError:  # of lists of different lengths
        return
    if cells.dtype.kind not in "OUST":
        return
    for cell in cells.ravel().tolist():
        if isinstance(cell, str | bytes) and not _is_number(cell):
            raise ValueError(
                "Targets must be numbers, NaN where they are missing, and y has "
                f"{cell!r}. Classes are for OutputKernelClassifier, or "
                "OutputKernelClassifierCV."
            )


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def _refuse_cells(X: Any, error: Exception) -> None:
    found = [
        f"{name!r} ({cell!r})"
        for name, _, cells in columns_of(X)
        for cell in _first_that_is_no_number(cells)
    ]
    if found:
        raise ValueError(
            "Columns must be numbers, and some cells are not, in "
            f"{listed_columns(found)}. Encode such columns before the fit: in a "
            "pipeline with sklearn.compose.ColumnTransformer by "
            "OneHotEncoder(sparse_output=False), by OrdinalEncoder where values have "
            "an order, or by TfidfVectorizer where they are texts; or leave them out."
        ) from error
    unread = [repr(name) for name, _, cells in columns_of(X) if _hides_na(cells)]
    if unread:
        raise ValueError(
            "Columns must be numbers, and there is pandas.NA among objects in "
            f"{listed_columns(unread)}. Convert them to a numeric dtype that allows "
            "missing values, by .astype('Float64')."
        ) from error


def _refuse_texts(X: Any, error: Exception) -> None:
    """Say what makes columns of texts, if X is a sequence of these."""
    first = next(iter(X), None) if np.ndim(X) == 1 else None
    if isinstance(first, str) and not _is_number(first):
        raise ValueError(
            "X must have rows and columns of numbers, and is a sequence of texts. "
            "Put sklearn.feature_extraction.text.TfidfVectorizer before the model in "
            "a pipeline, which makes a column of each word."
        ) from error


def _refuse_missing(X: Any, pairwise: bool, error: Exception) -> None:
    """Say where cells are missing, if that is the error."""
    if not str(error).startswith("Input X contains NaN"):
        return
    cells = check_array(
        X, accept_sparse="coo", dtype="numeric", ensure_all_finite=False
    )
    if issparse(cells):
        missing = np.isnan(cells.data)
        rows, columns = cells.row[missing], cells.col[missing]
    else:
        rows, columns = np.nonzero(np.isnan(cells))
    names = [repr(name) for name, _, _ in columns_of(X)] or range(cells.shape[1])
    listed = listed_columns([str(names[j]) for j in np.unique(columns)])
    n = len(np.unique(rows))
    advice = (
        "Fill cells in before the model, in a pipeline by sklearn.impute.SimpleImputer("
        "add_indicator=True), or leave these rows or columns out"
    )
    if pairwise:
        advice = "Evaluate the kernel on rows without missing numbers"
    raise ValueError(
        f"Input X contains NaN, in {n} of {cells.shape[0]} rows, in {listed}. "
        f"{advice}; only targets may be missing."
    ) from error


def _first_that_is_no_number(cells: Any) -> list[Any]:
    """Return the first cell that does not become a number, none where all do."""
    try:
        np.asarray(cells, dtype=np.float64)
    except (TypeError, ValueError):
        for cell in cells:
            if not _is_number(cell) and not is_missing(cell):
                return [cell]
    return []


def _hides_na(cells: Any) -> bool:
    """Tell whether objects have a missing cell that NumPy makes no number of."""
    return cells.dtype == object and any(
        is_missing(cell) and not _is_number(cell) for cell in cells if cell is not None
    )


class _Titled(np.ndarray):
    """An array whose columns have names, as those of a data frame."""

    columns: Any


def titled(values: np.ndarray, names: Any) -> np.ndarray:
    """Return a table whose columns have these names; for None the table as it is."""
    if names is None:
        return values
    found = values.view(_Titled)
    found.columns = names
    return found
