"""Labels that are inner nodes of a tree: the class is known to be below it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from okl.estimators.base import FIT_DEPTH
from okl.losses import Loss
from okl.structures import Structure
from okl.trees import ClassTree, check_class_tree


@dataclass(frozen=True)
class PartialLabels:
    """Labels of which some are inner nodes.

    Attributes
    ----------
    tree : ClassTree
        With classes called as the labels that are leaves.
    nodes : array of int (n_samples,)
        The node of each label.
    """

    tree: ClassTree
    nodes: np.ndarray

    @classmethod
    def of(cls, structures: Sequence[Structure], labels: np.ndarray) -> Self | None:
        """Return the labels if some are inner nodes of a structure's tree, else None.

        Raises
        ------
        ValueError
            For a label that is not in the tree.
        TypeError
            For a tree that is none.
        """
        trees = [one.class_tree for one in structures if one.class_tree is not None]
        if not trees:
            return None
        nodes = check_class_tree(trees[0]).node_numbers(labels)
        are_leaves = np.isin(nodes, trees[0].leaves)
        if are_leaves.all():
            return None
        codes = np.unique(labels)
        if codes.dtype.kind in "iu" and np.array_equal(codes, np.arange(len(codes))):
            warnings.warn(
                f"Some of the labels 0 to {len(codes) - 1} are inner nodes of the "
                "tree, and are treated as labels that are known in part. If they are "
                "codes of the classes, which VotingClassifier, BaggingClassifier and "
                "cross_val_predict(method='predict_proba') pass instead of labels, the "
                "model learns wrong labels: name the nodes by text, and such codes "
                "raise an error.",
                UserWarning,
                stacklevel=FIT_DEPTH + 2,
            )
        return cls(trees[0].called_as(labels[are_leaves]), nodes)

    def check(self, loss: Loss, class_weight: Any) -> None:
        """Raise ValueError if a loss, or weights, are of single classes."""
        are_inner = ~np.isin(self.nodes, self.tree.leaves)
        first = self.tree.names[self.nodes[are_inner][0]]
        if "sets" not in loss.capabilities:
            raise ValueError(
                f"The label {first.tolist()!r} is an inner node of the tree, and with "
                f"the loss {loss.name or loss!r} labels must be leaves; use "
                "loss='softmax', which sums the probabilities of the leaves below."
            )
        if class_weight is not None:
            raise ValueError(
                f"The label {first.tolist()!r} is an inner node of the tree, so that "
                "its class, and with it its class_weight, is unknown; pass "
                "sample_weight instead."
            )

    @property
    def stand_ins(self) -> np.ndarray:
        """The labels, with a class below it for each inner node."""
        return self.tree.classes_[np.argmax(self.candidates, axis=1)]

    @property
    def candidates(self) -> np.ndarray:
        """Which classes each row may have, bool (n_samples, n_classes)."""
        distinct, rows = np.unique(self.nodes, return_inverse=True)
        unit = distinct[:, None] == np.arange(self.tree.n_nodes)
        return (self.tree.along(unit.astype(np.float64)) > 0)[rows]
