"""What a structure knows of outputs by their names.

Most know nothing: any output is as good as any other. Where outputs are the leaves of a
tree, the structure says which classes there are, and which output is which leaf.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from okl.parameters.component import Component
from okl.trees import ClassTree


class NamedOutputs(Component):
    """Base of the structures, as far as names go.

    Attributes
    ----------
    class_tree : ClassTree or None
        What the outputs are the leaves of, where they are.
    """

    class_tree: ClassTree | None = None

    def classes_of(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return all classes (n_classes,), sorted, and labels (n,) by their names.

        None where only labels say which classes there are. The outputs are then the
        classes, in that order (`for_outputs`).

        Raises
        ------
        ValueError
            For a label that is no class; the message has it.
        """
        return None

    def for_outputs(self, names: np.ndarray | None) -> Self:
        """Return the structure of outputs with these names, in their order.

        By default itself, as no output is different. None are outputs without names.

        Raises
        ------
        ValueError
            If some outputs only are those that it knows by name.
        """
        return self
