"""Arguments that a method does not take, refused in the name of the estimator's class.

Python names the class where a method was written, which a user has not heard of.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any


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
