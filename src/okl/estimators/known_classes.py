"""What a structure knows of outputs by their names: classes, and their order."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from okl.estimators.base import FIT_DEPTH, OutputKernelModel
from okl.estimators.partial_labels import PartialLabels
from okl.losses import Loss
from okl.problems import Observed
from okl.structures import Structure
from okl.trees.names import listed


def known_labels(
    structures: Sequence[Structure], labels: np.ndarray, loss: Loss, class_weight: Any
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Return labels of one class a row, and what structures know of them.

    Returns
    -------
    labels : array (n_samples,)
        Named as the classes are; for an inner node of a tree a class below it.
    classes : array (n_classes,) or None
        All classes, those without rows among them; None if no structure knows them.
    candidates : array of bool (n_samples, n_classes) or None
        Where a label is an inner node, which classes each row may have.

    Raises
    ------
    ValueError
        For a label that is none of the classes, structures that know others, and inner
        nodes with a loss, or weights, of single classes.
    """
    partial, candidates = PartialLabels.of(structures, labels), None
    if partial is not None:
        partial.check(loss, class_weight)
        labels, candidates = partial.stand_ins, partial.candidates
    classes, labels = _classes_of(structures, labels)
    return labels, classes, candidates


def _classes_of(
    structures: Sequence[Structure], labels: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray]:
    """Return all classes, None if no structure knows them, and labels named so."""
    found = [structure.classes_of(labels) for structure in structures]
    known = [both for both in found if both is not None]
    if not known:
        return None, labels
    classes, named = known[0]
    if any(not np.array_equal(others, classes) for others, _ in known[1:]):
        raise ValueError(
            "The trees of the structures have different classes; all structures of a "
            "search must have the same leaves."
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
        f"No rows of the class {unseen[0]}{more}: the model is fitted without an "
        "intercept, which would make the probability of such classes zero; related "
        "classes predict them instead. A constant in the kernel acts as an intercept "
        "that related classes share. Pass fit_intercept=False to silence this warning.",
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
        _warn_of_no_leaf(structure, names)
    return structures


def _warn_of_no_leaf(structure: Structure, names: np.ndarray | None) -> None:
    """Warn of outputs in a tree none of which has the name of a leaf.

    Names that are the numbers from zero do not count: a data frame without names has
    these.
    """
    tree = structure.class_tree
    if tree is None or names is None or tree.node_names.known(names).any():
        return
    if [str(name) for name in names] == [str(i) for i in range(len(names))]:
        return
    warnings.warn(
        f"No output has the name of a leaf of the tree: outputs are {listed(names)}, "
        f"and leaves {listed(tree.classes_)}. The outputs are assigned to the leaves "
        "in this order (that of classes_ of the tree). Rename the columns of Y after "
        "the leaves, or pass an array if their order is right.",
        UserWarning,
        stacklevel=FIT_DEPTH + 2,
    )
