"""Fits to resampled rows, and the parts of targets that each resample must contain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import column_or_1d

from okl.estimators.frames import refuse_text
from okl.numerics.correlation import correlation
from okl.numerics.numbers import checked_numbers


def parts_of(
    y: Any, weights: np.ndarray | None, task: np.ndarray | None, *, classes: bool
) -> tuple[np.ndarray | None, np.ndarray]:
    """Return the strata of rows, and the parts of the targets that each row has.

    Parts are the outputs; for classes, the classes; for label indicators, both values
    of each label.
    """
    values = np.asarray(y)
    counted = np.ones(len(values), dtype=bool)
    if weights is not None:
        counted = np.any(weights > 0, axis=1)
    strata = task
    if task is not None:
        found, codes = np.unique(task, return_inverse=True)
        seen = codes[:, None] == np.arange(len(found))
    elif classes and (values.ndim == 1 or values.shape[1] == 1):
        strata = column_or_1d(values)
        found, codes = np.unique(strata, return_inverse=True)
        seen = codes[:, None] == np.arange(len(found))
    elif classes:
        seen = np.hstack([values == 0, values == 1])
    else:
        refuse_text(y)
        numbers = checked_numbers(y, "y").reshape(len(values), -1)
        seen = ~np.isnan(numbers)
        if weights is not None:
            seen &= weights > 0
    seen = seen & counted[:, None]
    return strata, seen[:, seen.any(axis=0)]


def refit(
    fitted: Callable[[np.ndarray], Any], counts: np.ndarray
) -> tuple[np.ndarray, bool]:
    """Return `output_kernels_of` a fit in which each row counts as often as given."""
    return output_kernels_of(fitted(counts))


def fitted_to(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: np.ndarray | None,
    task: np.ndarray | None,
    counts: np.ndarray,
) -> Any:
    """Return a clone fitted to rows, each of which counts as often as given."""
    rows = np.flatnonzero(counts)
    X, y = _safe_split(model, X, y, rows)
    weights: Any = counts[rows].astype(np.float64)
    if sample_weight is not None:
        weights = weights[:, None] * sample_weight[rows]
        weights = weights[:, 0] if weights.shape[1] == 1 else weights
    elif np.all(weights == 1):
        weights = None
    return clone(model).fit(X, y, weights, None if task is None else task[rows])


def output_kernels_of(fitted: Any) -> tuple[np.ndarray, bool]:
    """Return the output kernels of a fit, and whether it failed.

    Output kernels are (n_terms, 2, m, m): L in the units of the targets, and its
    correlation; of the sum first and, if there are several kernels, of each kernel.
    """
    kernels = [fitted.output_kernel_]
    if len(fitted.output_kernels_) > 1:
        kernels += fitted.output_kernels_
    scale = np.asarray(getattr(fitted, "y_scale_", 1.0))
    unit = np.outer(scale, scale) if scale.ndim else scale**2
    both = [[L, correlation(L / unit)] for L in kernels]
    return np.array(both), bool(fitted.certificate_.failed)
