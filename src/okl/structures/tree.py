"""An output kernel from a tree whose leaves are the outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from okl.numerics.arrays import Array, namespace
from okl.numerics.validation import check_not_negative
from okl.output_kernels import TreeKernel
from okl.parameters.hyperparameter import Hyperparameter
from okl.structures.given import Given, weight_around_one
from okl.trees import ClassTree, check_class_tree
from okl.trees.names import listed

# What nodes may share a variance by; what an array is for is the first that fits.
TIES = ("level", "subtree", "node", "shared")


class Tree(Given):
    r"""Outputs are the leaves of a tree, close relatives are close to each other.

    .. math:: f_t = \sum_{p \text{ on the path to } t} g_p, \qquad
              L = \Phi_L D \Phi_L',

    where g_p is a function for each node p of the tree, and D its variance d_p: the
    squared norm of the predictor is the least ``sum_p ||g_p||^2 / d_p`` that gives the
    outputs. Two outputs share the functions of the nodes above both, so that a class
    with few examples leans on its relatives. A tree of depth one whose leaves have
    variance 1 is `Identity`. Products take O(n_nodes) a row, and L is not formed.

    With ``loss="softmax"`` a classifier takes labels that are leaves, by full path or
    by the own name where that is unique, and ``classes_`` are all leaves, also those
    without examples. The outputs of a regressor are the leaves in the order of
    ``class_tree.classes_``.

    Seeger (2006), Cross-validation optimization for structured Hessian kernel methods,
    section 4. The root has no variance there: all classes have its function in common,
    which cancels in the softmax loss.

    Parameters
    ----------
    class_tree : ClassTree
        The tree.
    variances : {"level", "subtree", "node", "shared"} or array, default="level"
        d, > 0. A string is 1 for all nodes but the root, and says which of them stay
        equal where they are learned (`okl.model_selection.GradientSearchCV`): those of
        one depth, those below one child of the root, none, or all. An array has one
        entry for each depth from 1, each child of the root, each node from 1 (as the
        tree numbers them), or one for all; zeros are taken above the leaves.
    tied : {"level", "subtree", "node", "shared"} or None, default=None
        What the entries of an array are for; None for the first of these that the tree
        has as many of.
    root : float, default=0.0
        Variance of the root, >= 0: of what all outputs share.
    """

    class_tree: ClassTree

    def __init__(
        self,
        class_tree: ClassTree,
        variances: Any = "level",
        tied: str | None = None,
        root: float = 0.0,
    ) -> None:
        self.class_tree = class_tree
        self.variances = variances
        self.tied = tied
        self.root = root

    def validate(self, n_outputs: int) -> None:
        """Check that there is an output for each leaf, and the variances."""
        check_class_tree(self.class_tree)
        n_classes = self.class_tree.n_classes
        if n_outputs != n_classes:
            raise ValueError(
                f"The tree has {n_classes} leaves, and the number of outputs is "
                f"{n_outputs}; every leaf is one output. A classifier of two classes "
                "has an output for each with loss='softmax'."
            )
        check_not_negative(self.root, "root")
        variances = self._of_nodes()
        if not np.all(np.isfinite(variances)) or np.any(variances < 0):
            worst = np.flatnonzero(~np.isfinite(variances) | (variances < 0))[0]
            raise ValueError(
                f"The variances of nodes must be finite and not negative; that of "
                f"{self._name(worst)} is {variances[worst]}."
            )
        zero = self.class_tree.leaves[variances[self.class_tree.leaves] == 0]
        if len(zero):
            raise ValueError(
                f"The variance of the leaf {self._name(zero[0])} is zero; "
                "leaves need one > 0 to differ from their relatives."
            )

    def classes_of(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the names of all leaves as labels call them, and labels by these."""
        tree = self.class_tree.called_as(labels)
        return tree.classes_, tree.classes_[tree.class_numbers(labels)]

    def for_outputs(self, names: np.ndarray | None) -> Tree:
        """Return the tree with its leaves in the order of these names.

        Unchanged if none is that of a leaf: the leaves are then as they are sorted.
        """
        tree = self.class_tree
        if names is None or not tree.node_names.known(names).any():
            return self
        return Tree(tree.ordered_as(names), self.variances, self.tied, self.root)

    def known(self, like: Array) -> TreeKernel:
        """Return L as the variances of the nodes."""
        variances = namespace(like).asarray(self._of_nodes(), dtype=like.dtype)
        return TreeKernel(self.class_tree.levels, variances)

    def matrix(self, n_outputs: int) -> np.ndarray:
        """Return Phi_L D Phi_L', formed."""
        return np.asarray(TreeKernel(self.class_tree.levels, self._of_nodes()).matrix())

    def hyperparameters(self, n_outputs: int) -> list[Hyperparameter]:
        """Return the variances, those that are tied as one number."""
        values, groups = self._tied_variances()
        if isinstance(self.variances, str):
            # what is learned is an array, which must be for the same nodes
            seen = Tree(self.class_tree, values, self.tied)._tied_variances()[1]
            if not np.array_equal(seen, groups):
                tie, n = self.variances, len(values)
                raise ValueError(
                    f"An array of {n} variances is not taken for {tie!r} here; start "
                    f"from variances=np.ones({n}) with tied={tie!r}."
                )
        return [weight_around_one("variances", values)]

    def gradient(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Return that by the logs of the variances: dL = d_p phi_p phi_p'."""
        values, groups = self._tied_variances()
        below = self.class_tree.below(weights)
        inside = np.diagonal(self.class_tree.below(below.T))
        return {"variances": values * np.bincount(groups, inside[1:], len(values))}

    def _name(self, node: int) -> str:
        return listed(self.class_tree.names[[node]])

    def _of_nodes(self) -> np.ndarray:
        """Return d (n_nodes,), that of the root first."""
        values, groups = self._tied_variances()
        return np.concatenate([[float(self.root)], values[groups]])

    def _tied_variances(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the variances, and which of them each node from 1 has."""
        if isinstance(self.variances, str):
            groups = self._groups(_checked_tie(self.variances, "variances"))
            return np.ones(groups.max() + 1), groups
        values = np.atleast_1d(np.asarray(self.variances, dtype=np.float64))
        ties = TIES if self.tied is None else (_checked_tie(self.tied, "tied"),)
        found = [self._groups(tie) for tie in ties]
        sizes = [int(groups.max()) + 1 for groups in found]
        fitting = [i for i, size in enumerate(sizes) if values.shape == (size,)]
        if not fitting:
            wanted = [f"{n} for {tie!r}" for n, tie in zip(sizes, ties, strict=True)]
            raise ValueError(
                f"The tree needs {', '.join(wanted)}; got variances of shape "
                f"{values.shape}."
            )
        return values, found[fitting[0]]

    def _groups(self, tie: str) -> np.ndarray:
        """Return the number of the variance of each node from 1."""
        tree = self.class_tree
        if tie == "level":
            return tree.depths[1:] - 1
        if tie == "subtree":
            top = np.arange(tree.n_nodes)
            for _ in range(tree.depth):
                top = np.where(tree.parents[top] > 0, tree.parents[top], top)
            return top[1:] - 1
        n = tree.n_nodes - 1
        return np.arange(n) if tie == "node" else np.zeros(n, dtype=np.intp)


def _checked_tie(tie: str, name: str) -> str:
    if tie not in TIES:
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, TIES))}"
            + (", or an array" if name == "variances" else "")
            + f"; got {tie!r}."
        )
    return tie
