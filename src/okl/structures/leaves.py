r"""What structures whose outputs are the leaves of a tree have in common.

Each node p adds a function to all leaves below it, of variance d_p, so that
L = Phi_L D Phi_L' (`okl.output_kernels.tree`). The structures differ in how the
variances are given.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from okl.numerics.arrays import Array, namespace
from okl.numerics.validation import check_magnitude
from okl.output_kernels import TreeKernel
from okl.structures.given import Given
from okl.trees import ClassTree, check_class_tree
from okl.trees.names import listed


class OfLeaves(Given):
    """Base of the structures whose outputs are the leaves of a tree."""

    class_tree: ClassTree

    @abstractmethod
    def _of_nodes(self) -> np.ndarray:
        """Return d (n_nodes,), that of the root first."""

    def validate(self, n_outputs: int) -> None:
        """Check that there is an output for each leaf, and the variances."""
        n_classes = check_class_tree(self.class_tree).n_classes
        if n_outputs != n_classes:
            raise ValueError(
                f"The tree has {n_classes} leaves, and the number of outputs is "
                f"{n_outputs}; every leaf is one output. A classifier of two classes "
                "has an output for each with loss='softmax'."
            )
        self._check_variances()

    def _check_variances(self) -> None:
        """Raise ValueError for a variance that is not finite, or negative."""
        variances = self._of_nodes()
        wrong = ~np.isfinite(variances) | (variances < 0)
        if np.any(wrong):
            worst = int(np.argmax(wrong))
            raise ValueError(
                f"The variances of nodes must be finite and not negative; that of "
                f"{self._name(worst)} is {variances[worst]}."
            )
        check_magnitude(variances, "The variances of nodes are up to", "Scale them.")

    def classes_of(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return all leaves' names as labels write them, and labels as such names."""
        tree = check_class_tree(self.class_tree).called_as(labels)
        return tree.classes_, tree.classes_[tree.class_numbers(labels)]

    def _in_order_of(self, names: np.ndarray | None) -> ClassTree:
        """Return the tree with its leaves in the order of the names of outputs.

        Unchanged if no name is that of a leaf: the leaves then stay in their sorted
        order.
        """
        tree = check_class_tree(self.class_tree)
        if names is None or not tree.node_names.known(names).any():
            return tree
        return tree.ordered_as(names)

    def known(self, like: Array) -> TreeKernel:
        """Return L, kept as the variances of the nodes."""
        variances = namespace(like).asarray(self._of_nodes(), dtype=like.dtype)
        return TreeKernel(self.class_tree.levels, variances)

    def matrix(self, n_outputs: int) -> np.ndarray:
        """Return Phi_L D Phi_L', formed."""
        return np.asarray(TreeKernel(self.class_tree.levels, self._of_nodes()).matrix())

    def _name(self, node: int) -> str:
        return listed(self.class_tree.names[[node]])
