"""The score of predicted numbers: how much of the error of a constant is explained.

That is R^2, of squared errors, for a loss whose predictions are means. Predictions that
are medians or other quantiles have D^2, the same of the pinball loss: a quantile far
from the mean has an R^2 below zero however good it is, and with outliers among the
targets R^2 says how well these are predicted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from okl.losses import Loss, Quantile
from okl.metrics import (
    d2_pinball_score,
    mean_pinball_loss,
    mean_squared_error,
    r2_score,
)


@dataclass(frozen=True)
class ScoreOfNumbers:
    """R^2, or D^2 of a quantile.

    Attributes
    ----------
    quantile : float or None
        The quantile that is predicted, None for the mean.
    """

    quantile: float | None = None

    @classmethod
    def of(cls, loss: Loss) -> ScoreOfNumbers:
        """Return the score of a model with this loss."""
        return cls(loss.scored_quantile)

    @property
    def long_name(self) -> str:
        """The name of the score, with the error whose part it is."""
        return "R^2" if self.quantile is None else f"D^2 ({self.error_name})"

    @property
    def error_name(self) -> str:
        """The name of the error whose part is explained."""
        if self.quantile is None:
            return "squared error"
        if self.quantile == 0.5:
            return "absolute error"
        return f"pinball loss of the quantile {self.quantile:g}"

    @property
    def constant(self) -> str:
        """The name of the constant that is compared with."""
        if self.quantile is None:
            return "mean"
        return "median" if self.quantile == 0.5 else f"quantile {self.quantile:g}"

    @property
    def fewest(self) -> float:
        """Targets of which the best constant still has an error that says something.

        One over the variance of fewer than six has no finite variance; quantiles far
        from the middle take as many more.
        """
        if self.quantile is None:
            return 6.0
        return 3.0 / min(self.quantile, 1.0 - self.quantile)

    def __call__(
        self, y: Any, predicted: Any, *, sample_weight: Any = None, **options: Any
    ) -> Any:
        """Score predictions as `okl.metrics.r2_score` does, with its options."""
        if self.quantile is None:
            return r2_score(y, predicted, sample_weight=sample_weight, **options)
        options = {"alpha": self.quantile, **options}
        return d2_pinball_score(y, predicted, sample_weight=sample_weight, **options)

    def mean_errors(
        self, y: Any, predicted: Any, *, sample_weight: Any = None
    ) -> np.ndarray:
        """Return the mean error of each output; NaN for one that was not observed."""
        options = {"sample_weight": sample_weight, "multioutput": "raw_values"}
        if self.quantile is None:
            found = mean_squared_error(y, predicted, **options)
        else:
            found = mean_pinball_loss(y, predicted, alpha=self.quantile, **options)
        return np.asarray(found)

    def errors(self, y: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """Return the error of each prediction; NaN where there is no target."""
        if self.quantile is None:
            return (y - predicted) ** 2
        return Quantile(self.quantile).entries(y, predicted)

    def spread(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the mean error of the best constant of each column of y.

        Parameters
        ----------
        y : array (n_samples, n_outputs)
        weights : array (n_samples, n_outputs)
            Zero where there is no target.
        """
        total = weights.sum(axis=0)
        total = np.where(total > 0, total, 1.0)
        if self.quantile is None:
            constant = (weights * y).sum(axis=0) / total
        else:
            constant = Quantile(self.quantile).best_intercept(y, 0.0 * y, weights)
        return (weights * self.errors(y, constant)).sum(axis=0) / total


R2 = ScoreOfNumbers()
