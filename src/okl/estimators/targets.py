"""Targets as they come in: names, and the arrays that problems take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from okl.coding.tasks import Tasks
from okl.estimators.units import Units
from okl.estimators.weights import checked_weights, combined
from okl.losses import Loss
from okl.problems import Observed


@dataclass(frozen=True)
class TrainingTargets:
    """Targets as a fit takes them, with the weights that were given.

    Attributes
    ----------
    observed : Observed
        What the problem is made of, with targets in ``units``; its weights hold those
        of rows, of entries and of classes.
    one_dimensional : bool
        Whether the model has one output without a dimension of its own.
    units : Units
        What maps a model of the observed targets to the units of the user.
    row_weights : array (n_samples,) or None
        Weights of rows in the scale of a kernel, on which those of classes do not act.
    score_weights : array (n_samples,), (n_samples, n_outputs or 1) or None
        Weights in held-out scores, as fit was given them.
    class_weights : array (n_samples,) or None
        Weights of the classes of the rows, which count in the default score too.
    shown_units : Units or None
        Units of the normalisation alone, where ``units`` hold alphas of outputs too.
    candidates : array of bool (n_samples, n_classes) or None
        Where a label may be a set of classes, which classes each row may have; these
        are equally likely in its targets.
    output_weights : array (n_outputs,) or None
        What the weights of each output were multiplied by for an alpha of its own.
    """

    observed: Observed
    one_dimensional: bool
    units: Units
    row_weights: np.ndarray | None = None
    score_weights: np.ndarray | None = None
    class_weights: np.ndarray | None = None
    shown_units: Units | None = None
    candidates: np.ndarray | None = None
    output_weights: np.ndarray | None = None

    def require_classes(self, estimator: Any) -> None:
        """Raise ValueError if a label is a set of classes."""
        if self.candidates is not None:
            raise ValueError(
                f"{type(estimator).__name__} takes labels that are leaves of the tree, "
                "and some are inner nodes. OutputKernelClassifier takes them; choose "
                "its parameters by scikit-learn's GridSearchCV."
            )

    def with_loss(self, loss: Loss) -> TrainingTargets:
        """Return the targets of another loss of the same kind."""
        return replace(self, observed=replace(self.observed, loss=loss))

    def restrict(self, rows: np.ndarray) -> TrainingTargets:
        """Return the targets of some rows."""
        return replace(
            self,
            observed=self.observed.restrict(rows),
            row_weights=None if self.row_weights is None else self.row_weights[rows],
            score_weights=None
            if self.score_weights is None
            else self.score_weights[rows],
            class_weights=None
            if self.class_weights is None
            else self.class_weights[rows],
        )


def observed_targets(
    y: np.ndarray,
    sample_weight: Any = None,
    tasks: Tasks | None = None,
    names: Sequence[Any] | np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return targets and weights, (n_samples, n_outputs) each.

    A missing target, NaN, becomes zero and has weight zero. Weights have one column
    where those of a row are equal, and are None where all are one. Names are those of
    the outputs, for messages.

    Raises
    ------
    ValueError
        If an output or task is nowhere observed, or the weights cannot be used.
    """
    targets = y[:, None] if y.ndim == 1 else y
    given = checked_weights(sample_weight, targets.shape)
    missing = np.isnan(targets)
    # a target that was never looked at may be anything
    nowhere = np.flatnonzero(missing.all(axis=0))

    labels = names if tasks is None else None

    def named(output: int) -> str:
        return f"{output}" if labels is None else f"{output}, {str(labels[output])!r}"

    if len(nowhere):
        raise ValueError(
            "Input y contains NaN in every row of "
            f"{len(nowhere)} of {targets.shape[1]} outputs, the first is number "
            f"{named(nowhere[0])}; leave such outputs out."
        )
    weights = combined(given, (~missing).astype(np.float64) if missing.any() else None)
    if weights is not None and tasks is not None:
        unweighted = np.flatnonzero(tasks.sums(weights) == 0)
        if len(unweighted):
            task = unweighted[0] if names is None else f"'{names[unweighted[0]]}'"
            raise ValueError(
                f"The task {task} has no observed target whose sample_weight is not "
                "zero; leave such tasks out."
            )
    elif weights is not None:
        unweighted = np.flatnonzero(~(weights > 0).any(axis=0))
        if len(unweighted):
            raise ValueError(
                f"The output number {named(unweighted[0])} has sample_weight zero "
                "wherever it was observed; leave such outputs out."
            )
    return np.where(missing, 0.0, targets) if missing.any() else targets, weights
