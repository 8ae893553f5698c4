"""Probabilities: which losses have them, and what temperatures there are."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np

from okl.losses import LOSSES, as_loss
from okl.numerics.validation import check_magnitude, check_positive, refuse_labels


def check_temperature(
    temperature: Any, n_labels: int | None = None
) -> float | np.ndarray:
    """Check a temperature, by which scores are divided to become probabilities.

    Parameters
    ----------
    temperature : float, or array (n_labels,)
    n_labels : int or None
        How many labels of indicators there are, None for classes of one label.

    Raises
    ------
    TypeError
        For a series.
    ValueError
        If it is not positive, too large or small to divide by, or an array and not one
        of a number for each label.
    """
    refuse_labels(temperature, "temperature", "the labels")
    for number in np.ravel(np.asarray(temperature, dtype=object)):
        size = np.asarray(check_positive(number, "temperature"))
        check_magnitude(size, "temperature is", "Choose another temperature.")
    if np.ndim(temperature) == 0:
        return float(temperature)
    if np.shape(temperature) != (n_labels,):
        expected = "a number, as rows have one class each"
        if n_labels is not None:
            expected = f"a number, or one for each of the {n_labels} labels"
        raise ValueError(
            f"temperature has shape {np.shape(temperature)}; expected {expected}."
        )
    return np.asarray(temperature, dtype=np.float64)


class where_probable:
    """Decorator of a method that needs a loss with probabilities.

    With another loss there is no such attribute, so that ``hasattr`` is False and
    scikit-learn looks for other methods; the error names the losses that have it. None
    stands for one that has. On the class it is the plain function.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self.__doc__ = method.__doc__
        self.method = method

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        """Return the bound method.

        Raises
        ------
        AttributeError
            If the loss of the estimator has no probabilities, or is none.
        """
        if estimator is None:
            return self.method
        if estimator.loss is None:
            return MethodType(self.method, estimator)
        name = self.method.__name__
        try:
            loss = as_loss(estimator.loss)
        except (TypeError, ValueError) as error:
            raise AttributeError(f"{name} needs a loss: {error}") from error
        if "probabilities" not in loss.capabilities:
            known = [
                f"loss={name!r}"
                for name, cls in LOSSES.items()
                if "probabilities" in cls.capabilities
            ]
            raise AttributeError(
                f"{type(estimator).__name__} has {name} with {' or '.join(known)} "
                f"only; loss={estimator.loss!r} has no probabilities."
            )
        return MethodType(self.method, estimator)
