"""The held-out score of each output: a mean may hide one that is not predicted at all.

The model is fitted again to the training part of each fold, and all held-out
predictions are scored together (`okl.cli.truth`), beside those of simple rivals
(`okl.cli.rivals`).

The effect of relating the outputs is the change of the error of each output, relative
to that of independent outputs on the same rows: of the squared error, of that of a
quantile or of the number of wrong answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np

from okl.cli.errors import listing, shown
from okl.cli.groups import Groups
from okl.cli.layout import WIDTH, aligned
from okl.cli.truth import Truth

# The most outputs that the report lists; the standard errors, and the least change,
# that are clear.
_MOST_OUTPUTS, _CLEAR, _FEW, _LEAST = 20, 3.0, 2.0, 0.01


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

    @classmethod
    def overall(
        cls,
        errors: np.ndarray,
        others: np.ndarray,
        groups: Groups | None,
        in_one_unit: bool,
    ) -> Change:
        """Compare the errors of all outputs of a row, each relative to its mean error.

        Errors in one unit are compared as they are.
        """
        scale = np.ones(others.shape[1])
        if not in_one_unit:
            scale = np.nanmean(others, axis=0)
            scale = np.where(scale > 0, scale, 1.0)
        neither = np.isnan(errors) | np.isnan(others)
        n = (~neither).sum(axis=1)
        rows = [np.where(neither, 0.0, e / scale).sum(axis=1) for e in (errors, others)]
        mean, other = (np.where(n, total / np.maximum(n, 1), np.nan) for total in rows)
        return cls.of(mean[:, None], other[:, None], groups)

    def is_clearly_less(self) -> bool:
        """Tell whether the first error is less, not by chance alone, and enough."""
        return bool(self.relative[0] < -max(_FEW * self.error[0], _LEAST))

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
    """Each output, predicted independently of the others, with relations, by rivals.

    Attributes
    ----------
    truth : Truth
        The targets.
    scores : dict of str to array (n_outputs,)
        Held-out scores by the name of the structure, identity first.
    rivals : dict of str to array (n_outputs,)
        Held-out scores of the rivals.
    overall : dict of str to float
        The score of all outputs, of structures and rivals.
    saved : str
        The name of the structure of the saved model.
    change : Change or None
        The change of the error from identity to the other structure, if there is one.
    to_ridge : Change or None
        The change of the error of all outputs from the saved model to ridge.
    """

    truth: Truth
    scores: Mapping[str, np.ndarray]
    rivals: Mapping[str, np.ndarray]
    overall: Mapping[str, float]
    saved: str
    change: Change | None
    to_ridge: Change | None

    @classmethod
    def of(
        cls,
        truth: Truth,
        predictions: Mapping[str, Any],
        rivals: Mapping[str, Any],
        saved: str,
        groups: Groups | None,
    ) -> ComparedOutputs:
        """Score the predictions of identity, of another structure if any, of rivals."""
        errors = [truth.errors(found) for found in predictions.values()]
        to_ridge = None
        if "ridge" in rivals:
            own, other = truth.errors(predictions[saved]), truth.errors(rivals["ridge"])
            to_ridge = Change.overall(other, own, groups, truth.in_one_unit)
        return cls(
            truth,
            {name: truth.scores(found) for name, found in predictions.items()},
            {name: truth.scores(found) for name, found in rivals.items()},
            {
                name: truth.overall(found)
                for name, found in (*predictions.items(), *rivals.items())
            },
            saved,
            Change.of(errors[1], errors[0], groups) if len(errors) == 2 else None,
            to_ridge,
        )

    def lines(self, alphas: np.ndarray) -> list[str]:
        """List the outputs, or those whose scores differ most from identity or zero.

        Parameters
        ----------
        alphas : array (n_outputs,) or ()
            The alphas, shown if there is one for each output.
        """
        order, others = self._shown()
        columns = [*self.scores.values(), *self.rivals.values()]
        rows = [
            [
                "",
                *self.scores,
                *self.rivals,
                *(["change of error"] if self.change else []),
                *(["alpha"] if alphas.ndim else []),
            ]
        ]
        for j in order.tolist():
            rows.append(
                [
                    shown(self.truth.outputs[j]),
                    *(_score(values[j]) for values in columns),
                    *([self.change.of_output(j)] if self.change else []),
                    *([f"{alphas[j]:.3g}"] if alphas.ndim else []),
                ]
            )
        if len(self.truth.outputs) > 1:
            what = "all rows" if self.truth.row_has_one_output else "mean"
            rows.append([what, *map(_score, self.overall.values())])
            rows[-1] += [""] * (len(rows[0]) - len(rows[-1]))
        lines = aligned(rows)
        left_out = len(self.truth.outputs) - len(order)
        if left_out:
            lines.append(f"and {left_out} more, {others}")
        for said in (
            self._explanation(),
            self._of_rivals(),
            self._at_best_a_constant(),
            self._worse(),
        ):
            lines += ["", *wrap(said, WIDTH - 2)] if said else []
        return lines

    def _shown(self) -> tuple[np.ndarray, str]:
        """Return the numbers of the outputs to list, and what the others are."""
        columns = list(self.scores.values())
        own = columns[-1]
        difference = np.nan_to_num(own - columns[0])
        others = "which differ less"
        if not difference.any():
            others = "whose scores are nearer to zero"
            difference = np.nan_to_num(own)
        if len(own) <= _MOST_OUTPUTS:
            return np.arange(len(own)), others
        order = np.argsort(-np.abs(difference), kind="stable")
        return np.sort(order[:_MOST_OUTPUTS]), others

    def _explanation(self) -> str:
        """Say how rows are scored, and what the change is."""
        said = "All held-out rows are scored together, not fold by fold as above."
        if self.change is None:
            return said
        return (
            f"{said} The change is that of {self.truth.error_name} against independent "
            "outputs (identity), each structure with its own best kernel and alpha; ± "
            f"is one standard error over the {self.change.over}."
        )

    def _of_rivals(self) -> str:
        """Say what the rivals are, and whether ridge is better than the saved model."""
        said = []
        if self.to_ridge is not None:
            said.append("ridge is linear in the columns, an alpha for each output.")
            if self.to_ridge.is_clearly_less():
                said.append(
                    "It predicts better than the saved model, with "
                    f"{self.to_ridge.of_output(0)} of {self.truth.error_name}: "
                    "--kernel linear fits models that are linear as well."
                )
        if self.truth.one_class:
            (common, count), *_ = Counter(self.truth.y.tolist()).most_common(1)
            share = count / len(self.truth.y)
            said.append(
                f"The most frequent class, {shown(common)}, is that of {share:.4f} of "
                "the rows."
            )
        if "most frequent" in self.rivals:
            said.append("most frequent is the commoner answer of each label.")
        return " ".join(said)

    def _at_best_a_constant(self) -> str:
        """Name the outputs of numbers that are predicted no better than a constant."""
        own, measure = self.scores[self.saved], self.truth.measure
        if measure is None:
            return ""
        poor = np.flatnonzero(own <= 0)
        n_known = int(np.isfinite(own).sum())
        if not len(poor):
            return ""
        which = "each output"
        if len(poor) < n_known:
            which = listing((self.truth.outputs[j] for j in poor.tolist()), 6)
        return (
            f"The saved model has no score above zero for {which}: the "
            f"{measure.constant} of the targets is as good a prediction of held-out "
            "rows."
        )

    def _worse(self) -> str:
        """Name the outputs that relations impair, if any: the mean may hide them."""
        if self.change is None or not len(worse := self.change.clearly_worse()):
            return ""
        named = listing(
            (f"{self.truth.outputs[j]} ({self.change.of_output(j)})" for j in worse), 6
        )
        return (
            f"Clearly worse with relations, by {_CLEAR:.0f} standard errors and more: "
            f"{named}. Where these count, fit them by themselves."
        )


def _score(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.4f}"
