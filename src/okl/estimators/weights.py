"""Weights of rows and entries: as they come in, and as problems take them.

A weight multiplies the loss of a row, or of one entry of the targets: weight two is the
row twice, weight zero is a row, or target, that was not observed. Problems take them as
an array (n_samples, n_outputs), or (n_samples, 1) where all entries of a row weigh the
same, which is much the easier problem; None stands for ones.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from okl.coding.labels import Kind
from okl.numerics.numbers import checked_numbers
from okl.numerics.validation import check_magnitude, refuse_negative_weights


def checked_weights(sample_weight: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return the weights given to ``fit`` as (n_samples, n_outputs) or (n_samples, 1).

    Parameters
    ----------
    sample_weight : array (n_samples,) or (n_samples, n_outputs), number or None
    shape : tuple
        (n_samples, n_outputs), or (n_samples,) if entries cannot have their own.

    Raises
    ------
    ValueError
        For weights that are negative, not finite, all zero or of another shape, or of a
        size that cannot be computed with.
    """
    if sample_weight is None:
        return None
    n_samples = shape[0]
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_samples, float(sample_weight))
    # a copy: uncertainty is computed later, from the weights of the fit
    weights = checked_numbers(
        sample_weight, "sample_weight", ensure_all_finite=True, copy=True
    )
    if weights.shape not in ((n_samples,), shape):
        allowed = " or ".join(map(str, dict.fromkeys(((n_samples,), shape))))
        raise ValueError(
            f"sample_weight must have the shape {allowed}; got {weights.shape}."
        )
    refuse_negative_weights(weights)
    if not np.any(weights > 0):
        raise ValueError(
            "sample_weight is zero everywhere: at least one weight must not be zero."
        )
    check_magnitude(weights, "Weights are up to", "Rescale the weights.")
    return weights.reshape(n_samples, -1)


def combined(*factors: np.ndarray | None) -> np.ndarray | None:
    """Return the product of weights; one column where those of a row are equal."""
    product: np.ndarray | None = None
    for weights in factors:
        if weights is not None:
            product = weights if product is None else product * weights
    if product is None or np.all(product == 1):
        return None
    if np.all(product == product[:, :1]):
        return np.ascontiguousarray(product[:, :1])
    return product


def of_rows(weights: np.ndarray | None) -> np.ndarray | None:
    """Return the weight of each row (n_samples,), the mean over its outputs."""
    return None if weights is None else weights.mean(axis=1)


def class_weights(
    class_weight: Any,
    labels: np.ndarray,
    classes: np.ndarray,
    kind: Kind,
    weights: np.ndarray | None,
) -> np.ndarray | None:
    """Return the weight of the class of each row (n_samples, 1), None for ones.

    "balanced" counts a row as often as its weight says.

    Raises
    ------
    ValueError
        For label indicators, which have no classes, unknown classes, or weights that
        are negative, not finite, or zero for all classes.
    """
    if class_weight is None:
        return None
    if kind == "multilabel":
        raise ValueError(
            "class_weight is for one class per row, y has several labels per row; set "
            "class_weight=None, and weigh labels by a sample_weight of the shape of y."
        )
    rows = of_rows(weights)
    counted = slice(None) if rows is None else rows > 0
    of_class = np.ones(len(classes))
    # classes without rows have nothing to be balanced with, but may have a weight
    there = np.isin(classes, labels[counted]) | (not isinstance(class_weight, str))
    of_class[there] = compute_class_weight(
        class_weight,
        classes=classes[there],
        y=labels[counted],
        sample_weight=None if rows is None else rows[counted],
    )
    if not np.all(np.isfinite(of_class) & (of_class >= 0)) or not of_class.any():
        given = dict(zip(classes.tolist(), of_class.tolist(), strict=True))
        raise ValueError(
            "class_weight must be finite and >= 0, and not zero for all classes; got "
            f"{given}."
        )
    codes = np.clip(np.searchsorted(classes, labels), 0, len(classes) - 1)
    return of_class[codes][:, None]
