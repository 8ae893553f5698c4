"""The costs of answers, and their expected costs.

With probabilities p(c) of the classes, the answer a is expected to cost
sum_c p(c) cost(c, a). For costs that a tree defines, no matrix of all pairs of classes
is needed: they follow from sums over the leaves below each node, and along the path to
each leaf, each in one pass over the nodes (Seeger 2006, sections 4 and 8.2).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from okl.decisions.nodes import columns_of, sums_of_nodes
from okl.trees import ClassTree, check_class_tree
from okl.trees.relatives import path_lengths

DECISIONS = ("accuracy", "taxo", "parent")


class Cost(ABC):
    """Base of the costs of an answer, given the true class."""

    @abstractmethod
    def expected(self, probabilities: np.ndarray) -> np.ndarray:
        """Return the expected cost of each class as the answer.

        Parameters
        ----------
        probabilities : array (n_samples, n_classes)

        Returns
        -------
        array (n_samples, n_classes)
        """

    @abstractmethod
    def of(self, true: Any, answered: Any) -> np.ndarray:
        """Return the costs of answers.

        Parameters
        ----------
        true, answered : array (n_samples,)
            Labels.

        Returns
        -------
        array (n_samples,)
        """


@dataclass(frozen=True)
class ZeroOne(Cost):
    """1 for every wrong class: the most probable class has the least expected cost.

    Attributes
    ----------
    tree : ClassTree, optional
        With it labels that are different names of one node are equal.
    """

    tree: ClassTree | None = None

    def expected(self, probabilities: np.ndarray) -> np.ndarray:
        """Return 1 - p."""
        return 1 - probabilities

    def of(self, true: Any, answered: Any) -> np.ndarray:
        """Return 1 where the class is wrong."""
        true, answered = np.asarray(true), np.asarray(answered)
        if self.tree is not None:
            true = self.tree.node_numbers(true)
            answered = self.tree.node_numbers(answered)
        return (true != answered).astype(np.float64)


@dataclass(frozen=True)
class _OfLeaves(Cost):
    """A cost that is defined by a tree.

    Attributes
    ----------
    tree : ClassTree
    columns : array of int (n_classes,), optional
        The number of the leaf of each class; None if classes are all leaves, in order.
    """

    tree: ClassTree
    columns: np.ndarray | None = None

    @cached_property
    def _leaves(self) -> np.ndarray:
        """The node of each class."""
        leaves = self.tree.leaves
        return leaves if self.columns is None else leaves[self.columns]


class PathLength(_OfLeaves):
    r"""The taxo-loss: half the length of the path from the truth to the answer.

    .. math:: \Delta(c, a) = (d_c + d_a) / 2 - d_{c \wedge a}

    with d the depths and :math:`c \wedge a` the nearest common ancestor. The depth of
    that is the number of nodes below the root that are on both paths, and therefore

    .. math:: E\, \Delta(c, a) = (E\, d_c + d_a) / 2
              - \sum_{p \text{ on the path to } a} P(p)

    with P(p) the probability of node p, which is the sum over the leaves below it.
    """

    def expected(self, probabilities: np.ndarray) -> np.ndarray:
        """Return the expected taxo-loss, in one pass up the tree and one down."""
        tree = self.tree
        of_nodes = sums_of_nodes(tree, probabilities, self.columns)
        of_nodes[:, 0] = 0  # the root is on all paths and does not count
        shared = tree.along(of_nodes)
        if self.columns is not None:
            shared = shared[:, self.columns]
        depths = tree.depths[self._leaves]
        total = np.sum(probabilities, axis=1, keepdims=True)
        mean = (probabilities @ depths)[:, None]
        return (mean + total * depths) / 2 - shared

    def of(self, true: Any, answered: Any) -> np.ndarray:
        """Return the taxo-loss of labels; they may be inner nodes."""
        tree = self.tree
        return (
            path_lengths(tree, tree.node_numbers(true), tree.node_numbers(answered)) / 2
        )


class ParentError(_OfLeaves):
    """1 where the answer has another parent than the truth.

    The best answer is a child of the node whose children that are leaves have the
    largest total probability (Seeger 2006, footnote 12); among these, which all cost
    the same, the most probable.
    """

    @cached_property
    def _groups(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Classes sorted by parent, where each parent begins, parents of classes."""
        _, group = np.unique(self.tree.parents[self._leaves], return_inverse=True)
        order = np.argsort(group, kind="stable")
        first = np.searchsorted(group[order], np.arange(group.max() + 1))
        return order, first, group

    def expected(self, probabilities: np.ndarray) -> np.ndarray:
        """Return 1 minus the probability of the classes with the same parent."""
        order, first, group = self._groups
        of_parents = np.add.reduceat(probabilities[:, order], first, axis=1)
        return 1 - of_parents[:, group]

    def of(self, true: Any, answered: Any) -> np.ndarray:
        """Return 1 where the parent is wrong."""
        parents = self.tree.parents
        above = parents[self.tree.node_numbers(true)]
        return (above != parents[self.tree.node_numbers(answered)]).astype(np.float64)


@dataclass(frozen=True)
class CostMatrix(Cost):
    """Costs given by a matrix.

    Attributes
    ----------
    matrix : array (n_classes, n_classes)
        The cost of the answer of the column if the true class is that of the row; rows
        and columns are as in scikit-learn's confusion matrices.
    classes : array (n_classes,)
    """

    matrix: np.ndarray
    classes: np.ndarray

    def expected(self, probabilities: np.ndarray) -> np.ndarray:
        """Return p times the matrix."""
        return probabilities @ self.matrix

    def of(self, true: Any, answered: Any) -> np.ndarray:
        """Return the entries of the matrix.

        Raises
        ------
        ValueError
            For a label that is none of the classes.
        """
        return self.matrix[self._numbers(true), self._numbers(answered)]

    def _numbers(self, labels: Any) -> np.ndarray:
        labels = np.asarray(labels)
        order = np.argsort(self.classes)
        found = np.searchsorted(self.classes, labels, sorter=order)
        numbers = order[np.minimum(found, len(order) - 1)]
        unknown = self.classes[numbers] != labels
        if np.any(unknown):
            raise ValueError(
                f"The label {labels[unknown].tolist()[0]!r} has no row in the cost "
                f"matrix, whose classes are {self.classes[:5].tolist()}"
                f"{'' if len(order) <= 5 else f' and {len(order) - 5} more'}."
            )
        return numbers


def as_cost(decision: Any, classes: np.ndarray, tree: ClassTree | None = None) -> Cost:
    """Return the cost whose expected value a decision minimises.

    Parameters
    ----------
    decision : {"accuracy", "taxo", "parent"} or array (n_classes, n_classes)
        `ZeroOne`, `PathLength`, `ParentError` or the matrix of a `CostMatrix`. Rows and
        columns of a data frame are matched by name, or by position if their names are
        numbers from 0.
    classes : array (n_classes,)
        The classes of the probabilities, in the order of their columns.
    tree : ClassTree, optional
        The tree whose leaves the classes are; ``"taxo"`` and ``"parent"`` need it.

    Raises
    ------
    TypeError
        If the tree is no `ClassTree`.
    ValueError
        For an unknown decision, or one that needs a tree if there is none; for a class
        that is no leaf of the tree; and for a matrix of another shape, with names that
        are not those of the classes, or with entries that are not finite numbers.
    """
    classes = np.asarray(classes)
    if tree is not None:
        check_class_tree(tree, "tree")
    named, matrix = isinstance(decision, str), np.asarray(decision)
    fits = decision in DECISIONS if named else matrix.ndim == 2
    if not fits:
        raise ValueError(
            f"decision must be one of {', '.join(map(repr, DECISIONS))}, or a cost "
            f"matrix (n_classes, n_classes); got {decision!r}."
        )
    if named:
        if decision == "accuracy":
            return ZeroOne(tree)
        if tree is None:
            raise ValueError(
                f"decision={decision!r} needs a tree of the classes: fit with "
                "structure=Tree(tree), or pass the probabilities and the tree to "
                "okl.decisions.decide."
            )
        columns = columns_of(tree, classes)
        return (PathLength if decision == "taxo" else ParentError)(tree, columns)
    if matrix.shape != (len(classes), len(classes)):
        raise ValueError(
            f"The cost matrix has the shape {matrix.shape}, and {len(classes)} classes "
            f"need ({len(classes)}, {len(classes)}): a row for each true class, a "
            "column for each answer, in the order of classes_."
        )
    if hasattr(decision, "index") and hasattr(decision, "columns"):
        rows = _places(decision.index, classes, "rows")
        matrix = matrix[np.ix_(rows, _places(decision.columns, classes, "columns"))]
    return CostMatrix(
        check_array(matrix, dtype=np.float64, input_name="cost matrix"), classes
    )


def _places(names: Any, classes: np.ndarray, axis: str) -> list[int]:
    """Return the positions of the classes among the names of rows or columns."""
    names, wanted = list(names), classes.tolist()
    numbers = list(range(len(names)))
    if set(names) == set(wanted):
        return [names.index(label) for label in wanted]
    if names == numbers:
        return numbers
    raise ValueError(
        f"The {axis} of the cost matrix are called {names}, and the classes {wanted}. "
        "Use the same names, or pass an array in the order of classes_."
    )
