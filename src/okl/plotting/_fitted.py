"""The fitted estimator inside scikit-learn's pipelines, searches and other wrappers.

It is the last step of a pipeline, the refitted best estimator of a search, or the
regressor inside a `TransformedTargetRegressor`; these may be nested.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

# The attributes in which wrappers keep the estimator that they fitted: searches,
# transformed targets, and tuned thresholds.
_INNER = ("best_estimator_", "regressor_", "estimator_")


def fitted_model(
    estimator: Any, attributes: str | Sequence[str], advice: str | None = None
) -> Any:
    """Return the innermost estimator, which must have been fitted.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of this library, or a `Pipeline` that ends in one, a search
        such as `GridSearchCV`, a `TransformedTargetRegressor`, to any depth.
    attributes : str or sequence of str
        The fitted attributes that it must have.
    advice : str, optional
        What the error advises if it does not have them; None advises to fit it.

    Raises
    ------
    NotFittedError
        If it does not have these attributes.
    ValueError
        If it was fitted without these attributes, and ``advice`` is None.
    """
    inner = _inner(estimator)
    while inner is not None:
        estimator = inner
        inner = _inner(estimator)
    names = [attributes] if isinstance(attributes, str) else attributes
    lacks = f"has no {' and '.join(names)}"
    if advice is None:
        advice = "call fit before drawing it."
        if _is_fitted(estimator) and not _is_fitted(estimator, attributes):
            raise ValueError(
                f"This {type(estimator).__name__} is fitted, and {lacks} to draw"
                f"{_instead(estimator, attributes)}."
            )
    check_is_fitted(estimator, attributes, msg=f"This %(name)s {lacks}: {advice}")
    return estimator


def _instead(estimator: Any, attributes: str | Sequence[str]) -> str:
    """Return what can be drawn instead, if anything."""
    extended = getattr(estimator, "estimator", None)
    if hasattr(extended, "fit") and _is_fitted(extended, attributes):
        return "; draw its estimator, which has it"
    if getattr(estimator, "distribution_", None) is not None:  # an imputer has it
        return (
            "; without inputs it is a covariance, which "
            "OutputKernelDisplay(imputer.distribution_.covariance).plot() draws"
        )
    return ""


def _is_fitted(estimator: Any, attributes: str | Sequence[str] | None = None) -> bool:
    try:
        check_is_fitted(estimator, attributes)
    except (NotFittedError, TypeError):  # TypeError: no estimator at all
        return False
    return True


def _inner(estimator: Any) -> Any:
    steps = getattr(estimator, "steps", None)
    if steps:
        return steps[-1][1]
    own = getattr(estimator, "__dict__", {})
    return next((own[name] for name in _INNER if name in own), None)
