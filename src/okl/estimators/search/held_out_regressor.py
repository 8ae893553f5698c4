"""The stand-in for a fitted regressor that scorers of held-out rows are given."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from okl.coding.tasks import Tasks
from okl.estimators.quantile_shift import shifted
from okl.estimators.score_of_numbers import ScoreOfNumbers
from okl.estimators.search.judge import Calibration, Calibrator, StandIn
from okl.estimators.units import Units
from okl.losses import Loss
from okl.problems import Observed
from okl.selection.folds import Folds
from okl.selection.quantile_shift import quantile_shift

# A fold says little of an output if it has less than this part of its spread, in
# proportion to the output of which it has most.
_FAR_LESS = 0.2


class HeldOutRegressor(RegressorMixin, StandIn):
    """Stands for a fitted regressor in front of a scorer: X holds its predictions.

    Its calibration is the shift of each output, in the units of the targets.

    Parameters
    ----------
    one_dimensional : bool
        Whether y is.
    measure : ScoreOfNumbers
        The score of a model with the loss of the search.
    spread : array (n_outputs,) or None
        What errors of each output are measured by, None for the error of the best
        constant in the rows that are scored, as in R^2.
    shift : array (n_outputs,), default=0.0
        What is added to predictions.
    quantile : float or None
        The quantile whose shift is to be the best one; None to leave it as it is.
    """

    calibration: ClassVar[str] = "shift"

    def __init__(
        self,
        one_dimensional: bool,
        measure: ScoreOfNumbers,
        spread: np.ndarray | None = None,
        shift: Calibration = 0.0,
        quantile: float | None = None,
    ) -> None:
        self.one_dimensional = one_dimensional
        self.measure = measure
        self.spread = spread
        self.shift = shift
        self.quantile = quantile

    @classmethod
    def of(
        cls, y: np.ndarray, loss: Loss, shift: np.ndarray | None
    ) -> HeldOutRegressor:
        """Return that of targets and a loss, with a shift that is given or found."""
        one, measure = y.ndim == 1, ScoreOfNumbers.of(loss)
        if shift is not None:
            return cls(one, measure, shift=shift)
        return cls(one, measure, quantile=loss.predicted_quantile)

    @property
    def calibrates(self) -> bool:
        """Whether the shift is to be found."""
        return self.quantile is not None

    def calibrator(
        self, observed: Observed, test: np.ndarray, units: Units, *, roughly: bool
    ) -> Calibrator:
        """Return what finds the shift that a quantile of held-out errors is."""
        held_out, quantile = observed.restrict(test), self.quantile
        assert quantile is not None
        return lambda scores: (
            units.scale * quantile_shift(held_out, scores, quantile, units.constant)
        )

    def at(self, calibration: Calibration) -> HeldOutRegressor:
        """Return one whose predictions are moved by a shift."""
        moved = copy(self)
        moved.shift, moved.quantile = calibration, None
        return moved

    def calibrated(self, predictions: np.ndarray, tasks: Tasks | None) -> np.ndarray:
        """Add the shift."""
        return shifted(predictions, self.shift, tasks)

    def for_folds(
        self, y: np.ndarray, folds: Folds, weights: np.ndarray | None
    ) -> HeldOutRegressor:
        """Measure errors by a constant's in all rows, if that in a fold says little.

        It does where the fold has few targets of an output, or where a few gross errors
        among the targets of one of several outputs are in other folds: beside the small
        spread that is left, what they do to predictions would outweigh all others.

        Each held-out target then counts once: of an output that has few of them the
        mean error says little, too. An output that is constant is measured by the mean
        spread of the others.
        """
        targets, counts = y.reshape(len(y), -1), _counts(y, weights)
        values = np.where(counts > 0, targets, 0.0)
        tested = [np.sum(counts[test] > 0, axis=0) for _, test in folds]
        scored = [numbers[numbers > 1] for numbers in tested]
        spread = self.measure.spread(values, counts)
        enough = all(len(few) and few.min() >= self.measure.fewest for few in scored)
        if enough and not self._has_less(values, counts, folds, spread):
            return self
        spread[spread <= 0] = spread[spread > 0].mean() if spread.any() else 1.0
        measured = copy(self)
        measured.spread = spread
        return measured

    def _has_less(
        self, values: np.ndarray, counts: np.ndarray, folds: Folds, spread: np.ndarray
    ) -> bool:
        """Tell whether some fold has far less of the spread of one of its outputs."""
        for _, test in folds:
            scored = (np.sum(counts[test] > 0, axis=0) > 1) & (spread > 0)
            own = self.measure.spread(values[test], counts[test])
            parts = own[scored] / spread[scored]
            if len(parts) and parts.min() < _FAR_LESS * parts.max():
                return True
        return False

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return X, of one dimension if y is."""
        return X[:, 0] if self.one_dimensional else X

    def score(self, X: np.ndarray, y: Any, sample_weight: Any = None) -> float:
        """Return R^2, or D^2, or one minus the mean of the errors over the spread."""
        predicted = self.predict(X)
        if self.spread is None:
            return float(self.measure(y, predicted, sample_weight=sample_weight))
        errors = self.measure.mean_errors(y, predicted, sample_weight=sample_weight)
        numbers = _counts(np.asarray(y), sample_weight).sum(axis=0)
        there = numbers > 0
        measured = errors[there] / self.spread[there]
        return 1.0 - float(np.average(measured, weights=numbers[there]))


def _counts(y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return the weight of each target (n_samples, n_outputs), zero where missing."""
    given = np.ones((1, 1)) if weights is None else weights.reshape(len(y), -1)
    return np.where(np.isnan(y.reshape(len(y), -1)), 0.0, given)
