"""The stand-in for a fitted classifier that scorers of held-out rows are given."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin

from okl.estimators.label_coder import LabelCoder
from okl.estimators.probabilities import where_probable
from okl.estimators.search.judge import Calibration, Calibrator, StandIn
from okl.estimators.search.row_scores import RowScores
from okl.estimators.units import Units
from okl.losses import Loss
from okl.metrics import log_loss
from okl.metrics.missing import accuracy_score
from okl.problems import Observed
from okl.selection.one_sided import log_odds
from okl.selection.temperature import best_temperature, temperature_of_each

# How exactly the logarithm of the temperature of one fold is found.
_ROUGHLY = 1e-2


class HeldOutClassifier(ClassifierMixin, StandIn):
    """Stands for a fitted classifier in front of a scorer: X holds its scores.

    Its calibration is the temperature of its probabilities. Labels have one each; a
    fold that is judged alone has one for all, as its rows are few. A label whose rows
    are all on one side has 1.0: no row that is held out could say that its log odds are
    too sure.

    Parameters
    ----------
    coder : LabelCoder
        What makes labels of scores, with the temperature of their probabilities.
    loss : Loss
    tempered : bool, default=False
        Whether the temperature is to be the best one.
    """

    calibration: ClassVar[str] = "temperature"

    def __init__(self, coder: LabelCoder, loss: Loss, tempered: bool = False) -> None:
        self.coder = coder
        self.loss = loss
        self.tempered = tempered

    @property
    def calibrates(self) -> bool:
        """Whether the temperature is to be found."""
        return self.tempered

    def calibrator(
        self, observed: Observed, test: np.ndarray, units: Units, *, roughly: bool
    ) -> Calibrator:
        """Return what finds the likeliest temperature."""
        held_out = observed.restrict(test)
        if roughly:
            return lambda scores: best_temperature(held_out, scores, _ROUGHLY)
        if self.coder.kind != "multilabel":
            return lambda scores: best_temperature(held_out, scores)
        one_sided = ~np.isnan(log_odds(observed))
        return lambda scores: np.where(
            one_sided, 1.0, temperature_of_each(held_out, scores)
        )

    def at(self, calibration: Calibration) -> HeldOutClassifier:
        """Return one whose probabilities are at a temperature."""
        return HeldOutClassifier(self.coder.at(calibration), self.loss)

    @property
    def classes_(self) -> np.ndarray:
        """The classes, in the order of the probabilities."""
        return self.coder.classes

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return the scores of the classes."""
        return self.coder.decision(X[:, 0] if X.shape[1] == 1 else X)

    @where_probable
    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the probabilities of the classes."""
        return np.exp(self.coder.log_probabilities(X))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class of each row, or its labels."""
        return self.coder.labels(X)

    def score(self, X: np.ndarray, y: Any, sample_weight: Any = None) -> float:
        """Return minus the log loss, or the accuracy without probabilities."""
        if "probabilities" not in self.loss.capabilities:
            y, sample_weight = _by_row(y, sample_weight)
            return accuracy_score(y, self.predict(X), sample_weight=sample_weight)
        loss = log_loss(
            y,
            self.predict_proba(X),
            labels=self.classes_,
            sample_weight=sample_weight,
        )
        return -float(loss)

    def row_scores(self, y: np.ndarray, weights: np.ndarray | None) -> RowScores | None:
        """Return the log likelihood of each row of one of several classes."""
        if "probabilities" not in self.loss.capabilities or y.ndim > 1:
            return None
        return RowScores.of(self.coder, y, weights)


def _by_row(y: np.ndarray, weights: np.ndarray | None) -> Any:
    """Return labels and a weight for each row, for scores that know no others.

    Labels whose weight is zero were not observed; the weight of a row is the mean of
    the others.
    """
    if weights is None or weights.ndim == 1:
        return y, weights
    seen = weights > 0
    total, counted = weights.sum(axis=1), np.maximum(seen.sum(axis=1), 1)
    return np.where(seen, y, np.nan), total / counted
