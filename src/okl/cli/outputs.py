"""The held-out score of each output: a mean may hide one that is not predicted at all.

The model is fitted again to the training part of each fold, and all held-out
predictions are scored together: by R^2 for each target or task of numbers (D^2 for the
losses of quantiles), by accuracy for each label or task of classes, and for each class
by the fraction of its rows that were recognised.

The effect of relating the outputs is the change of the error of each output, relative
to that of independent outputs on the same rows: of the squared error, of that of a
quantile or of the number of wrong answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np

from okl.cli.data import Data
from okl.cli.errors import listing, shown
from okl.cli.groups import Groups
from okl.cli.layout import WIDTH, aligned
from okl.cli.search import Candidate, Outcome
from okl.cli.settings import label
from okl.estimators.score_of_numbers import ScoreOfNumbers

# The most outputs that the report lists; the standard errors, and the least change,
# that are clear.
_MOST_OUTPUTS, _CLEAR, _LEAST = 20, 3.0, 0.01


@dataclass(frozen=True)
class Change:
    """The relative difference of an error from another one.

    Attributes
    ----------
    relative : array (n_outputs,)
        The ratio of the mean errors, minus one; NaN where the other error is zero.
    error : array (n_outputs,)
        Standard error of that, with rows or groups taken as independent.
    over : str
        Whether rows or groups are taken as independent.
    """

    relative: np.ndarray
    error: np.ndarray
    over: str

    @classmethod
    def of(
        cls, errors: np.ndarray, others: np.ndarray, groups: Groups | None = None
    ) -> Change:
        """Compare the errors of rows (n_samples, n_outputs), NaN where one is missing.

        The standard error is that of a ratio of means, to first order [1]_.

        References
        ----------
        .. [1] Cochran, "Sampling techniques", Wiley, 1977, section 6.4.
        """
        both = ~np.isnan(errors) & ~np.isnan(others)
        n = both.sum(axis=0)
        sums = (np.where(both, e, 0.0).sum(axis=0) for e in (errors, others))
        with np.errstate(divide="ignore", invalid="ignore"):
            own, other = (total / n for total in sums)
            ratio = np.where(other > 0, own / other, np.nan)
            rest = np.where(both, errors - ratio * others, 0.0)
            parts, over = n, "rows"
            if groups is not None:
                rest, both = groups.sums(rest), groups.sums(both)
                parts, over = (both > 0).sum(axis=0), f"groups of {groups.name}"
            spread = (rest**2).sum(axis=0) * parts / np.maximum(parts - 1, 1)
            return cls(ratio - 1, np.sqrt(spread) / n / other, over)

    def of_output(self, j: int) -> str:
        """Return the change of an output as text."""
        if np.isnan(self.relative[j]):
            return "-"
        return f"{self.relative[j]:+.1%} ± {self.error[j]:.1%}"

    def clearly_worse(self) -> np.ndarray:
        """Return the numbers of outputs with clearly larger errors, largest first."""
        with np.errstate(invalid="ignore"):
            line = np.maximum(_CLEAR * self.error, _LEAST)
            worse = np.flatnonzero(self.relative > line)
        return worse[np.argsort(-self.relative[worse], kind="stable")]


@dataclass(frozen=True)
class ComparedOutputs:
    """Each output, predicted independently of the others and with relations.

    Attributes
    ----------
    outputs : sequence of str
        Names of the outputs.
    scores : dict of str to array (n_outputs,)
        Held-out scores by the name of the structure, identity first.
    change : Change or None
        The change of the error from identity to the other candidate, if there is one.
    score_name, error_name : str
        The names of the score and of the error.
    """

    outputs: Sequence[str]
    scores: Mapping[str, np.ndarray]
    change: Change | None
    score_name: str
    error_name: str

    @classmethod
    def of(
        cls,
        data: Data,
        outcome: Outcome,
        predictions: Mapping[Candidate, Any],
        outputs: Sequence[str],
    ) -> ComparedOutputs:
        """Score the predictions of identity, and of another candidate if any."""
        ids = outcome.ids
        measure = ScoreOfNumbers.of(outcome.search.loss_)
        how = data, ids, outputs, measure
        scores = {
            label(candidate.structure): scores_of_outputs(found, *how)
            for candidate, found in predictions.items()
        }
        errors = [errors_of_outputs(found, *how) for found in predictions.values()]
        change = None
        if len(errors) == 2:
            change = Change.of(errors[1], errors[0], data.groups)
        error_name = "the number of wrong answers"
        if data.task == "regression":
            error_name = f"the {measure.error_name}"
        name = name_of_scores(data, measure)
        return cls(outputs, scores, change, name, error_name)

    def lines(self, alphas: np.ndarray) -> list[str]:
        """List the outputs, or those whose scores differ most from identity or zero.

        Parameters
        ----------
        alphas : array (n_outputs,) or ()
            The alphas, shown if there is one for each output.
        """
        columns = list(self.scores.values())
        own = columns[-1]
        order = np.arange(len(own))
        difference = np.nan_to_num(own - columns[0])
        others = "which differ less"
        if not difference.any():
            others = "whose scores are nearer to zero"
            difference = np.nan_to_num(own)
        if len(own) > _MOST_OUTPUTS:
            size = np.abs(difference)
            order = np.sort(np.argsort(-size, kind="stable")[:_MOST_OUTPUTS])
        rows = [
            [
                "",
                *self.scores,
                *(["change of error"] if self.change else []),
                *(["alpha"] if alphas.ndim else []),
            ]
        ]
        for j in order.tolist():
            numbers = [values[j] for values in columns]
            rows.append(
                [
                    shown(self.outputs[j]),
                    *("-" if np.isnan(one) else f"{one:.4f}" for one in numbers),
                    *([self.change.of_output(j)] if self.change else []),
                    *([f"{alphas[j]:.3g}"] if alphas.ndim else []),
                ]
            )
        lines = aligned(rows)
        if len(own) > len(order):
            lines.append(f"and {len(own) - len(order)} more, {others}")
        if self.change:
            said = (
                f"The change is that of {self.error_name} against independent outputs "
                "(identity), each structure with its own best kernel and alpha; ± is "
                f"one standard error over the {self.change.over}."
            )
            lines += ["", *wrap(said, WIDTH - 2), *self._worse(self.change)]
        return lines

    def _worse(self, change: Change) -> list[str]:
        """Name the outputs that relations impair, if any: the mean may hide them."""
        worse = change.clearly_worse()
        if not len(worse):
            return []
        named = listing(
            (f"{self.outputs[j]} ({change.of_output(j)})" for j in worse), 6
        )
        said = (
            f"Clearly worse with relations, by {_CLEAR:.0f} standard errors and more: "
            f"{named}. Where these count, fit them by themselves."
        )
        return ["", *wrap(said, WIDTH - 2)]


def name_of_scores(data: Data, measure: ScoreOfNumbers) -> str:
    """Return the name of the scores of outputs."""
    if data.task == "regression":
        return measure.long_name
    of_classes = data.single_classification and data.ids is None
    return "rows recognised" if of_classes else "accuracy"


def scores_of_outputs(
    predictions: Any,
    data: Data,
    ids: Any,
    outputs: Sequence[str],
    measure: ScoreOfNumbers,
) -> np.ndarray:
    """Return the scores (n_outputs,), in the order of the outputs' names.

    NaN for an output that was observed, or predicted, too rarely. The names of classes
    and tasks are those in the data.
    """
    errors = errors_of_outputs(predictions, data, ids, outputs, measure)
    counts = (~np.isnan(errors)).sum(axis=0)
    if data.task == "classification":
        wrong = np.nansum(errors, axis=0) / np.maximum(counts, 1)
        return np.where(counts > 0, 1 - wrong, np.nan)
    if counts.max() < 2:
        return np.full(len(outputs), np.nan)
    y = np.asarray(data.y, dtype=np.float64)
    found = predictions.astype(np.float64)
    y = np.where(np.isnan(found), np.nan, y)
    options = {"task": ids.get("task"), "multioutput": "raw_values"}
    return np.asarray(measure(y, np.where(np.isnan(found), 0.0, found), **options))


def errors_of_outputs(
    predictions: Any,
    data: Data,
    ids: Any,
    outputs: Sequence[str],
    measure: ScoreOfNumbers,
) -> np.ndarray:
    """Return errors, or one for a wrong answer, of rows (n_samples, n_outputs).

    NaN where the output has no target, or no prediction. With classes, or tasks, each
    row belongs to one output only.
    """
    output_of_row = ids.get("task")
    if data.single_classification:
        labels = np.asarray(data.y).astype(str)
        known = predictions == predictions  # noqa: PLR0124  (not NaN)
        errors = np.where(known, labels != predictions.astype(str), np.nan)
        output_of_row = labels if output_of_row is None else output_of_row
    else:
        y = np.asarray(data.y, dtype=np.float64)
        found = predictions.astype(np.float64)
        unknown = np.isnan(y) | np.isnan(found)
        errors = (y != found) * 1.0
        if data.task == "regression":
            errors = measure.errors(y, found)
        errors = np.where(unknown, np.nan, errors)
    if output_of_row is None:
        return errors
    names = np.asarray(output_of_row).astype(str)
    own = names[:, None] == np.asarray(outputs, dtype=str)
    return np.where(own, errors.reshape(-1, 1).astype(np.float64), np.nan)
