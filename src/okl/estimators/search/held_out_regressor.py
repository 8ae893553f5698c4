"""The stand-in for a fitted regressor that scorers of held-out rows are given."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from okl.estimators.score_of_numbers import ScoreOfNumbers
from okl.estimators.search.judge import StandIn
from okl.selection.folds import Folds


class HeldOutRegressor(RegressorMixin, StandIn):
    """Stands for a fitted regressor in front of a scorer: X holds its predictions.

    Parameters
    ----------
    one_dimensional : bool
        Whether y is.
    measure : ScoreOfNumbers
        The score of a model with the loss of the search.
    spread : array (n_outputs,) or None
        What errors of each output are measured by, None for the error of the best
        constant in the rows that are scored, as in R^2.
    """

    def __init__(
        self,
        one_dimensional: bool,
        measure: ScoreOfNumbers,
        spread: np.ndarray | None = None,
    ) -> None:
        self.one_dimensional = one_dimensional
        self.measure = measure
        self.spread = spread

    def for_folds(
        self, y: np.ndarray, folds: Folds, weights: np.ndarray | None
    ) -> HeldOutRegressor:
        """Measure errors by a constant's in all rows, if that in a fold says little.

        An output that is constant is measured by the mean spread of the others.
        """
        targets = y.reshape(len(y), -1)
        given = np.ones((1, 1)) if weights is None else weights.reshape(len(y), -1)
        counts = np.where(np.isnan(targets), 0.0, given)
        values = np.where(counts > 0, targets, 0.0)
        tested = [np.sum(counts[test] > 0, axis=0) for _, test in folds]
        scored = [numbers[numbers > 1] for numbers in tested]
        if all(len(few) and few.min() >= self.measure.fewest for few in scored):
            return self
        spread = self.measure.spread(values, counts)
        spread[spread <= 0] = spread[spread > 0].mean() if spread.any() else 1.0
        return HeldOutRegressor(self.one_dimensional, self.measure, spread)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return X, of one dimension if y is."""
        return X[:, 0] if self.one_dimensional else X

    def score(self, X: np.ndarray, y: Any, sample_weight: Any = None) -> float:
        """Return R^2, or D^2, or one minus the mean error over the spread."""
        predicted = self.predict(X)
        if self.spread is None:
            return float(self.measure(y, predicted, sample_weight=sample_weight))
        errors = self.measure.mean_errors(y, predicted, sample_weight=sample_weight)
        return 1.0 - float(np.nanmean(errors / self.spread))
