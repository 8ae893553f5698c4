"""Sparse rows that hold encoded categories, and not texts.

`OneHotEncoder` returns sparse rows, with a one for each category: all rows have the
same number of entries, but for few zeros among numbers that stand beside them. Texts
have more or fewer words. The kernels that are learned from dense rows suit categories,
and the linear and the cosine kernel suit texts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Rows of so few columns are no texts, whatever they hold.
_FEW_COLUMNS = 100
# The share of rows with the same number of entries, and how many numbers may be dense.
_ALIKE, _MOST_NUMBERS = 0.9, 10**7


def are_categories(rows: Any) -> bool:
    """Tell whether a CSR matrix (n_samples, n_features) is to be made dense."""
    n, d = rows.shape
    if d <= _FEW_COLUMNS:
        return True
    if n * d > _MOST_NUMBERS:
        return False
    numbers = np.repeat(np.arange(n), np.diff(rows.indptr))[rows.data != 0]
    entries = np.bincount(numbers, minlength=n)  # of each row, stored zeros aside
    return bool(np.max(np.bincount(entries)) >= _ALIKE * n)
