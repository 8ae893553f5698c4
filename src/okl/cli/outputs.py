"""The held-out score of each output: a mean may hide one that is not predicted at all.

The model is fitted again to the training part of each fold, and all held-out
predictions are scored together (`okl.cli.truth`), beside those of simple rivals
(`okl.cli.rivals`).

The effect of relating the outputs is the change of the error of each output
(`okl.cli.change`), relative to that of independent outputs on the same rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np

from okl.cli.change import CLEAR, Change
from okl.cli.errors import listing, shown
from okl.cli.groups import Groups
from okl.cli.layout import WIDTH, aligned
from okl.cli.truth import Truth, mean_of_known

# The most outputs that the report lists.
_MOST_OUTPUTS = 20


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
    poor : array of bool (n_outputs,)
        Whether the constant of the training rows is as good for an output of numbers.
    in_groups : bool
        Whether rows are held out in groups.
    """

    truth: Truth
    scores: Mapping[str, np.ndarray]
    rivals: Mapping[str, np.ndarray]
    overall: Mapping[str, float]
    saved: str
    change: Change | None
    to_ridge: Change | None
    poor: np.ndarray
    in_groups: bool = False

    @classmethod
    def of(
        cls,
        truth: Truth,
        predictions: Mapping[str, Any],
        rivals: Mapping[str, Any],
        constants: np.ndarray | None,
        saved: str,
        groups: Groups | None,
    ) -> ComparedOutputs:
        """Score the predictions of identity, of another structure if any, of rivals.

        Constants are those of the training rows, for numbers.
        """
        found = _on_the_same_rows({**predictions, **rivals}, predictions)
        scores = {name: truth.scores(one) for name, one in found.items()}
        known = np.isfinite(list(scores.values())).all(axis=0)
        errors = [truth.errors(found[name]) for name in predictions]
        to_ridge = None
        if "ridge" in rivals:
            own, other = truth.errors(found[saved]), truth.errors(found["ridge"])
            to_ridge = Change.overall(other, own, groups, truth.in_one_unit)
        return cls(
            truth,
            {name: scores[name] for name in predictions},
            {name: scores[name] for name in rivals},
            {
                name: truth.overall(one)
                if truth.row_has_one_output
                else mean_of_known(scores[name][known])
                for name, one in found.items()
            },
            saved,
            Change.of(errors[1], errors[0], groups) if len(errors) == 2 else None,
            to_ridge,
            cls._poor(truth, found[saved], constants),
            groups is not None,
        )

    @staticmethod
    def _poor(truth: Truth, own: Any, constants: np.ndarray | None) -> np.ndarray:
        if constants is None:
            return np.zeros(len(truth.outputs), dtype=bool)
        change = Change.of(truth.errors(own), truth.errors(constants))
        with np.errstate(invalid="ignore"):
            return np.asarray(change.relative >= 0)

    def lines(self, alphas: np.ndarray) -> list[str]:
        """List the outputs, or those whose scores differ most from identity or zero.

        Parameters
        ----------
        alphas : array (n_outputs,) or ()
            The alphas, shown if there is one for each output.
        """
        order, others = self._shown()
        # two classes have one output
        shows_alphas = alphas.shape == (len(self.truth.outputs),)
        columns = [*self.scores.values(), *self.rivals.values()]
        rows = [
            [
                "",
                *self.scores,
                *self.rivals,
                *(["change of error"] if self.change else []),
                *(["alpha"] if shows_alphas else []),
            ]
        ]
        for j in order.tolist():
            rows.append(
                [
                    shown(self.truth.outputs[j]),
                    *(_score(values[j]) for values in columns),
                    *([self.change.of_output(j)] if self.change else []),
                    *([f"{alphas[j]:.3g}"] if shows_alphas else []),
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
            said.append("ridge is linear in the columns, with alphas of its own.")
            if self.to_ridge.is_clearly_less():
                said.append(
                    "It predicts better than the saved model, with "
                    f"{self.to_ridge.of_output(0)} of {self.truth.error_name}"
                    f"{self._advice()}."
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

    def _advice(self) -> str:
        """Say how to fit models like ridge, where that is possible."""
        if self.truth.task is not None:
            return ""
        own = "" if self.truth.one_class or self.in_groups else " --alpha-per-output"
        return f"; --kernel linear{own} fits models that are linear as well"

    def _at_best_a_constant(self) -> str:
        """Name the outputs of numbers that are predicted no better than a constant."""
        poor, measure = np.flatnonzero(self.poor).tolist(), self.truth.measure
        if measure is None or not poor:
            return ""
        n_known = int(np.isfinite(self.scores[self.saved]).sum())
        which = "each output"
        if len(poor) < n_known:
            which = listing((self.truth.outputs[j] for j in poor), 6)
        return (
            f"The {measure.constant} of the training rows predicts {which} as well as "
            "the saved model does."
        )

    def _worse(self) -> str:
        """Name the outputs that relations impair, if any: the mean may hide them."""
        if self.change is None or not len(worse := self.change.clearly_worse()):
            return ""
        named = listing(
            (f"{self.truth.outputs[j]} ({self.change.of_output(j)})" for j in worse), 6
        )
        return (
            f"Clearly worse with relations, by {CLEAR:.0f} standard errors and more: "
            f"{named}. Where these count, fit them by themselves."
        )


def _score(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.4f}"


def _on_the_same_rows(
    predictions: Mapping[str, Any], needed: Mapping[str, Any]
) -> dict[str, Any]:
    """Return predictions, NaN where one of the needed ones is missing."""
    missing = [one != one for one in needed.values()]  # noqa: PLR0124  (NaN)
    unknown = np.any(missing, axis=0).astype(bool)
    return {
        name: np.where(unknown, np.nan, one.reshape(unknown.shape))
        for name, one in predictions.items()
    }
