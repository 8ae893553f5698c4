"""Checks of numbers that several kernels share.

Each function takes the kernel and the name of its parameter, so that a message
always says whose parameter is wrong. Kernels check in ``resolve``, at fit time:
constructors only store.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from okl.numerics.validation import refuse_labels


def nonnegative_number(kernel: BaseEstimator, name: str) -> float:
    """Return a parameter that must be a finite number >= 0.

    Raises
    ------
    ValueError
        For anything else, since the matrix would not be positive semi-definite.
    """
    value = getattr(kernel, name)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 <= float(value) < np.inf:
        raise ValueError(
            f"{name} of {type(kernel).__name__} must be a finite number >= 0, got "
            f"{value!r}: below 0 the kernel need not be positive semi-definite."
        )
    return float(value)


def positive_number(kernel: BaseEstimator, name: str) -> float:
    """Return a parameter that must be a finite number > 0.

    Raises
    ------
    ValueError
        For anything else.
    """
    value = getattr(kernel, name)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 < float(value) < np.inf:
        raise ValueError(
            f"{name} of {type(kernel).__name__} must be a finite number > 0, got "
            f"{value!r}."
        )
    return float(value)


def positive_per_feature(
    kernel: BaseEstimator, name: str, n_features: int
) -> float | np.ndarray:
    """Return a parameter that must be a number > 0 or one such number per feature.

    Returns
    -------
    float or ndarray of shape (n_features,)

    Raises
    ------
    TypeError
        For a series, whose labels are not known to be the names of features.
    ValueError
        If the parameter is still ``"scale"``, is not numeric, not finite, not
        positive, or has another length.
    """
    value, owner = getattr(kernel, name), type(kernel).__name__
    if is_scale(value):
        raise ValueError(
            f"{name}='scale' of {owner} depends on the data: call resolve(X) with the "
            "training data first, as fit does, and use the kernel it returns, or give "
            "a number."
        )
    refuse_labels(value, f"{name} of {owner}", "the features")
    array = as_numbers(value)
    if array is None or not np.all(np.isfinite(array) & (array > 0)):
        raise ValueError(
            f"{name} of {owner} must be finite and > 0, a number or one number per "
            f"feature, got {value!r}."
        )
    if array.ndim and array.shape != (n_features,):
        raise ValueError(
            f"{name} of {owner} must be a number or have shape ({n_features},), one "
            f"number per feature of X, got shape {array.shape}."
        )
    return array if array.ndim else float(array)


def is_scale(value: Any) -> bool:
    """Tell whether a parameter is the string ``"scale"``, whatever its type."""
    return isinstance(value, str) and value == "scale"


def as_numbers(value: Any) -> np.ndarray | None:
    """Return a float64 array, or None for what is not an array of real numbers."""
    try:
        array = np.asarray(value)
    except ValueError:  # a ragged list
        return None
    return array.astype(np.float64) if array.dtype.kind in "iuf" else None
