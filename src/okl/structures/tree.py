"""An output kernel from a tree whose leaves are the outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from okl.numerics.validation import check_not_negative
from okl.parameters.hyperparameter import Hyperparameter
from okl.parameters.listed import ListedParameters
from okl.structures.given import weight_around_one
from okl.structures.leaves import OfLeaves
from okl.structures.node_kernels import NodeKernels
from okl.structures.own_kernels import StructureTerm
from okl.structures.tree_term import TreeTerm
from okl.trees import ClassTree, check_class_tree

# How nodes may share a variance; an array is read by the first that fits its size.
TIES = ("level", "subtree", "node", "shared")


class Tree(ListedParameters, OfLeaves):
    r"""Outputs are the leaves of a tree, and close relatives resemble each other.

    .. math:: f_t = \sum_{p \text{ on the path to } t} g_p, \qquad
              L = \Phi_L D \Phi_L',

    where g_p is a function for each node p of the tree, and D its variance d_p: the
    squared norm of the predictor is the least ``sum_p ||g_p||^2 / d_p`` that gives the
    outputs. Two outputs share the functions of the nodes above both, so that a class
    with few examples leans on its relatives. A tree of depth one whose leaves have
    variance 1 is `Identity`. Products take O(n_nodes) a row, and L is not formed.

    With ``loss="softmax"`` a classifier takes labels that are leaves, by full path or
    by their own name where that is unique, and ``classes_`` are all leaves, also those
    without examples. The outputs of a regressor are the leaves in the order of
    ``class_tree.classes_``.

    Seeger (2006), Cross-validation optimization for structured Hessian kernel methods,
    section 4. The root has no variance there: all classes have its function in common,
    which cancels in the softmax loss.

    Parameters
    ----------
    class_tree : ClassTree
        The tree.
    variances : str or array, default="level"
        d, > 0. ``"level"``, ``"subtree"``, ``"node"`` and ``"shared"`` are 1 for all
        nodes but the root, and say which of them stay equal where they are learned
        (`okl.model_selection.GradientSearchCV`): those of one depth, those below one
        child of the root, none, or all. ``"leaves"`` is 1 at the leaves and zero above:
        `Identity`, with the classes of the tree, the probabilities of its nodes and its
        decisions. An array has one entry for each depth from 1, each child of the root,
        each node from 1 (as the tree numbers them), or one for all; zeros are allowed
        above the leaves.
    tied : {"level", "subtree", "node", "shared"} or None, default=None
        What the entries of an array belong to; None for the first of these of which the
        tree has as many as there are entries.
    root : float, default=0.0
        Variance of the root, >= 0: of the function that all outputs share.
    kernels : mapping or None, default=None
        Kernels of nodes: ``{node or level: kernel}``, a node by its name or full path,
        or all nodes of a depth by its number; a kernel as estimators take one. A kernel
        holds for the node and for all nodes below, unless another is given there. None
        is the kernel of the estimator, which all other nodes have. The name of a node
        takes precedence over its level, and where names are integers, an integer is
        never a level. The parameters of the kernels are ``kernels__2__gamma`` and so
        on. Not for the ``...CV`` estimators, which take one kernel.

    Notes
    -----
    With kernels of nodes the model is a sum of terms, as with a list of kernels,

    .. math:: F = \sum_q K_q C L_q + 1 b', \qquad L_q = \Phi_q D_q \Phi_q',

    where Phi_q has the columns of the nodes whose kernel is k_q: ``kernel_`` and
    ``structure_`` of the fit are lists, of kernels and of `TreeTerm`. Kernels of the
    mapping that are equal share a term; that of the estimator has one of its own.
    """

    listed: ClassVar[tuple[str, ...]] = ("kernels",)

    def __init__(
        self,
        class_tree: ClassTree,
        variances: Any = "level",
        tied: str | None = None,
        root: float = 0.0,
        kernels: Mapping[Any, Any] | None = None,
    ) -> None:
        self.class_tree = class_tree
        self.variances = variances
        self.tied = tied
        self.root = root
        self.kernels = kernels

    def validate(self, n_outputs: int) -> None:
        """Check the outputs and the variances, and that all nodes have one kernel."""
        super().validate(n_outputs)
        own = [term.name for term in self.by_kernel() if term.kernel is not None]
        if own:
            raise ValueError(
                f"{own[0]} of Tree is a kernel of its own, but here all nodes must "
                "have the same kernel: only OutputKernelClassifier, "
                "OutputKernelRegressor and output_kernel_path take several. Leave "
                "kernels out, or choose by scikit-learn's GridSearchCV."
            )

    def _check_variances(self) -> None:
        check_not_negative(self.root, "root")
        super()._check_variances()
        leaves = self.class_tree.leaves
        zero = leaves[self._of_nodes()[leaves] == 0]
        if len(zero):
            raise ValueError(
                f"The variance of the leaf {self._name(int(zero[0]))} is zero; leaves "
                "need a variance > 0 to differ from related leaves."
            )

    def by_kernel(self, *, apart: bool = False) -> list[StructureTerm]:
        """Return the nodes by their kernels, or itself if they have none.

        Parameters are those of `Structure.by_kernel`.

        Raises
        ------
        ValueError
            For a node or level that is not in the tree, a kernel that no node uses, or
            variances that cannot be used.
        """
        if self.kernels is None:
            return super().by_kernel(apart=apart)
        check_class_tree(self.class_tree)
        self._check_variances()
        found = NodeKernels.of(self.class_tree, self.kernels, apart=apart)
        variances = self._of_nodes()
        if len(found.kernels) == 1:
            return super().by_kernel(apart=apart)
        parts = []
        for number, (kernel, key) in enumerate(
            zip(found.kernels, found.keys, strict=True)
        ):
            name = f"kernels[{key!r}]" if number else "kernel"
            part = np.where(found.of_nodes == number, variances, 0.0)
            if part.any():
                term = TreeTerm(self.class_tree, part)
                parts.append(StructureTerm(kernel, term, name, f"kernels__{key}"))
            elif kernel is not None:
                raise ValueError(
                    f"{name} of Tree has no effect: all nodes that it is for have "
                    "variance zero, as the root has unless root > 0, or a kernel of "
                    "their own. Leave it out, or give these nodes a variance."
                )
        if apart and len(parts) == 1:
            # all nodes have this kernel, and the tree itself is what is learned
            whole = Tree(self.class_tree, self.variances, self.tied, self.root)
            return [parts[0]._replace(structure=whole)]
        return parts

    def for_outputs(self, names: np.ndarray | None) -> Tree:
        """Return the tree with its leaves in the order of these names.

        Unchanged if no name is that of a leaf: the leaves then stay in their sorted
        order.
        """
        tree = self._in_order_of(names)
        if tree is self.class_tree:
            return self
        return Tree(tree, self.variances, self.tied, self.root, self.kernels)

    def hyperparameters(self, n_outputs: int) -> list[Hyperparameter]:
        """Return the variances; those that are tied are one number."""
        if _is_leaves(self.variances):
            return []
        values, groups = self._tied_variances()
        if isinstance(self.variances, str):
            # learned variances are an array, which must be read for the same nodes
            seen = Tree(self.class_tree, values, self.tied)._tied_variances()[1]
            if not np.array_equal(seen, groups):
                tie, n = self.variances, len(values)
                raise ValueError(
                    f"An array of {n} variances does not mean {tie!r} for this tree; "
                    f"pass variances=np.ones({n}) with tied={tie!r}."
                )
        return [weight_around_one("variances", values)]

    def gradient(
        self, left: np.ndarray, right: np.ndarray | None = None
    ) -> dict[str, np.ndarray]:
        """Return the derivatives by the logs of the variances."""
        whole = TreeTerm(self.class_tree, self._of_nodes())
        return self.gradient_of_parts([whole.gradient_as_part(left, right)])

    def gradient_of_parts(self, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Return the sums over parts, and over the nodes that share a variance."""
        if _is_leaves(self.variances):
            return {}
        values, groups = self._tied_variances()
        by_node = sum(part["variances"][1:] for part in parts)
        return {"variances": np.bincount(groups, by_node, len(values))}

    def with_kernels(self, change: Callable[[Any], Any]) -> Tree:
        """Return the tree with a function applied to the kernels of its nodes."""
        if not isinstance(self.kernels, Mapping):
            return self
        changed = {
            key: None if kernel is None else change(kernel)
            for key, kernel in self.kernels.items()
        }
        return Tree(self.class_tree, self.variances, self.tied, self.root, changed)

    def _of_nodes(self) -> np.ndarray:
        """Return d (n_nodes,), that of the root first."""
        values, groups = self._tied_variances()
        return np.concatenate([[float(self.root)], values[groups]])

    def _tied_variances(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the variances, and the number of that of each node from 1."""
        if _is_leaves(self.variances):
            tree = self.class_tree
            above = ~np.isin(np.arange(1, tree.n_nodes), tree.leaves)
            return np.array([1.0, 0.0]), above.astype(np.intp)
        if isinstance(self.variances, str):
            groups = self._groups(_checked_tie(self.variances, "variances"))
            return np.ones(groups.max() + 1), groups
        values = np.atleast_1d(_numbers(self.variances))
        ties = TIES if self.tied is None else (_checked_tie(self.tied, "tied"),)
        found = [self._groups(tie) for tie in ties]
        sizes = [int(groups.max()) + 1 for groups in found]
        fitting = [i for i, size in enumerate(sizes) if values.shape == (size,)]
        if not fitting:
            wanted = [f"{n} for {tie!r}" for n, tie in zip(sizes, ties, strict=True)]
            raise ValueError(
                f"The number of variances must be {', '.join(wanted)}; got variances "
                f"of shape {values.shape}."
            )
        return values, found[fitting[0]]

    def _groups(self, tie: str) -> np.ndarray:
        """Return the number of the variance of each node from 1, for one of `TIES`."""
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


def _is_leaves(variances: Any) -> bool:
    return isinstance(variances, str) and variances == "leaves"


def _numbers(variances: Any) -> np.ndarray:
    try:
        return np.asarray(variances, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"variances must be one of {', '.join(map(repr, TIES))}, 'leaves' or an "
            f"array of numbers; got {variances!r}."
        ) from None


def _checked_tie(tie: str, name: str) -> str:
    if not isinstance(tie, str) or tie not in TIES:
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, TIES))}"
            + (", 'leaves' or an array" if name == "variances" else "")
            + f"; got {tie!r}."
        )
    return tie
