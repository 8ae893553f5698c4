"""The log likelihood of each row, where the score of a search is their mean.

A search scores hundreds of predictions, and a race compares them row by row: with few
rows the checks of a scorer cost more than the fits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from okl.estimators.label_coder import LabelCoder, Temperature

# Probabilities are clipped as in scikit-learn's log_loss.
_TINY = float(np.finfo(float).eps)
_LEAST, _MOST = float(np.log(_TINY)), float(np.log1p(-_TINY))


@dataclass(frozen=True)
class RowScores:
    """The logarithms of the probabilities of the classes that rows have.

    Attributes
    ----------
    coder : LabelCoder
        Of one class a row.
    numbers : array of int (n_samples,)
        The class of each row.
    weights : array (n_samples,) or None
        Of the rows in the score.
    """

    coder: LabelCoder
    numbers: np.ndarray
    weights: np.ndarray | None

    @classmethod
    def of(
        cls, coder: LabelCoder, y: np.ndarray, weights: np.ndarray | None
    ) -> RowScores | None:
        """Return the scores for labels y (n_samples,), None if a label is no class.

        A row without weight may have any label.
        """
        numbers = coder.numbers(y)
        known = coder.classes[numbers] == y
        if weights is not None:
            known |= weights == 0
        return cls(coder, numbers, weights) if np.all(known) else None

    def at(self, temperature: Temperature) -> RowScores:
        """Return the scores of the probabilities at a temperature."""
        return replace(self, coder=self.coder.at(temperature))

    def on_rows(self, rows: np.ndarray) -> RowScores:
        """Return the scores of some rows, as if there were no others."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, numbers=self.numbers[rows], weights=weights)

    def n_rows(self, rows: np.ndarray) -> float:
        """Return how many of these rows there are, each once and by its weight."""
        distinct = np.unique(rows)
        if self.weights is None:
            return float(len(distinct))
        return float(self.weights[distinct].sum())

    def __call__(self, predictions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return numbers whose mean is the score, one for each row that counts.

        Parameters
        ----------
        predictions : array (n_rows, n_outputs)
        rows : array of int (n_rows,)
            Which rows these are of.
        """
        logs = self.coder.log_probabilities(predictions)
        scores = np.clip(logs[np.arange(len(rows)), self.numbers[rows]], _LEAST, _MOST)
        if self.weights is None:
            return scores
        weights = self.weights[rows]
        counts = weights > 0
        scores, weights = scores[counts], weights[counts]
        if not len(weights):
            return np.array([np.nan])
        return scores * (weights / np.mean(weights))
