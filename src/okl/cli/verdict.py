"""Did learning the relations pay? The answer that the held-out scores allow.

A learned structure is compared with identity fold by fold: both saw the same rows, so
the difference varies less than the scores. Its standard error takes the folds for
independent, which they are not quite, since they share training rows. Only a
difference beyond two standard errors is called one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from okl.cli.search import Candidate, Outcome
from okl.cli.settings import label


@dataclass(frozen=True)
class Estimate:
    """A mean over folds and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: np.ndarray) -> Estimate:
        """Estimate the mean of the scores of folds."""
        return cls(
            float(np.mean(values)), float(np.std(values, ddof=1) / len(values) ** 0.5)
        )


def gain(candidate: Candidate, baseline: Candidate) -> Estimate:
    """Return what a candidate scores more than identity, fold by fold."""
    return Estimate.of(candidate.scores - baseline.scores)


def verdict(outcome: Outcome, n_outputs: int) -> list[str]:
    """Say in words whether learning the relations paid, a line per structure."""
    learned = [c for c in outcome.candidates if c is not outcome.baseline]
    if n_outputs == 1:
        return ["There is one output, so there are no relations to learn."]
    if not learned:
        return [
            "Only identity was asked for, so no relations were learned; "
            "--structure frobenius or low_rank would learn them."
        ]
    answers = [_answer(candidate, outcome.baseline) for candidate in learned]
    answers.append(
        "Two standard errors are a rough line: the folds share training rows."
    )
    if outcome.baseline.score > outcome.chosen.score:
        answers.append(
            "The best mean score is that of identity; the saved model is the best of "
            "the structures asked for. To save independent outputs: "
            "--structure identity."
        )
    return answers


def _answer(candidate: Candidate, baseline: Candidate) -> str:
    difference = gain(candidate, baseline)
    change = f"{difference.mean:+.4f} ± {difference.error:.4f}"
    if difference.mean > 2 * difference.error:
        answer, comparison = "yes", "more than two standard errors above"
    elif difference.mean < -2 * difference.error:
        answer, comparison = "no", "more than two standard errors below"
    else:
        answer, comparison = "not shown", "within two standard errors of"
    return (
        f"{label(candidate.structure)}: {answer}. The score is {comparison} that of "
        f"independent outputs (identity): {change}."
    )
