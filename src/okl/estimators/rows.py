"""A check that rows are those of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse


def same_rows(X: Any, rows: Any) -> bool:
    """Tell whether X has the same entries as rows, and is sparse if they are."""
    if X.shape != rows.shape or issparse(X) != issparse(rows):
        return False
    if issparse(X):
        return bool((X - rows).count_nonzero() == 0)
    return bool(np.array_equal(X, rows))
