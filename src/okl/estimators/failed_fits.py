"""Fits that fail leave the estimator as it was.

`fit` sets attributes that it learns from rows and labels before it has found a model.
If they stayed after an error, an earlier model would answer with the classes of other
data.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any


def whole_or_not_at_all(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a fit: where it raises, the estimator keeps its earlier attributes."""

    @wraps(fit)
    def fit_or_restore(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        before = vars(estimator).copy()
        try:
            return fit(estimator, *args, **kwargs)
        except BaseException:
            estimator.__dict__ = before
            raise

    return fit_or_restore
