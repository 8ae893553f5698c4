"""The names of the nodes of a tree: full paths and own names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from okl.trees.reading import plain


@dataclass(frozen=True)
class NodeNames:
    """The names of nodes, in the order of their numbers.

    Attributes
    ----------
    own : list
        The own name of each node.
    paths : list of str
        The full path of each node.
    by_path : bool
        Whether the tree uses full paths.
    """

    own: list[Any]
    paths: list[str]
    by_path: bool

    @classmethod
    def of(
        cls, parents: np.ndarray, own: list[Any], separator: str, *, by_path: bool
    ) -> NodeNames:
        """Return the names of nodes that come after their parents, the root first."""
        paths = [separator if by_path else str(own[0])]
        for i in range(1, len(own)):
            above = int(parents[i])
            prefix = f"{paths[above]}{separator}" if above else ""
            paths.append(f"{prefix}{own[i]}")
        return cls(own, paths, by_path)

    @cached_property
    def used(self) -> np.ndarray:
        """The names that the tree uses (n_nodes,)."""
        return np.array(self.paths if self.by_path else self.own)

    @cached_property
    def _numbers(self) -> dict[Any, int]:
        """The node that each name stands for."""
        counts = Counter(self.own)
        short = {name: i for i, name in enumerate(self.own) if counts[name] == 1}
        paths = {name: i for i, name in enumerate(self.paths)}
        return {**short, **paths} if self.by_path else {**paths, **short}

    def both(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the names of some nodes that the tree uses, and the other ones."""
        others = np.array(self.own if self.by_path else self.paths)
        return self.used[nodes], others[nodes]

    def numbers(self, labels: Any) -> np.ndarray:
        """Return the node that each label (n,) stands for.

        Raises
        ------
        ValueError
            For a label that names no node, or several.
        """
        labels = np.asarray(labels)
        try:
            distinct, inverse = np.unique(labels, return_inverse=True)
        except TypeError:  # labels of several types, which have no order
            distinct, inverse = labels, np.arange(len(labels))
        found = [self._number(plain(label)) for label in distinct]
        return np.array(found, dtype=np.intp)[inverse]

    def _number(self, label: Any) -> int:
        if isinstance(label, Hashable) and label in self._numbers:
            return self._numbers[label]
        several = [
            path for path, own in zip(self.paths, self.own, strict=True) if own == label
        ]
        if several:
            raise ValueError(
                f"The label {label!r} stands for {len(several)} nodes of the tree: "
                f"{listed(several)}. Use their full paths."
            )
        encoded = (
            " scikit-learn's voting, bagging, stacking and "
            "cross_val_predict(method='predict_proba') pass numbers instead of labels."
        )
        raise ValueError(
            f"The label {label!r} is not in the tree, whose nodes are called "
            f"{listed(self.used[1:])}; labels are their names or full paths."
            f"{encoded if isinstance(label, int | np.integer) else ''}"
        )

    def known(self, labels: Any) -> np.ndarray:
        """Tell for each label (n,) whether it names a node."""
        return np.array([plain(label) in self._numbers for label in labels], dtype=bool)


def listed(names: Sequence[Any] | np.ndarray, most: int = 5) -> str:
    """Return the first few of some names as text."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(plain(name)) for name in names[:most]) + more
