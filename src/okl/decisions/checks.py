"""Checks of probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

# How much the sum of a row may differ from 1; probabilities of half precision do
# differ.
_ROUNDING = 1e-2


def checked_probabilities(probabilities: Any, n_classes: int) -> np.ndarray:
    """Return probabilities (n_samples, n_classes), after a check.

    Raises
    ------
    ValueError
        If there is not a column for each class, or a row holds no probabilities.
    """
    checked = check_array(
        probabilities, dtype=np.float64, input_name="probabilities", ensure_2d=False
    )
    if checked.ndim != 2 or checked.shape[1] != n_classes:
        raise ValueError(
            "probabilities must have a column for each of the "
            f"{n_classes} classes; got the shape {checked.shape}."
        )
    check_sums(checked, "probabilities")
    return checked


def check_sums(probabilities: np.ndarray, name: str) -> None:
    """Raise ValueError if an entry is negative, or a row does not add up to 1."""
    sums = probabilities.sum(axis=1)
    wrong = (probabilities < -_ROUNDING).any(axis=1) | (np.abs(sums - 1) > _ROUNDING)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{name} must be numbers >= 0 that add up to 1 in each row; those of row "
            f"{row} are from {probabilities[row].min():.3g} to "
            f"{probabilities[row].max():.3g} and add up to {sums[row]:.3g}. Scores of "
            "decision_function and log-probabilities are not valid; use predict_proba."
        )
