"""Decisions by probabilities: the class of least expected cost, or no answer."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from okl.decisions.checks import checked_probabilities
from okl.decisions.costs import Cost, as_cost
from okl.trees import ClassTree


@dataclass(frozen=True)
class Answers:
    """Answers, and their expected costs.

    Attributes
    ----------
    columns : array of int (n_samples,)
        The number of the class that is the answer.
    expected_costs : array (n_samples,)
    """

    columns: np.ndarray
    expected_costs: np.ndarray


def answers(cost: Cost, probabilities: np.ndarray) -> Answers:
    """Return the answers of least expected cost; of several, the most probable one.

    Parameters
    ----------
    cost : Cost
    probabilities : array (n_samples, n_classes)
    """
    costs = cost.expected(probabilities)
    least = np.min(costs, axis=1)
    likeliest = np.where(costs == least[:, None], probabilities, -1.0)
    return Answers(np.argmax(likeliest, axis=1), least)


def decide(
    probabilities: Any,
    decision: Any = "accuracy",
    *,
    classes: Any,
    tree: ClassTree | None = None,
    reject: float | None = None,
) -> np.ndarray:
    """Return the class of least expected cost for each row of probabilities.

    Parameters
    ----------
    probabilities : array (n_samples, n_classes)
        Class probabilities, as ``predict_proba`` of any classifier returns them.
    decision : {"accuracy", "taxo", "parent"} or array, default="accuracy"
        The cost of an answer. ``"accuracy"``: 1 if it is wrong. ``"taxo"``: half the
        length of the path in the tree from the true class to it. ``"parent"``: 1 if its
        parent is wrong. Or a matrix (n_classes, n_classes) with a row for each true
        class and a column for each answer. Seeger (2006), section 8.2.
    classes : array (n_classes,)
        The classes in the order of the columns, such as ``classes_``: all leaves of the
        tree or some. Answers are among them.
    tree : ClassTree, optional
        A tree whose leaves the classes are, for ``"taxo"`` and ``"parent"``.
    reject : float, optional
        The cost of giving no answer. If the expected cost of the best answer is larger,
        the result is None (Chow's rule); with ``"accuracy"`` and 0.2 that is where the
        most probable class has a probability below 0.8.

    Returns
    -------
    array (n_samples,)
        Classes; with ``reject`` of dtype object, with None where there is no answer.

    Raises
    ------
    TypeError
        If the tree is no `ClassTree`.
    ValueError
        If shapes do not match, rows do not add up to 1, a tree is needed but not given,
        or a class is no leaf.

    References
    ----------
    Seeger (2006), Cross-validation optimization for structured Hessian kernel methods.
    Chow (1970), On optimum recognition error and reject tradeoff. IEEE Transactions on
    Information Theory 16.

    Examples
    --------
    >>> from okl import ClassTree
    >>> from okl.decisions import decide
    >>> tree = ClassTree.from_paths(["animal/cat", "animal/dog", "plant"])
    >>> p = [[0.33, 0.31, 0.36]]
    >>> decide(p, classes=tree.classes_).tolist()
    ['plant']
    >>> decide(p, "taxo", classes=tree.classes_, tree=tree).tolist()
    ['animal/cat']
    >>> decide(p, classes=tree.classes_, reject=0.5).tolist()
    [None]
    """
    rule = DecisionRule.of(np.asarray(classes), decision, tree, reject)
    return rule(checked_probabilities(probabilities, len(rule.classes)))


@dataclass(frozen=True)
class DecisionRule:
    """The rule from probabilities to classes, checked before there are probabilities.

    Attributes
    ----------
    classes : array (n_classes,)
    cost : Cost
    reject : float or None
        The cost of giving no answer.
    """

    classes: np.ndarray
    cost: Cost
    reject: float | None

    @classmethod
    def of(
        cls, classes: np.ndarray, decision: Any, tree: ClassTree | None, reject: Any
    ) -> DecisionRule:
        """Return the rule; arguments and errors are those of `decide`."""
        check_reject(reject)
        return cls(classes, as_cost(decision, classes, tree), reject)

    def __call__(self, probabilities: np.ndarray) -> np.ndarray:
        """Return the classes (n_samples,), None for no answer."""
        found = answers(self.cost, probabilities)
        labels = self.classes[found.columns]
        if self.reject is None:
            return labels
        labels = labels.astype(object)
        labels[found.expected_costs > self.reject] = None
        return labels


def check_reject(reject: Any) -> None:
    """Raise ValueError unless the value is None or a cost."""
    if reject is None:
        return
    number = isinstance(reject, Real) and not isinstance(reject, bool)
    if not number or not float(reject) >= 0:
        raise ValueError(
            "reject, the cost of giving no answer, must be a number >= 0 or None; got "
            f"{reject!r}."
        )
