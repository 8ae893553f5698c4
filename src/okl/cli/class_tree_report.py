"""The part of a report that is about classes in a tree.

For rows that were held out: how many rows each node has and how many of these have an
answer below it, the accuracy of each level, and which relatives are confused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from okl import ClassTree
from okl.cli.errors import shown
from okl.metrics import (
    level_accuracy_score,
    parent_accuracy_score,
    taxo_loss,
)
from okl.trees.drawing import drawn
from okl.trees.relatives import common_depths

_MOST_LINES, _MOST_CONFUSIONS = 100, 10
FILES = {
    "class_tree.txt": "the tree with counts and accuracies",
    "class_tree.png": "the tree; colours are accuracies",
}


@dataclass(frozen=True)
class HeldOutClasses:
    """Classes of rows that were held out, and their predictions.

    Attributes
    ----------
    tree : ClassTree
    true : array (n_samples,)
        Labels.
    predicted : dict of str to array (n_samples,)
        Predictions by the name of the structure; NaN for rows without a prediction.
    saved : str
        The name of the structure that is saved.
    """

    tree: ClassTree
    true: np.ndarray
    predicted: Mapping[str, np.ndarray]
    saved: str

    def counts(self) -> np.ndarray:
        """Return the number of rows below each node (n_nodes,)."""
        tree = self.tree
        of_classes = np.bincount(
            tree.class_numbers(self.true), minlength=tree.n_classes
        )
        return tree.below(of_classes[None, :].astype(float))[0]

    def accuracies(self) -> np.ndarray:
        """Return the share of each node's rows whose answer is below it (n_nodes,).

        NaN for a node without rows.
        """
        true, found = self._numbers(self.predicted[self.saved])
        tree = self.tree
        shared = common_depths(tree, true, found)
        right, there = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes)
        node = true.copy()
        for _ in range(tree.depth + 1):
            np.add.at(there, node, 1)
            np.add.at(right, node, tree.depths[node] <= shared)
            # rows that have reached the root are done
            on = node > 0
            node, shared = tree.parents[node[on]], shared[on]
        with np.errstate(invalid="ignore"):
            return right / there

    def drawing(self) -> str:
        """Return the whole tree as text."""
        return self.tree.to_text(self._notes())

    def short_drawing(self) -> list[str]:
        """Return the lines of as many levels as fit into a report."""
        tree, notes = self.tree, self._notes()
        deepest = max(
            level
            for level in range(tree.depth + 1)
            if level <= 1 or np.sum(tree.depths <= level) <= _MOST_LINES
        )
        n = int(np.sum(tree.depths <= deepest))  # nodes are numbered level by level
        own = tree.node_names.own
        texts = [f"{shown(own[i])} {notes[i]}" for i in range(n)]
        lines = drawn(tree.parents[:n], texts).splitlines()[:_MOST_LINES]
        hidden = tree.n_nodes - len(lines)
        return [*lines, *([f"and {hidden} more nodes"] if hidden else [])]

    def levels(self) -> list[list[str]]:
        """Return a table of the accuracy of each level, and the scores of the tree."""
        tree = self.tree
        rows = [["", *self.predicted]]
        for level in range(1, tree.depth + 1):
            size = len(tree.level_numbers(level))
            name = f"level {level} ({size} nodes)" if level < tree.depth else "classes"
            scores = [
                level_accuracy_score(true, found, tree=tree, level=level)
                for true, found in self._pairs()
            ]
            rows.append([name, *(f"{score:.4f}" for score in scores)])
        for name, score in (
            ("parent", parent_accuracy_score),
            ("taxo-loss", taxo_loss),
        ):
            values = [score(true, found, tree=tree) for true, found in self._pairs()]
            rows.append([name, *(f"{value:.4f}" for value in values)])
        return rows

    def confusions(self) -> list[str]:
        """Return the relatives that the saved model confuses most often."""
        tree = self.tree
        true, found = self._numbers(self.predicted[self.saved])
        wrong = true != found
        related = wrong & (common_depths(tree, true, found) > 0)
        if not wrong.any():
            return ["None: every row is recognised."]
        said = [
            f"{related.sum()} of {wrong.sum()} errors are between related classes, "
            "those below the same child of the root."
        ]
        pairs = Counter(
            zip(true[related].tolist(), found[related].tolist(), strict=True)
        )
        sizes = Counter(true.tolist())
        for (i, j), count in pairs.most_common(_MOST_CONFUSIONS):
            first, second = (shown(tree.names[k]) for k in (i, j))
            said.append(f"{count:4d} of {sizes[i]:4d}  {first} -> {second}")
        return said

    def _pairs(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return truth and answer of the rows with an answer, for each predictor."""
        pairs = []
        for found in self.predicted.values():
            known = _known(found)
            pairs.append((self.true[known], found[known].astype(str)))
        return pairs

    def _numbers(self, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the nodes of truths and answers, where there are answers."""
        known = _known(found)
        numbers = self.tree.node_numbers
        return numbers(self.true[known]), numbers(found[known].astype(str))

    def _notes(self) -> list[str]:
        notes = []
        shares = self.accuracies()
        shares[0] = np.nan  # every answer is below the root
        for count, share in zip(self.counts(), shares, strict=True):
            right = "" if np.isnan(share) else f", {share:.0%} right"
            notes.append(f"({count:.0f} row{'' if count == 1 else 's'}{right})")
        return notes


def _known(found: np.ndarray) -> np.ndarray:
    return np.array([isinstance(label, str) for label in found])
