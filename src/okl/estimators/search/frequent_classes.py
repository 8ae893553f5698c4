"""The classes or labels that a kernel is learned from, where there are very many.

An evaluation by fits to folds costs about the square of the number of rows times that
of classes; where each row has one class, the rows of a class that is left out are left
out too. What makes rows similar hardly depends on which classes are told apart: the
most frequent ones will do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

# The most of rows^2 x classes, but for so few classes.
_MOST, _FEW = 5e6, 30


def most_frequent(
    frequency: np.ndarray, rows: np.ndarray, random_state: Any
) -> np.ndarray:
    """Return the numbers of the classes to learn from, sorted.

    Parameters
    ----------
    frequency : array (n_classes,)
        How many rows tell about a class.
    rows : bool array (n_samples, n_classes)
        Which rows come with which class.
    random_state : int, RandomState or None
        It chooses among classes that are as frequent. Not used if all are kept.
    """
    n_classes = rows.shape[1]
    n_rows = np.count_nonzero(rows.any(axis=1))
    if n_classes <= _FEW or float(n_rows) ** 2 * n_classes <= _MOST:
        return np.arange(n_classes)
    drawn = check_random_state(random_state).permutation(n_classes)
    order = drawn[np.argsort(-frequency[drawn], kind="stable")]
    with_first = np.maximum.accumulate(rows[:, order], axis=1).sum(axis=0)
    costs = with_first.astype(np.float64) ** 2 * np.arange(1, n_classes + 1)
    most = int(np.searchsorted(costs, _MOST, side="right"))
    return np.sort(order[: max(most, _FEW)])
