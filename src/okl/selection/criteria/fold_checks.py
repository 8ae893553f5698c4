"""Whether folds can be fitted and judged, before any fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from okl.problems import Observed
from okl.selection.folds import Folds, refuse_empty

# What outputs, or classes, are called; None for their numbers.
Names = Sequence[Any] | np.ndarray | None


def check_folds(
    observed: Observed,
    folds: Folds,
    *,
    fit_intercept: bool,
    names: Names = None,
) -> None:
    """Raise ValueError if a fold cannot be fitted, or has nothing to judge."""
    refuse_empty(folds, observed)
    # the intercept of a class without rows is minus infinity
    classes = "probabilities" in observed.loss.capabilities and fit_intercept
    always = observed.one_sided()[0] if classes else ()
    for number, (train, _) in enumerate(folds):
        training = observed.restrict(train)
        check_outputs(number, training.unobserved(), names)
        if not classes or training.forbids_intercept:
            continue  # that fold is fitted without an intercept
        one_sided, highest = training.one_sided()
        if len(one_sided):
            output = int(one_sided[0])
            which, name = "no" if highest[output] <= 0 else "only", output
            if len(highest) == 1:  # one column for two classes
                which, name = "no", 1 if highest[0] <= 0 else 0
            called = f"{name}, in the order of the classes"
            if names is not None and len(names) >= 2:
                called = str(names[name])
            if output in always:
                raise ValueError(
                    f"All rows, or none, are of class {called}, so that it cannot be "
                    "learned. Leave it out, or pass fit_intercept=False."
                )
            raise ValueError(
                f"Fold {number} has {which} training rows of class {called}. Use "
                "stratified folds, fewer of them, or leave out rare classes; or pass "
                "fit_intercept=False, with which a class without rows does not have "
                "probability zero, and is predicted by related classes if there is a "
                "tree."
            )


def check_outputs(number: int, unobserved: np.ndarray, names: Names) -> None:
    """Raise ValueError if there are outputs that a fold does not train."""
    if len(unobserved):
        output = unobserved[0] if names is None else names[unobserved[0]]
        raise ValueError(
            f"Fold {number} has no training row with a target of output {output}. Use "
            "more folds, or folds that leave some targets of each output to train on."
        )
