"""What is asked of a fitted classifier beyond its classes: nodes, decisions, refusals.

All is checked before rows are evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from okl.decisions import DecisionRule, node_probabilities
from okl.decisions.nodes import numbers_of
from okl.structures import Structure
from okl.trees import ClassTree
from okl.trees.relatives import are_below


def known_tree(model: Any) -> ClassTree | None:
    """Return the tree of classes that a fitted model knows, None if none.

    Where it chose among structures, the tree of one that was not chosen counts as well.
    A tree of labels, or tasks, does not: a row has several of these.
    """
    if model._coder.kind == "multilabel" or model._has_tasks:
        return None
    trees = (structure.class_tree for structure in _structures(model))
    return next((tree for tree in trees if tree is not None), None)


def _structures(model: Any) -> Iterator[Structure]:
    chosen = model.structure_
    yield from chosen if isinstance(chosen, list) else [chosen]
    yield from model._given_structures()


def tree_of(model: Any, what: str) -> ClassTree:
    """Return the tree of classes that the structure of a fitted model has.

    Raises
    ------
    ValueError
        If it has none; the message says what needs one.
    """
    check_is_fitted(model)
    tree = known_tree(model)
    if tree is None:
        raise ValueError(
            f"{what} needs a tree of the classes and one class per row, and this model "
            f"with structure_={model.structure_!r} does not have both: fit one class "
            "per row with structure=okl.structures.Tree(class_tree), or pass "
            "probabilities and a tree to the functions of okl.decisions."
        )
    return tree


def reached(model: Any, labels: Any, predicted: np.ndarray) -> tuple[Any, Any]:
    """Return labels and predictions, renamed to be equal where a prediction is right.

    Where a tree knows a label by two names, one of them is used; a prediction below a
    label that is an inner node is right.
    """
    tree = known_tree(model)
    if tree is None:
        return labels, predicted
    check_consistent_length(labels, predicted)
    true, found = tree.node_numbers(column_or_1d(labels)), tree.node_numbers(predicted)
    return true, np.where(are_below(tree, found, true), true, found)


def nodes_asked(
    model: Any, level: int | None, nodes: Any
) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return what maps probabilities of classes to those of nodes; None for neither."""
    if level is None and nodes is None:
        return None
    tree = tree_of(model, "nodes=..." if level is None else f"level={level}")
    numbers_of(tree, level, nodes)

    def of_nodes(probabilities: np.ndarray) -> np.ndarray:
        return node_probabilities(
            probabilities, classes=model.classes_, tree=tree, level=level, nodes=nodes
        )

    return of_nodes


def rule_asked(
    model: Any, decision: Any, reject: float | None, task: Any
) -> DecisionRule | None:
    """Return the rule of a decision; None for the class of the largest score.

    Raises
    ------
    ValueError
        If the model has no probabilities, no tree where one is needed, or several
        labels for each row.
    """
    if isinstance(decision, str) and decision == "accuracy" and reject is None:
        return None
    if model._coder.kind == "multilabel" or (model._has_tasks and task is None):
        raise ValueError(
            "decision and reject are for one class per row; here every row has several "
            "labels. Leave them out, and use predict_proba to decide for each label."
        )
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"decision and reject need probabilities, which the loss {model.loss!r} "
            "does not provide; fit with loss='softmax' or 'logistic'."
        )
    tree = known_tree(model)
    if isinstance(decision, str) and decision in ("taxo", "parent"):
        tree = tree_of(model, f"decision={decision!r}")
    return DecisionRule.of(model.classes_, decision, tree, reject)
