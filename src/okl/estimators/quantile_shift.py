"""What is added to predictions of a quantile: given, or found by a search."""

from __future__ import annotations

from typing import Any

import numpy as np

from okl.coding.tasks import Tasks
from okl.estimators.targets import TrainingTargets
from okl.losses import Loss
from okl.numerics.numbers import checked_numbers
from okl.numerics.validation import refuse_labels


def check_shift(
    shift: Any, loss: Loss, n_outputs: int, word: str | None = None
) -> np.ndarray | None:
    """Check what is to be added to predictions; return that of each output.

    None if it is the word for one that is to be found.

    Parameters
    ----------
    shift : float or array (n_outputs,)
    loss : Loss
        What is added has to be zero unless it is of a quantile.
    n_outputs : int
        How many outputs, or tasks, there are.
    word : str, optional
        That word, if there is one.

    Raises
    ------
    TypeError
        For a series.
    ValueError
        If it is not finite, not one number for each output, or not zero for a loss
        whose predictions are no quantiles.
    """
    refuse_labels(shift, "shift", "the outputs")
    if isinstance(shift, str | bool | None):
        if word is not None and shift == word:
            return None
        other = "" if word is None else f"{word!r}, "
        raise ValueError(
            f"shift must be {other}a number, or one for each output, got {shift!r}."
        )
    numbers = checked_numbers(np.ravel(shift), "shift", ensure_all_finite=True)
    if np.ndim(shift) and np.shape(shift) != (n_outputs,):
        raise ValueError(
            f"shift has shape {np.shape(shift)}; expected a number, or one for each of "
            f"the {n_outputs} outputs."
        )
    if loss.predicted_quantile is None and np.any(numbers != 0):
        raise ValueError(
            f"shift is what is added to predictions of a quantile, and loss={loss!r} "
            "predicts none; leave shift out."
        )
    return np.broadcast_to(numbers, (n_outputs,)).astype(np.float64)


def set_shift(estimator: Any, shift: Any, targets: TrainingTargets) -> None:
    """Set ``shift_`` where a quantile is predicted and there is one; remove it else."""
    estimator.__dict__.pop("shift_", None)  # of an earlier fit
    if shift is not None and targets.observed.loss.predicted_quantile is not None:
        estimator.shift_ = float(shift[0]) if targets.one_dimensional else shift


def shifted(
    predictions: np.ndarray, shift: Any, tasks: Tasks | None = None
) -> np.ndarray:
    """Return predictions with a shift, of each output or of the task of each row."""
    if tasks is None or np.ndim(shift) == 0:
        return predictions + shift
    return predictions + tasks.spread(shift)
