"""The regressor that predicts a table from inputs."""

from __future__ import annotations

import warnings
from typing import Any

from okl.estimators.regression import RegressionMixin
from okl.estimators.regressor_cv import OutputKernelRegressorCV


def regressor_of_table(estimator: Any, *, has_inputs: bool, depth: int) -> Any:
    """Return the regressor to fit: the one given, or by default independent outputs.

    Parameters
    ----------
    estimator : regressor of okl or None
    has_inputs : bool
        Whether there is anything to predict from. Without that a warning says that the
        one given is not used.
    depth : int
        How many calls up the caller is at whom the warning points.

    Raises
    ------
    TypeError
        For what is no regressor of okl.
    ValueError
        For another loss than the squared one.
    """
    if estimator is None:
        return OutputKernelRegressorCV(structures="identity")
    if not isinstance(estimator, RegressionMixin):
        raise TypeError(
            "estimator must be a regressor of okl with the squared loss, got "
            f"{estimator!r}."
        )
    given: Any = estimator
    if "quadratic" not in given._checked_loss().capabilities:
        raise ValueError(
            "estimator must have the squared loss, on which the imputation of "
            f"missing entries is based; got loss={given.loss!r}."
        )
    if not has_inputs:
        warnings.warn(
            "estimator is not used: it predicts a table from inputs, and there are "
            "none. Give them by name, as in fit(Y, X=X), or leave estimator out.",
            UserWarning,
            stacklevel=depth + 1,
        )
    return estimator
