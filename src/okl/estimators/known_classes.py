"""What a structure knows of outputs by their names: classes, and their order."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from okl.estimators.base import FIT_DEPTH, OutputKernelModel
from okl.problems import Observed
from okl.structures import Structure


def classes_of(
    structures: Sequence[Structure], labels: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray]:
    """Return all classes, None if no structure knows them, and labels by their names.

    Raises
    ------
    ValueError
        For a label that is none of the classes, or structures that know others.
    """
    found = [structure.classes_of(labels) for structure in structures]
    known = [both for both in found if both is not None]
    if not known:
        return None, labels
    classes, named = known[0]
    if any(not np.array_equal(others, classes) for others, _ in known[1:]):
        raise ValueError(
            "The structures know different classes; those of one search have the same "
            "leaves."
        )
    return classes, named


def warn_of_unseen(
    classes: np.ndarray,
    labels: np.ndarray,
    row_weights: np.ndarray | None,
    candidates: np.ndarray | None,
) -> None:
    """Warn of classes without rows, for which there is no intercept.

    Rows count where their weights are positive. Where there are candidates, of bool
    (n_samples, n_classes), these are what labels may be.
    """
    counted = slice(None) if row_weights is None else row_weights > 0
    seen = labels[counted]
    if candidates is not None:
        seen = classes[candidates[counted].any(axis=0)]
    unseen = np.setdiff1d(classes, seen)
    more = f" and {len(unseen) - 1} more" if len(unseen) > 1 else ""
    warnings.warn(
        f"No rows of the class {unseen[0]}{more}: no intercept is fitted, with which "
        "the probability of such classes would be zero, and their relatives speak for "
        "them. A constant in the kernel is an intercept that relatives share. With "
        "fit_intercept=False there is no warning.",
        UserWarning,
        stacklevel=FIT_DEPTH + 1,
    )


def structures_for(model: OutputKernelModel, observed: Observed) -> list[Structure]:
    """Return the structures of a model for its targets, checked.

    The outputs have their names: `_enter` has set them.
    """
    given, names = model._given_structures(), model._names_of_outputs
    structures = [structure.for_outputs(names) for structure in given]
    for structure in structures:
        structure.validate(observed.n_outputs)
    return structures
