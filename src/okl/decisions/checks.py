"""What decisions ask of probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array


def checked_probabilities(probabilities: Any, n_classes: int) -> np.ndarray:
    """Return probabilities (n_samples, n_classes), after a check of their shape.

    Raises
    ------
    ValueError
        If there is not a column for each class, or an entry is no finite number.
    """
    checked = check_array(
        probabilities, dtype=np.float64, input_name="probabilities", ensure_2d=False
    )
    if checked.ndim != 2 or checked.shape[1] != n_classes:
        raise ValueError(
            "probabilities must have a column for each of the "
            f"{n_classes} classes; got the shape {checked.shape}."
        )
    return checked
