"""Whether learning the relations improved predictions, by the held-out scores.

A learned structure is compared with identity fold by fold, each with its own best
kernel and alpha: both have the same rows, so that the difference varies less than the
scores. A difference counts if it is larger than two standard errors, and larger than a
hundredth of what identity leaves to explain: with many folds even a useless effect
would be significant. The standard error takes folds as independent; they are not quite,
as they share training rows.

The model to keep is the best of the structures that improved predictions, or
independent outputs if none did.

The scores are those of predictions from inputs alone. Relations are worth more where
other outputs of a row are known. A fit to the same table cannot show that; the verdict
mentions it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from sklearn.base import is_regressor

from okl.cli.search import Candidate, Outcome
from okl.cli.settings import label

Answer = Literal["yes", "no", "not shown"]
# The smallest effect, relative to what identity leaves to explain.
_LEAST = 0.01


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
    """Return the difference of the scores of a candidate and identity, by folds."""
    return Estimate.of(candidate.scores - baseline.scores)


def by_likelihood(outcome: Outcome) -> bool:
    """Tell whether the scores are log likelihoods, as for losses with probabilities."""
    return outcome.search.scoring is None and hasattr(outcome.search, "predict_proba")


def left_to_explain(outcome: Outcome) -> float:
    """Return how far the score of identity is below the best possible one.

    The best possible score is one for fractions such as R^2 and the accuracy, and zero
    for log likelihoods and negative errors.
    """
    scoring = outcome.search.scoring
    negative = isinstance(scoring, str) and scoring.startswith("neg_")
    negative = negative or by_likelihood(outcome)
    return max((0.0 if negative else 1.0) - outcome.baseline.score, 0.0)


def answer(candidate: Candidate, outcome: Outcome) -> Answer:
    """Say whether a structure predicts better than independent outputs."""
    difference = gain(candidate, outcome.baseline)
    line = max(2 * difference.error, _LEAST * left_to_explain(outcome))
    if difference.mean > line:
        return "yes"
    return "no" if difference.mean < -line else "not shown"


def to_keep(outcome: Outcome) -> Candidate:
    """Return the best structure that improved predictions, identity if none did.

    A single output has no relations. If there are classes without rows, which identity
    cannot predict, it is the best structure that can.
    """
    if knows_more(outcome):
        return max(knows_more(outcome), key=lambda c: c.score)
    if outcome.n_outputs == 1:
        return outcome.baseline
    paid = [c for c in related(outcome) if answer(c, outcome) == "yes"]
    return max(paid, key=lambda c: c.score, default=outcome.baseline)


def knows_more(outcome: Outcome) -> list[Candidate]:
    """Return the candidates that predict classes without rows; identity does not."""
    known = _n_classes(outcome.baseline)
    return [c for c in related(outcome) if _n_classes(c) > known]


def _n_classes(candidate: Candidate) -> int:
    return np.size(getattr(candidate.model, "classes_", ()))


def related(outcome: Outcome) -> list[Candidate]:
    """Return the candidates that relate outputs."""
    return [c for c in outcome.candidates if c is not outcome.baseline]


def to_compare(outcome: Outcome) -> Candidate:
    """Return the candidate that is compared with identity, output by output.

    That is the saved model or, if that is identity, the best one that relates outputs:
    relations may improve some outputs and impair others.
    """
    kept = to_keep(outcome)
    if kept is not outcome.baseline or outcome.n_outputs == 1:
        return kept
    return max(related(outcome), key=lambda c: c.score, default=kept)


def verdict(outcome: Outcome, n_outputs: int) -> list[str]:
    """Say in words whether learning the relations paid, a line per structure."""
    learned = related(outcome)
    if n_outputs == 1:
        return ["There is one output, so there are no relations to learn."]
    if not learned:
        return [
            "Only identity was asked for, so no relations were learned; "
            "--structure frobenius or low_rank would learn them."
        ]
    least = _LEAST * left_to_explain(outcome)
    answers = [_sentence(candidate, outcome) for candidate in learned]
    answers.append(
        "A difference counts if it is above two standard errors (a rough criterion: "
        f"the folds share training rows) and above {least:.2g}, a hundredth of what "
        "independent outputs leave unexplained."
    )
    kept = label(to_keep(outcome).structure)
    if knows_more(outcome):
        answers.append(
            f"The saved model is that of {kept}: independent outputs cannot predict "
            "the classes without rows."
        )
    elif to_keep(outcome) is outcome.baseline:
        answers.append(
            f"The saved model has independent outputs ({kept}), which no structure was "
            "shown to improve on."
        )
    else:
        paid = sum(answer(one, outcome) == "yes" for one in learned)
        best = ", the best of those that paid" if paid > 1 else ", which paid"
        answers.append(f"The saved model is that of {kept}{best}.")
    if is_regressor(outcome.search) and not outcome.ids:
        answers.append(_OTHERS_KNOWN)
    return answers


_OTHERS_KNOWN = (
    "These results are for predictions from the inputs alone. Where other outputs of "
    "the same row are known, they usually tell more, whatever the structure: okl "
    "impute uses them."
)


_COMPARISONS: dict[Answer, str] = {
    "yes": "is above",
    "no": "is below",
    "not shown": "does not differ enough from",
}


def _sentence(candidate: Candidate, outcome: Outcome) -> str:
    said = answer(candidate, outcome)
    change = with_error(gain(candidate, outcome.baseline), signed=True)
    return (
        f"{label(candidate.structure)}: {said}. The score {_COMPARISONS[said]} that of "
        f"independent outputs (identity): {change}."
    )


def with_error(estimate: Estimate, *, signed: bool = False) -> str:
    """Return a mean and its standard error as text, with enough digits for the error.

    These are four digits after the point, more if the error is small.
    """
    digits = 4
    if 0 < estimate.error < 1e-3:
        digits = min(1 - int(np.floor(np.log10(estimate.error))), 10)
    sign = "+" if signed else ""
    return f"{estimate.mean:{sign}.{digits}f} ± {estimate.error:.{digits}f}"
