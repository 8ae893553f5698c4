"""Scores of answers whose classes are the leaves of a tree.

A wrong answer may be near to the truth. Labels are names of nodes of the tree: leaves,
or inner nodes where an answer or a truth is known only down to that node. They are
compared as nodes: the full path and the own name of a node are equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    column_or_1d,
)

from okl.decisions import ParentError, PathLength
from okl.numerics.missing import is_missing
from okl.numerics.validation import refuse_negative_weights
from okl.trees import ClassTree, check_class_tree
from okl.trees.relatives import common_depths


def taxo_loss(
    y_true: Any, y_pred: Any, *, tree: ClassTree, sample_weight: Any = None
) -> float:
    r"""Return the mean of half the lengths of the paths from truth to answer.

    .. math:: \frac{1}{\sum_i w_i} \sum_i w_i \Delta(y_i, \hat y_i), \qquad
              \Delta(c, a) = (d_c + d_a) / 2 - d_{c \wedge a}

    with d the depth of a node and :math:`c \wedge a` the nearest common ancestor: 0 for
    the right answer, 1 for a sibling of it. Seeger (2006), section 8.2.

    Parameters
    ----------
    y_true, y_pred : array (n_samples,)
        Names of nodes.
    tree : ClassTree
    sample_weight : array (n_samples,), optional
        Weights w of the rows.

    Returns
    -------
    float
        In edges; at least 0.

    Raises
    ------
    ValueError
        If shapes differ, or a label is not in the tree.

    Examples
    --------
    >>> from okl import ClassTree
    >>> from okl.metrics import taxo_loss
    >>> tree = ClassTree.from_paths(["animal/cat", "animal/dog", "plant"])
    >>> taxo_loss(["cat", "cat", "cat"], ["cat", "dog", "plant"], tree=tree)
    0.8333333333333334
    """
    y_true, y_pred, weights = _checked(y_true, y_pred, tree, sample_weight)
    return float(np.average(PathLength(tree).of(y_true, y_pred), weights=weights))


def parent_accuracy_score(
    y_true: Any, y_pred: Any, *, tree: ClassTree, sample_weight: Any = None
) -> float:
    """Return the fraction of answers that have the same parent as the truth.

    The mean of 1 where par(answer) = par(truth), else 0. Seeger (2006), section 8.2.

    Parameters
    ----------
    y_true, y_pred, tree, sample_weight
        As in `taxo_loss`.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    ValueError
        As in `taxo_loss`.
    """
    y_true, y_pred, weights = _checked(y_true, y_pred, tree, sample_weight)
    return float(1 - np.average(ParentError(tree).of(y_true, y_pred), weights=weights))


def level_accuracy_score(
    y_true: Any, y_pred: Any, *, tree: ClassTree, level: int, sample_weight: Any = None
) -> float:
    """Return the fraction of answers below the same node of a level as the truth.

    Parameters
    ----------
    y_true, y_pred, tree, sample_weight
        As in `taxo_loss`. An answer above the level is right only if it is the truth.
    level : int
        1 for the children of the root. Leaves above the level belong to it, as in
        `ClassTree.nodes`.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    ValueError
        As in `taxo_loss`, and for a level that the tree does not have.
    """
    y_true, y_pred, weights = _checked(y_true, y_pred, tree, sample_weight)
    tree.level_numbers(level)
    true, found = tree.node_numbers(y_true), tree.node_numbers(y_pred)
    shared = common_depths(tree, true, found)
    right = (true == found) | (shared >= level)
    return float(np.average(right, weights=weights))


def hierarchical_precision_score(
    y_true: Any, y_pred: Any, *, tree: ClassTree, sample_weight: Any = None
) -> float:
    r"""Return the fraction of the answers' ancestors that are ancestors of the truths.

    .. math:: hP = \frac{\sum_i w_i |A(y_i) \cap A(\hat y_i)|}{\sum_i w_i |A(\hat y_i)|}

    with A(c) the node c and its ancestors without the root. Kiritchenko, Matwin, Nock &
    Famili (2006), Learning and evaluation in the presence of class hierarchies, section
    4. It is 0 if all answers are the root.

    Parameters
    ----------
    y_true, y_pred, tree, sample_weight
        As in `taxo_loss`.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    ValueError
        As in `taxo_loss`.
    """
    shared, _, answered = _sizes(y_true, y_pred, tree, sample_weight)
    return shared / answered if answered else 0.0


def hierarchical_recall_score(
    y_true: Any, y_pred: Any, *, tree: ClassTree, sample_weight: Any = None
) -> float:
    r"""Return the fraction of the truths' ancestors that are ancestors of the answers.

    .. math:: hR = \frac{\sum_i w_i |A(y_i) \cap A(\hat y_i)|}{\sum_i w_i |A(y_i)|}

    Parameters, errors and source as in `hierarchical_precision_score`.

    Returns
    -------
    float
        In [0, 1].
    """
    shared, true, _ = _sizes(y_true, y_pred, tree, sample_weight)
    return shared / true if true else 0.0


def hierarchical_f1_score(
    y_true: Any, y_pred: Any, *, tree: ClassTree, sample_weight: Any = None
) -> float:
    """Return the harmonic mean of the hierarchical precision and recall.

    Parameters, errors and source as in `hierarchical_precision_score`.

    Returns
    -------
    float
        In [0, 1].
    """
    shared, true, answered = _sizes(y_true, y_pred, tree, sample_weight)
    return 2 * shared / (true + answered) if true + answered else 0.0


def _checked(y_true: Any, y_pred: Any, tree: Any, sample_weight: Any) -> Any:
    """Return labels (n_samples,) and their weights, or None.

    Raises
    ------
    TypeError
        If the tree is no `ClassTree`.
    ValueError
        If there are no labels, their numbers differ, or one is missing.
    """
    check_class_tree(tree, "tree")
    y_true, y_pred = column_or_1d(y_true), column_or_1d(y_pred)
    refuse_negative_weights(sample_weight)
    check_consistent_length(y_true, y_pred, sample_weight)
    if len(y_true) == 0:
        raise ValueError("There are no labels, y_true and y_pred are empty.")
    for name, labels in {"y_true": y_true, "y_pred": y_pred}.items():
        _check_there(name, labels)
    if sample_weight is not None:
        sample_weight = _check_sample_weight(sample_weight, y_true)
    return y_true, y_pred, sample_weight


def _check_there(name: str, labels: np.ndarray) -> None:
    """Raise ValueError for a label that is missing."""
    row = next((i for i, v in enumerate(labels.tolist()) if is_missing(v)), None)
    if row is None:
        return
    if name == "y_pred":
        raise ValueError(
            f"y_pred has rows without an answer ({labels[row]}), as predict(reject=...)"
            " leaves open: leave these rows out, or see okl.metrics.reject_curve."
        )
    raise ValueError(
        f"{name} has no label in row {row} ({labels[row]}): leave such rows out."
    )


def _sizes(
    y_true: Any, y_pred: Any, tree: ClassTree, sample_weight: Any
) -> tuple[float, float, float]:
    """Return the weighted sums of set sizes: shared, of truths, of answers."""
    y_true, y_pred, weights = _checked(y_true, y_pred, tree, sample_weight)
    true, found = tree.node_numbers(y_true), tree.node_numbers(y_pred)
    weights = np.ones(len(true)) if weights is None else weights
    return (
        float(weights @ common_depths(tree, true, found)),
        float(weights @ tree.depths[true]),
        float(weights @ tree.depths[found]),
    )
