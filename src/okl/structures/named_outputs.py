"""What a structure knows about outputs by their names.

Most structures know nothing: names do not matter to them. A matrix that is given may be
a data frame whose labels are the names. Where outputs are the leaves of a tree, the
structure says which classes there are, and which output is which leaf.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from okl.parameters.component import Component
from okl.structures.labelled import in_order_of
from okl.trees import ClassTree


class NamedOutputs(Component):
    """Base of the structures: what concerns the names of outputs.

    Attributes
    ----------
    class_tree : ClassTree or None
        The tree whose leaves are the outputs, if there is one.
    parameters_of_outputs : dict of str to int
        The parameters that have a row for each output, and how many of their axes are
        outputs.
    """

    class_tree: ClassTree | None = None
    parameters_of_outputs: ClassVar[dict[str, int]] = {}

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

        By default names matter to parameters with labels only (`in_order_of`). Pass
        None for outputs without names.

        Raises
        ------
        ValueError
            If the structure knows only some of the outputs by name, or a parameter has
            labels that are not their names.
        """
        if names is None or not self.parameters_of_outputs:
            return self
        given = self.get_params(deep=False)
        for name, axes in self.parameters_of_outputs.items():
            what = f"{name} of {type(self).__name__}"
            given[name] = in_order_of(given[name], names, what, axes=axes)
        return type(self)(**given)
