"""Checks of arguments that a method does not take, or that need others to matter.

An argument that a method does not take is refused in the name of the estimator's class:
Python's own error names the base class where the method was written, which a user has
not heard of.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

from okl.numerics.validation import check_flag


def spread_asked(include_noise: Any, **flags: Any) -> bool:
    """Return whether one of these flags asks how sure predictions are.

    Raises
    ------
    ValueError
        For what is no flag, for several flags, and for noise without any of them.
    """
    for name, flag in {**flags, "include_noise": include_noise}.items():
        check_flag(flag, name)
    if sum(flags.values()) > 1:
        raise ValueError(f"Ask for one of {' and '.join(flags)}, not for both.")
    asked = any(flags.values())
    if include_noise and not asked:
        by = " or ".join(f"{name}=True" for name in flags)
        raise ValueError(
            "include_noise=True only affects the uncertainty of predictions, which was "
            f"not requested; predictions themselves have no noise. Pass {by} too, or "
            "leave include_noise out."
        )
    return asked


def refuse_a_scorer_without_tasks(method: str) -> None:
    """Raise ValueError if scikit-learn's scores are about to take tasks for classes.

    Its scorers, and what calibrates or moves a threshold, pass no ids on, and of the
    probabilities of two classes they take the second column: that of the second task,
    for all rows. Only who called tells that a matrix of all tasks is not what is meant.
    """
    frame = sys._getframe(1).f_back
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        # an estimator of someone else may know which columns it takes
        if module.partition(".")[0] not in ("sklearn", "okl"):
            return
        if module == "sklearn.utils._response":
            raise ValueError(
                f"scikit-learn calls {method} without tasks of rows, and takes the "
                "column of a task for that of a class. Keep the default score, or give "
                f"a function that calls {method}(X, task=...) itself."
            )
        frame = frame.f_back


def checks_its_arguments(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a method whose class is the base of public ones.

    Arguments that it does not take raise TypeError, with those that it takes.
    """
    expected = signature(method)
    names = ", ".join(list(expected.parameters)[1:])

    @wraps(method)
    def checked(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            expected.bind(estimator, *args, **kwargs)
        except TypeError as error:
            name = f"{type(estimator).__name__}.{method.__name__}()"
            raise TypeError(f"{name}: {error}. It takes {names}.") from None
        return method(estimator, *args, **kwargs)

    return checked
