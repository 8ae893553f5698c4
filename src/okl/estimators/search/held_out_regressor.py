"""The stand-in for a fitted regressor that scorers of held-out rows are given."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from okl.estimators.search.judge import StandIn
from okl.metrics import mean_squared_error, r2_score
from okl.selection.folds import Folds

# One over the variance of fewer targets has no finite variance: R^2 of so few, where it
# is a factor, is decided by the fold whose targets happen to be alike.
_FEWEST = 6


class HeldOutRegressor(RegressorMixin, StandIn):
    """Stands for a fitted regressor in front of a scorer: X holds its predictions.

    Parameters
    ----------
    one_dimensional : bool
        Whether y is.
    spread : array (n_outputs,) or None
        What errors of each output are measured by, None for the variance of the targets
        that are scored, as in R^2.
    """

    def __init__(self, one_dimensional: bool, spread: np.ndarray | None = None) -> None:
        self.one_dimensional = one_dimensional
        self.spread = spread

    def for_folds(
        self, y: np.ndarray, folds: Folds, weights: np.ndarray | None
    ) -> HeldOutRegressor:
        """Measure errors by the variance in all rows, if R^2 of a fold says little.

        An output without a variance is measured by the mean one of the others.
        """
        targets = y.reshape(len(y), -1)
        given = np.ones((1, 1)) if weights is None else weights.reshape(len(y), -1)
        counts = np.where(np.isnan(targets), 0.0, given)
        values = np.where(counts > 0, targets, 0.0)
        tested = [np.sum(counts[test] > 0, axis=0) for _, test in folds]
        scored = [numbers[numbers > 1] for numbers in tested]
        if all(len(few) and few.min() >= _FEWEST for few in scored):
            return self
        totals = counts.sum(axis=0)
        totals = np.where(totals > 0, totals, 1.0)
        off = values - (counts * values).sum(axis=0) / totals
        spread = (counts * off**2).sum(axis=0) / totals
        spread[spread <= 0] = spread[spread > 0].mean() if spread.any() else 1.0
        return HeldOutRegressor(self.one_dimensional, spread)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return X, of one dimension if y is."""
        return X[:, 0] if self.one_dimensional else X

    def score(self, X: np.ndarray, y: Any, sample_weight: Any = None) -> float:
        """Return R^2, or one minus the mean squared error over the spread."""
        predicted = self.predict(X)
        if self.spread is None:
            return r2_score(y, predicted, sample_weight=sample_weight)
        root = np.sqrt(self.spread[0] if self.one_dimensional else self.spread)
        return 1.0 - mean_squared_error(
            y / root, predicted / root, sample_weight=sample_weight
        )
