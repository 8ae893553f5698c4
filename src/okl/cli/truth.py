"""The targets of rows, and scores of what was predicted of them.

Each output has a score: R^2 for a target or task of numbers (D^2 for the losses of
quantiles), the accuracy for a label or task of classes, and for each class the fraction
of its rows that were recognised. The score of all of them is the accuracy, or R^2, of
all rows where each row belongs to one output, and otherwise the mean over the outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from okl.cli.data import Data
from okl.estimators.score_of_numbers import ScoreOfNumbers
from okl.losses import Loss


@dataclass(frozen=True)
class Truth:
    """The targets of rows.

    Attributes
    ----------
    y : array (n_samples,) or (n_samples, n_targets)
        Classes; or numbers or labels, NaN where they were not observed, in one column
        where there are tasks.
    outputs : sequence of str
        The names of the outputs. Those of classes and tasks are the names in y.
    task : array (n_samples,) or None
        For tables in long form, the task of each row.
    measure : ScoreOfNumbers or None
        The score of numbers, None for classes and labels.
    one_class : bool
        Whether y is one column of classes.
    """

    y: np.ndarray
    outputs: Sequence[str]
    task: np.ndarray | None
    measure: ScoreOfNumbers | None
    one_class: bool

    @classmethod
    def of(
        cls,
        data: Data,
        ids: Mapping[str, np.ndarray],
        outputs: Sequence[str],
        loss: Loss,
    ) -> Truth:
        """Return the targets of a table, scored as those of a model with this loss."""
        numbers = data.task == "regression"
        one_class = data.single_classification
        return cls(
            np.asarray(data.y, dtype=None if one_class else np.float64),
            outputs,
            ids.get("task"),
            ScoreOfNumbers.of(loss) if numbers else None,
            one_class,
        )

    @property
    def row_has_one_output(self) -> bool:
        """Whether each row belongs to one output: its class, or its task."""
        return self.one_class or self.task is not None

    @property
    def in_one_unit(self) -> bool:
        """Whether the errors of outputs have one unit: those of answers, or tasks."""
        return self.measure is None or self.row_has_one_output

    @property
    def score_name(self) -> str:
        """The name of the scores of outputs."""
        if self.measure is not None:
            return self.measure.long_name
        of_classes = self.one_class and self.task is None
        return "rows recognised" if of_classes else "accuracy"

    @property
    def error_name(self) -> str:
        """The name of the errors."""
        if self.measure is None:
            return "the number of wrong answers"
        return f"the {self.measure.error_name}"

    def scores(self, predictions: Any) -> np.ndarray:
        """Return the scores (n_outputs,), in the order of the outputs' names.

        NaN for an output that was observed, or predicted, too rarely.
        """
        errors = self.errors(predictions)
        if self.measure is None:
            return 1 - column_means(errors)
        counts = (~np.isnan(errors)).sum(axis=0)
        if self.task is None:
            if counts.max() < 2:
                return np.full(len(self.outputs), np.nan)
            known = self._known(predictions)
            return np.asarray(self.measure(*known, multioutput="raw_values"))
        scores, names = np.full(len(self.outputs), np.nan), self.task.astype(str)
        y, found = self._known(predictions)
        for j in np.flatnonzero(counts > 1).tolist():
            own = names == str(self.outputs[j])
            scores[j] = self.measure(y[own], found[own])
        return scores

    def overall(self, predictions: Any) -> float:
        """Return the score of all outputs."""
        if self.row_has_one_output and self.measure is not None:
            return float(self.measure(*self._known(predictions)))
        if self.row_has_one_output:
            return 1 - mean_of_known(self.errors_of_rows(predictions))
        return mean_of_known(self.scores(predictions))

    def errors(self, predictions: Any) -> np.ndarray:
        """Return errors, or one for a wrong answer, of rows (n_samples, n_outputs).

        NaN where the output has no target, or no prediction. With classes, or tasks,
        each row belongs to one output only.
        """
        errors = self.errors_of_rows(predictions)
        if not self.row_has_one_output:
            return errors
        names = np.asarray(self.y if self.task is None else self.task).astype(str)
        own = names[:, None] == np.asarray(self.outputs, dtype=str)
        return np.where(own, errors.reshape(-1, 1), np.nan)

    def errors_of_rows(self, predictions: Any) -> np.ndarray:
        """Return the errors in the form of y, NaN where one is not known."""
        if self.one_class:
            known = predictions == predictions  # noqa: PLR0124  (not NaN)
            wrong = self.y.astype(str) != predictions.astype(str)
            return np.where(known, wrong * 1.0, np.nan)
        found = predictions.astype(np.float64)
        unknown = np.isnan(self.y) | np.isnan(found)
        errors = (self.y != found) * 1.0
        if self.measure is not None:
            errors = self.measure.errors(self.y, found)
        return np.where(unknown, np.nan, errors)

    def _known(self, predictions: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return targets, NaN where nothing is predicted, and the predictions."""
        found = predictions.astype(np.float64)
        unknown = np.isnan(found)
        return np.where(unknown, np.nan, self.y), np.where(unknown, 0.0, found)


def mean_of_known(values: np.ndarray) -> float:
    """Return the mean of what is not missing; NaN if nothing is there."""
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else np.nan


def column_means(values: np.ndarray) -> np.ndarray:
    """Return the mean of what is not missing in each column; NaN if nothing is."""
    there = ~np.isnan(values)
    counts = there.sum(axis=0)
    total = np.where(there, values, 0.0).sum(axis=0)
    return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)
