"""Regression targets in units of their own, standardised for the model.

The errors of all outputs are added, so that none may count more because of its unit.
scikit-learn's `TransformedTargetRegressor` does the same for complete targets; it
refuses those that were not observed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.preprocessing import StandardScaler


class StandardisedTargets(RegressorMixin, BaseEstimator):
    """A regressor of standardised targets that predicts in the units of the targets.

    Parameters
    ----------
    regressor : estimator
        Takes y of shape (n_samples, n_targets), NaN where not observed.

    Attributes
    ----------
    regressor_ : estimator
        Fitted to the standardised targets.
    scaler_ : StandardScaler
        The mean and the standard deviation of what was observed of each target.
    """

    def __init__(self, regressor: Any) -> None:
        self.regressor = regressor

    def fit(self, X: Any, y: Any, **ids: Any) -> StandardisedTargets:
        """Standardise y (n_samples, n_targets) and fit; ids may be the task of rows."""
        self.scaler_ = StandardScaler().fit(y)
        targets = self.scaler_.transform(y)
        self.regressor_ = clone(self.regressor).fit(X, targets, **ids)
        return self

    def predict(self, X: Any, **ids: Any) -> np.ndarray:
        """Predict (n_samples, n_targets) in the units of y."""
        predictions = self.regressor_.predict(X, **ids)
        return self.scaler_.inverse_transform(predictions.reshape(len(predictions), -1))
