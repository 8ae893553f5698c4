"""A warning where columns of X are too unlike in size for the kernel.

The distance of two rows adds the differences of all columns. With one width for all of
them, columns of large numbers decide it alone, and what the others say is lost: one in
seconds beside one in years. The model is right, but hardly the one that was meant.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse

from okl.kernels import Kernel, PerOutput
from okl.operators.base import CENTERING_ROUNDING

# Standard deviations may differ by this factor: beyond it, what a column adds to a
# squared distance is below a millionth of what another adds.
_LARGEST_RATIO = 1e3
# Columns that the message lists.
_LISTED = 5


def warn_of_column_scales(
    estimator: Any,
    kernel: Kernel | PerOutput | str,
    X: Any,
    weights: np.ndarray | None,
    depth: int,
) -> None:
    """Warn if columns that share the width of a kernel differ too much in scale.

    Constant columns do not count, nor do sparse rows, where the scale of a column is a
    matter of how often it is not zero.

    Parameters
    ----------
    estimator : object
        Its ``feature_names_in_``, if there are any, are what columns are called.
    kernel : Kernel, PerOutput or "precomputed"
        Resolved.
    X : array or sparse matrix (n_samples, n_features)
        Training rows.
    weights : array (n_samples,) or None
        Of the rows: one of weight zero is ignored.
    depth : int
        How many calls up the caller is at whom the warning points.
    """
    if isinstance(kernel, str) or issparse(X):
        return
    groups = kernel.of_one_width(X.shape[1])
    if not groups:
        return
    spreads = _spreads(X if weights is None else X[weights > 0])
    for group in groups:
        varying = group[spreads[group] > 0]
        if not len(varying):
            continue
        largest = varying[np.argmax(spreads[varying])]
        hidden = varying[spreads[varying] * _LARGEST_RATIO < spreads[largest]]
        if len(hidden):
            warnings.warn(
                _message(
                    kernel,
                    spreads,
                    largest,
                    hidden,
                    getattr(estimator, "feature_names_in_", None),
                ),
                UserWarning,
                stacklevel=depth + 1,
            )
            return


def _spreads(X: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each column, zero where that is rounding."""
    with np.errstate(over="ignore", invalid="ignore"):
        spreads = X.std(axis=0)
    rounding = CENTERING_ROUNDING * np.finfo(np.float64).eps
    constant = spreads <= rounding * np.abs(X).max(axis=0)
    return np.where(constant | ~np.isfinite(spreads), 0.0, spreads)


def _message(
    kernel: Kernel | PerOutput,
    spreads: np.ndarray,
    largest: int,
    hidden: np.ndarray,
    names: np.ndarray | None,
) -> str:
    def called(column: int) -> str:
        return str(column) if names is None else repr(str(names[column]))

    order = hidden[np.argsort(spreads[hidden], kind="stable")]
    listed = ", ".join(
        f"{called(column)} ({spreads[column]:.3g})" for column in order[:_LISTED]
    )
    more = f" and {len(order) - _LISTED} more" if len(order) > _LISTED else ""
    return (
        f"The columns of X have standard deviations up to {spreads[largest]:.3g}, of "
        f"the column {called(largest)}, and less than a thousandth of that in "
        f"{listed}{more}. {type(kernel).__name__} compares rows by distances with one "
        "width for all columns, so that these columns have no influence. Standardise "
        "X, for instance by StandardScaler in a pipeline, or give the kernel a width "
        "for each column."
    )
