"""What a structure knows about outputs by their names.

Most structures know nothing: names do not matter to them. Where outputs are the leaves
of a tree, the structure says which classes there are, and which output is which leaf.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from okl.parameters.component import Component
from okl.trees import ClassTree


class NamedOutputs(Component):
    """Base of the structures: what concerns the names of outputs.

    Attributes
    ----------
    class_tree : ClassTree or None
        The tree whose leaves are the outputs, if there is one.
    """

    class_tree: ClassTree | None = None

    def classes_of(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return all classes (n_classes,), sorted, and the labels (n,) as their names.

        None where the structure names no classes, so that they are those of the labels.
        Otherwise the outputs are all these classes, in that order (`for_outputs`).

        Raises
        ------
        ValueError
            For a label that is no class; the message names it.
        """
        return None

    def for_outputs(self, names: np.ndarray | None) -> Self:
        """Return the structure of outputs with these names, in their order.

        By default itself, as names do not matter. Pass None for outputs without names.

        Raises
        ------
        ValueError
            If the structure knows only some of the outputs by name.
        """
        return self
