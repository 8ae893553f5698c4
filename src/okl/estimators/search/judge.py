"""Scoring held-out predictions as a scorer would score a fitted estimator.

Scorers expect a fitted estimator. What the folds have are held-out scores of many
models, so a stand-in, whose X is those scores, faces the scorer for each of them.

The `score` of a stand-in has to be defined on every fold. Where targets are few a fold
may have no R^2, whose denominator is the variance of its targets, or one that says
little; a stand-in can take another denominator then, the same in all folds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import _safe_indexing

from okl.coding.tasks import Tasks
from okl.estimators.search.row_scores import RowScores
from okl.estimators.units import Units
from okl.problems import Observed
from okl.selection.folds import Folds

_WEIGHTS = "sample_weight"

# What corrects the scores of a model without another fit, a number or one for each
# output.
Calibration = float | np.ndarray
# From held-out scores to the best one.
Calibrator = Callable[[np.ndarray], Calibration]


class StandIn(BaseEstimator, ABC):
    """What a scorer takes for a fitted estimator: its X holds held-out scores.

    Attributes
    ----------
    calibration : str
        What its calibration is called.
    """

    calibration: ClassVar[str]

    @property
    @abstractmethod
    def calibrates(self) -> bool:
        """Whether that is to be the best one."""

    @abstractmethod
    def calibrator(
        self, observed: Observed, test: np.ndarray, units: Units, *, roughly: bool
    ) -> Calibrator:
        """Return what finds the best calibration of scores of some rows.

        Parameters
        ----------
        observed : Observed
            Of all rows.
        test : array of int
            The numbers of the rows that are held out.
        units : Units
            Of the targets.
        roughly : bool
            Whether they are the few rows of one fold, and digits do not matter.
        """

    @abstractmethod
    def at(self, calibration: Calibration) -> StandIn:
        """Return one that predicts at a calibration."""

    def calibrated(self, predictions: np.ndarray, tasks: Tasks | None) -> np.ndarray:
        """Return predictions in the units of the targets with what is added to them.

        With tasks they are those of each row's own.
        """
        return predictions

    def for_folds(
        self, y: np.ndarray, folds: Folds, weights: np.ndarray | None
    ) -> StandIn:
        """Return one whose ``score`` is defined on all folds of these targets."""
        return self

    def row_scores(self, y: np.ndarray, weights: np.ndarray | None) -> RowScores | None:
        """Return what ``score`` is the mean of, None where it is no mean over rows."""
        return None


def _is_known(scorer: Any) -> bool:
    """Tell whether a score is the default, or one of scikit-learn's or of ours.

    These fail only because of the targets that a fold has, a user's own for any reason.
    """
    score = getattr(scorer, "_score_func", type(scorer))
    # of a function that was compiled there may be none
    module = str(getattr(score, "__module__", None))
    return module.partition(".")[0] in ("sklearn", "okl")


@dataclass(frozen=True)
class Judge:
    """A scorer of held-out predictions; the larger its score the better.

    Attributes
    ----------
    scorer : callable
        As `sklearn.metrics.check_scoring` returns it.
    stand_in : StandIn
        Whose ``predict`` makes predictions of the scores that it is given as X.
    y : array (n_samples,) or (n_samples, n_outputs)
        The targets of all rows, as the user gave them.
    metadata : dict of str to array
        What the scorer is given besides, of all rows.
    tasks : Tasks or None
        The task of each row, for data in long form.
    units : Units
        What predictions were normalised by.
    by_row : RowScores or None
        What the scorer would return the mean of, where that is known.
    """

    scorer: Any
    stand_in: StandIn
    y: np.ndarray
    metadata: dict[str, Any]
    tasks: Tasks | None
    units: Units
    by_row: RowScores | None = None

    def __call__(self, predictions: np.ndarray, test: np.ndarray) -> float:
        """Score predictions of the rows of these numbers.

        They are (n_test, n_outputs), or (n_test, 1) in long form: those of each row's
        own task.
        """
        if self.by_row is not None:
            return float(np.mean(self.by_row(predictions, test)))
        tasks = None if self.tasks is None else self.tasks.restrict(test)
        predictions = self.units.predictions(predictions, tasks)
        predictions = self.stand_in.calibrated(predictions, tasks)
        metadata = {
            name: _safe_indexing(value, test) for name, value in self.metadata.items()
        }
        try:
            return self.scorer(self.stand_in, predictions, self.y[test], **metadata)
        except ValueError as error:
            if not _is_known(self.scorer):
                raise
            raise ValueError(
                f"The score of {len(test)} held-out row{'s' * (len(test) > 1)} cannot "
                f"be computed ({error}). Use fewer folds, folds that hold some of each "
                "class or output, or another scoring."
            ) from error

    def row_by_row(self, scoring: Any) -> Judge:
        """Return a judge who scores rows, where the mean of that is ``scoring``."""
        if scoring not in (None, "neg_log_loss") or set(self.metadata) - {_WEIGHTS}:
            return self
        by_row = self.stand_in.row_scores(self.y, self.metadata.get(_WEIGHTS))
        return replace(self, by_row=by_row)

    def suited_to(self, predictions: np.ndarray, test: np.ndarray) -> Judge:
        """Return this judge, as it judges all predictions of these rows alike."""
        return self

    def calibrator(
        self, observed: Observed, test: np.ndarray, *, roughly: bool = False
    ) -> Calibrator:
        """Return what finds the best calibration, see `StandIn.calibrator`."""
        return self.stand_in.calibrator(observed, test, self.units, roughly=roughly)

    def at(self, calibration: Calibration) -> Judge:
        """Return a judge of what is predicted at a calibration."""
        by_row = None if self.by_row is None else self.by_row.at(calibration)
        return replace(self, stand_in=self.stand_in.at(calibration), by_row=by_row)

    def n_likely(self, folds: Folds | None) -> float | None:
        """Return how many held-out rows the score is the mean log likelihood of.

        They count by their weights. None where it is something else, or of no folds.
        """
        if folds is None or self.by_row is None:
            return None
        return self.by_row.n_rows(np.concatenate([test for _, test in folds]))

    def of_folds(self, folds: Folds) -> Judge:
        """Return a judge who scores all of these folds alike."""
        weights = self.metadata.get(_WEIGHTS)
        stand_in = self.stand_in.for_folds(self.y, folds, weights)
        return replace(self, stand_in=stand_in)

    def one_of_each_class(self, test: np.ndarray) -> np.ndarray:
        """Return the number of a row of each class among these rows, none of others."""
        if not is_classifier(self.stand_in) or self.y.ndim > 1:
            return test[:0]
        return test[np.unique(self.y[test], return_index=True)[1]]

    def on_rows(self, rows: np.ndarray) -> Judge:
        """Return a judge for whom these rows are all there are."""
        return replace(
            self,
            y=self.y[rows],
            metadata={
                name: _safe_indexing(v, rows) for name, v in self.metadata.items()
            },
            tasks=None if self.tasks is None else self.tasks.restrict(rows),
            by_row=None if self.by_row is None else self.by_row.on_rows(rows),
        )
