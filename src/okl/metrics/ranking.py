"""Scores of probabilities: the rank of the truth, and the cost with some rows rejected.

A classifier whose probabilities show where it is unsure makes fewer errors if it does
not answer the rows where it is. The reject curve shows how many, for every share of
rows that is answered.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_consistent_length,
    column_or_1d,
)

from okl.decisions import answers, as_cost
from okl.decisions.checks import check_sums
from okl.numerics.validation import refuse_negative_weights
from okl.trees import ClassTree, check_class_tree


class RejectCurve(NamedTuple):
    """The cost of answers, added up from the surest row on.

    Attributes
    ----------
    answered : array (n_points,)
        The share of rows that are answered, increasing from 0 to 1.
    costs : array (n_points,)
        The total cost of these answers, divided by the number of *all* rows: from 0 to
        the mean cost of all answers.
    thresholds : array (n_points,)
        The ``reject`` of `okl.decisions.decide` with which these rows are answered: the
        largest expected cost among them; -inf for no rows.
    """

    answered: np.ndarray
    costs: np.ndarray
    thresholds: np.ndarray


def mean_reciprocal_rank(
    y_true: Any,
    y_proba: Any,
    *,
    labels: Any = None,
    tree: ClassTree | None = None,
    sample_weight: Any = None,
) -> float:
    r"""Return the mean of 1 over the rank of the true class.

    .. math:: \frac{1}{\sum_i w_i} \sum_i w_i / r_i(y_i), \qquad
              r_i(c) = |\{c' : p_{ic'} \ge p_{ic}\}|

    Seeger (2006), section 8.2, where it is called precision. A class that is not among
    ``labels`` has no rank, and counts 0.

    Parameters
    ----------
    y_true : array (n_samples,)
        Classes.
    y_proba : array (n_samples, n_classes)
        Probabilities, or other scores that are larger for likelier classes. For two
        classes the column of the second is enough, as scikit-learn's scorers pass it.
    labels : array (n_classes,), optional
        The classes in the order of the columns, such as ``classes_``; None for those of
        the tree, or, without a tree, for those of ``y_true``.
    tree : ClassTree, optional
        With it labels that are different names of one node are equal.
    sample_weight : array (n_samples,), optional
        Weights w of the rows.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    ValueError
        If shapes differ, if the number of columns is not that of the classes, or if the
        columns may have another order than the tree.

    Examples
    --------
    >>> from okl.metrics import mean_reciprocal_rank
    >>> p = [[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]]
    >>> mean_reciprocal_rank(["a", "b"], p, labels=["a", "b", "c"])
    0.75
    """
    y_true, p, classes, weights = _checked(y_true, y_proba, labels, tree, sample_weight)
    known, columns = _columns(y_true, classes, tree)
    own = np.take_along_axis(p, columns[:, None], axis=1)
    reciprocal = known / np.sum(p >= own, axis=1)
    return float(np.average(reciprocal, weights=weights))


def reject_curve(
    y_true: Any,
    y_proba: Any,
    *,
    labels: Any = None,
    tree: ClassTree | None = None,
    decision: Any = "accuracy",
    sample_weight: Any = None,
) -> RejectCurve:
    """Return the cost of answers when the least sure ones are not given.

    The answer of a row is the class of least expected cost, and rows are answered in
    the order of that cost. At k answers the curve is their total cost divided by the
    number of all rows: its right end is the mean cost, for ``"accuracy"`` the error.
    Seeger (2006), footnote 11. Rows of the same expected cost are answered together.

    Parameters
    ----------
    y_true, labels, tree, sample_weight
        As in `mean_reciprocal_rank`; a tree is needed for ``"taxo"`` and ``"parent"``.
    y_proba : array (n_samples, n_classes)
        Probabilities.
    decision : {"accuracy", "taxo", "parent"} or array, default="accuracy"
        The cost of answers, as in `okl.decisions.decide`.

    Returns
    -------
    RejectCurve
        ``(answered, costs, thresholds)``.

    Raises
    ------
    ValueError
        As in `mean_reciprocal_rank` and `okl.decisions.decide`.
    """
    y_true, p, classes, weights = _checked(y_true, y_proba, labels, tree, sample_weight)
    check_sums(p, "y_proba")
    cost = as_cost(decision, classes, tree)
    found = answers(cost, p)
    paid = cost.of(y_true, classes[found.columns])
    weights = np.ones(len(paid)) if weights is None else weights
    order = np.argsort(found.expected_costs, kind="stable")
    sure = found.expected_costs[order]
    last = np.append(sure[1:] > sure[:-1], True)  # the last row of each expected cost
    total = weights.sum()
    answered = np.cumsum(weights[order])[last] / total
    costs = np.cumsum((weights * paid)[order])[last] / total
    return RejectCurve(
        np.append(0.0, answered), np.append(0.0, costs), np.append(-np.inf, sure[last])
    )


def reject_curve_area(
    y_true: Any,
    y_proba: Any,
    *,
    labels: Any = None,
    tree: ClassTree | None = None,
    decision: Any = "accuracy",
    sample_weight: Any = None,
) -> float:
    """Return the area under the reject curve; less is better.

    The curve is linear between the points of `reject_curve`. For answers in a random
    order the area is half the mean cost.

    Parameters and errors as in `reject_curve`.

    Returns
    -------
    float
    """
    curve = reject_curve(
        y_true,
        y_proba,
        labels=labels,
        tree=tree,
        decision=decision,
        sample_weight=sample_weight,
    )
    return float(np.trapezoid(curve.costs, curve.answered))


def _checked(
    y_true: Any, y_proba: Any, labels: Any, tree: ClassTree | None, sample_weight: Any
) -> Any:
    """Return labels, probabilities, classes and weights of one length."""
    if tree is not None:
        check_class_tree(tree, "tree")
    y_true = column_or_1d(y_true)
    p = check_array(y_proba, dtype=np.float64, ensure_2d=False, input_name="y_proba")
    refuse_negative_weights(sample_weight)
    check_consistent_length(y_true, p, sample_weight)
    if p.ndim == 1:
        p = np.stack([1 - p, p], axis=1)
    if labels is not None:
        classes = column_or_1d(labels)
    else:
        classes = np.unique(y_true) if tree is None else _leaves(tree, y_true)
    if p.shape[1] != len(classes):
        raise ValueError(
            f"y_proba has {p.shape[1]} columns for {len(classes)} classes; pass the "
            "classes of the columns as labels, such as model.classes_."
        )
    if sample_weight is not None:
        sample_weight = _check_sample_weight(sample_weight, y_true)
    return y_true, p, classes, sample_weight


def _leaves(tree: ClassTree, y_true: np.ndarray) -> np.ndarray:
    """Return the leaves in the order of the tree.

    Raises
    ------
    ValueError
        If labels use the other names of nodes, whose sorted order differs: a model
        fitted to such labels has its columns in that order.
    """
    others = tree.node_names.both(tree.leaves)[1]
    sorted_alike = np.array_equal(np.argsort(others), np.arange(tree.n_classes))
    distinct = len(set(others.tolist())) == tree.n_classes
    used = set(y_true.tolist()) <= set(tree.names.tolist())
    if not used and distinct and not sorted_alike:
        raise ValueError(
            "The order of the columns of y_proba is ambiguous: full paths and own "
            "names of the classes sort differently, and y_true has other names than "
            "the tree. Pass the classes of the columns of y_proba as labels, such as "
            "model.classes_."
        )
    return tree.classes_


def _columns(
    y_true: np.ndarray, classes: np.ndarray, tree: ClassTree | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return which labels are among the classes, and their columns, else any."""
    if tree is not None:
        y_true, classes = tree.node_numbers(y_true), tree.node_numbers(classes)
    order = np.argsort(classes)
    found = np.searchsorted(classes, y_true, sorter=order)
    columns = order[np.minimum(found, len(order) - 1)]
    return classes[columns] == y_true, columns
