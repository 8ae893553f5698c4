"""From columns of a table to the numbers a kernel compares.

Numbers are standardised, so that no column counts more because of its unit. Text and
truth values become one column of zeros and ones per value; a value that was not there
during the fit becomes zeros. Nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping

from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from okl.cli.columns import Kind


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
    """Name the columns of numbers: after their column, and its value if one-hot."""
    names = encoder.get_feature_names_out()
    return [name.partition("__")[2] for name in names]
