"""Classifiers of scikit-learn for several labels, some of them rare."""

from __future__ import annotations

from typing import Any

import numpy as np

# The fewest rows with a label, and without it, that a label is learned from: a
# classifier that holds out five folds needs one in each.
FEWEST = 5


class Frequencies:
    """The frequency of each label, half a row with it and one without it added."""

    def fit(self, X: Any, Y: np.ndarray) -> Frequencies:
        """Count rows with and without each label of Y (n_samples, n_labels)."""
        self.frequencies_ = (Y.sum(axis=0) + 0.5) / (len(Y) + 1)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the same probabilities for each row (n_samples, n_labels)."""
        return np.tile(self.frequencies_, (X.shape[0], 1))


class Learnable(Frequencies):
    """A classifier of the labels that rows tell of, frequencies of the others.

    Parameters
    ----------
    model : estimator
        Of several labels, not fitted.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, Y: np.ndarray) -> Learnable:
        """Fit the model to the labels that enough rows have, and enough do not."""
        super().fit(X, Y)
        on = Y.sum(axis=0)
        self.learned_ = np.minimum(on, len(Y) - on) >= FEWEST
        if np.any(self.learned_):
            self.model.fit(X, Y[:, self.learned_])
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each label (n_samples, n_labels)."""
        chances = super().predict_proba(X)
        if np.any(self.learned_):
            found = self.model.predict_proba(X)
            if isinstance(found, list):  # of each label those of both sides
                found = np.column_stack([both[:, 1] for both in found])
            chances[:, self.learned_] = found
        return chances
