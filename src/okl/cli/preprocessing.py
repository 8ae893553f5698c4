"""From the columns of a table to the numbers that a kernel compares.

Numbers are standardised, so that no column counts more because of its unit. Text and
truth values become one column of zeros and ones for each value; a value that did not
occur in the fit becomes zeros. No value is dropped.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from okl.cli.columns import Kind
from okl.cli.errors import shown


def encoder_for(kinds: Mapping[str, Kind]) -> ColumnTransformer:
    """Return the unfitted transformer for columns of these kinds."""
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    others = [name for name in kinds if name not in numbers]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    steps = [
        ("numbers", StandardScaler(), numbers),
        ("values", one_hot, others),
    ]
    return ColumnTransformer([step for step in steps if step[2]])


def encoded_names(encoder: ColumnTransformer) -> list[str]:
    """Return names of encoded columns: the column, with the value if one-hot."""
    names = encoder.get_feature_names_out()
    return [name.partition("__")[2] for name in names]


def warn_of_new_values(encoder: ColumnTransformer, table: pd.DataFrame) -> None:
    """Warn of values of text that did not occur in the fit.

    Parameters
    ----------
    encoder : ColumnTransformer
        The encoder of the fit.
    table : DataFrame
        A table with the columns of the fit.
    """
    one_hot = encoder.named_transformers_.get("values")
    if one_hot is None:
        return
    for name, known in zip(one_hot.feature_names_in_, one_hot.categories_, strict=True):
        new = (~table[name].isin(known)).to_numpy().nonzero()[0]
        if len(new):
            more = f" and {len(new) - 1} more" if len(new) > 1 else ""
            warnings.warn(
                f"the column {shown(name)} has values that the table of the fit did "
                f"not have, '{shown(table[name].iloc[new[0]])}' in row "
                f"{new[0] + 1}{more}; they are treated as none of the known values",
                stacklevel=2,
            )
