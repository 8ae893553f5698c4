"""Label indicators as users give them: with missing labels, or as objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from okl.numerics.missing import nan_for_na


def partly_observed(y: Any) -> bool:
    """Tell whether targets are a matrix of numbers with NaN among them."""
    if issparse(y):
        return False
    shape = np.asarray(y).shape
    if len(shape) != 2 or shape[1] < 2:
        return False
    try:
        numbers = check_array(y, dtype=np.float64, ensure_all_finite=False)
    except (TypeError, ValueError):  # text, for example
        return False
    return bool(np.isnan(numbers).any())


def without_objects(labels: Any) -> Any:
    """Return indicators as numbers: pandas has objects where some may be missing.

    A column of classes is not changed: integers stay integers, and text stays text.
    """
    found = None if issparse(labels) else np.asarray(labels)
    if found is None or found.ndim != 2 or found.dtype != object:
        return labels
    try:
        numbers = np.array(nan_for_na(found).tolist())
    except ValueError:  # sequences of different lengths
        return labels
    return numbers if numbers.dtype.kind in "biuf" else labels
