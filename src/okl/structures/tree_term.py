"""The part of a tree whose nodes have one kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from okl.structures.given import both_factors
from okl.structures.leaves import OfLeaves
from okl.trees import ClassTree


class TreeTerm(OfLeaves):
    r"""What some nodes of a tree add to the output kernel of its leaves.

    .. math:: L_q = \Phi_q D_q \Phi_q',

    with a column of Phi for each node that has a variance. A `Tree` with kernels of
    nodes is made of these: ``structure_`` of a fit then has one for each kernel. A leaf
    below none of the nodes has no part in the term, and leaves below the same nodes
    have the same part, so that L_q may be singular.

    Parameters
    ----------
    class_tree : ClassTree
        The tree.
    variances : array (n_nodes,)
        d, >= 0, of all nodes in the order of ``class_tree.names``, the root first.
        Zero for the nodes that are not in this term.
    """

    def __init__(self, class_tree: ClassTree, variances: Any) -> None:
        self.class_tree = class_tree
        self.variances = variances

    def for_outputs(self, names: np.ndarray | None) -> TreeTerm:
        """Return the term with its leaves in the order of these names."""
        return TreeTerm(self._in_order_of(names), self.variances)

    def gradient_as_part(
        self, left: np.ndarray, right: np.ndarray | None = None
    ) -> dict[str, np.ndarray]:
        """Return the derivatives by the log of each variance: dL = d_p phi_p phi_p'.

        The variances are those of the whole tree, in which nodes of several parts may
        share one.
        """
        below = [self.class_tree.below(one) for one in both_factors(left, right)]
        return {"variances": self._of_nodes() * np.sum(below[0] * below[1], axis=0)}

    def _of_nodes(self) -> np.ndarray:
        """Return d (n_nodes,)."""
        variances = np.asarray(self.variances, dtype=np.float64)
        n_nodes = self.class_tree.n_nodes
        if variances.shape != (n_nodes,):
            raise ValueError(
                f"TreeTerm needs a variance for each of the {n_nodes} nodes of the "
                f"tree; got variances of shape {variances.shape}."
            )
        return variances
