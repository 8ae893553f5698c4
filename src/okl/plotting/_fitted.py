"""The fitted estimator inside of what scikit-learn wraps around it.

A pipeline ends in it, a search refits it as its best, and a regressor of transformed
targets holds it; each of them may hold another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

# What wrapping estimators call the one that they fitted: searches, transformed targets,
# and tuned thresholds.
_INNER = ("best_estimator_", "regressor_", "estimator_")


def fitted_model(estimator: Any, attributes: str | Sequence[str], advice: str) -> Any:
    """Return the innermost estimator, which must have been fitted.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of this library, or a `Pipeline` that ends in one, a search
        such as `GridSearchCV`, a `TransformedTargetRegressor`, to any depth.
    attributes : str or sequence of str
        The fitted attributes that are wanted of it.
    advice : str
        What to do if it does not have them.

    Raises
    ------
    NotFittedError
        If it has not.
    """
    inner = _inner(estimator)
    while inner is not None:
        estimator = inner
        inner = _inner(estimator)
    names = [attributes] if isinstance(attributes, str) else attributes
    message = f"This %(name)s has no {' and '.join(names)}: {advice}"
    check_is_fitted(estimator, attributes, msg=message)
    return estimator


def _inner(estimator: Any) -> Any:
    steps = getattr(estimator, "steps", None)
    if steps:
        return steps[-1][1]
    return next((vars(estimator)[n] for n in _INNER if n in vars(estimator)), None)
