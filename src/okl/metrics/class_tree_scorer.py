"""The scores of a classifier whose classes are the leaves of a tree, as one scorer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from okl.decisions import decide, node_probabilities
from okl.metrics.class_tree import (
    hierarchical_f1_score,
    hierarchical_precision_score,
    hierarchical_recall_score,
    parent_accuracy_score,
    taxo_loss,
)
from okl.metrics.ranking import mean_reciprocal_rank, reject_curve_area
from okl.numerics.validation import check_choice
from okl.trees import ClassTree, check_class_tree
from okl.trees.relatives import are_below


@dataclass(frozen=True)
class _Scored:
    """Rows with their classes, and the predictions of a classifier for them."""

    tree: ClassTree
    estimator: Any
    X: Any
    y: Any
    sample_weight: Any

    @cached_property
    def probabilities(self) -> np.ndarray:
        return self.estimator.predict_proba(self.X)

    @cached_property
    def predicted(self) -> np.ndarray:
        return self.estimator.predict(self.X)

    def accuracy(self) -> float:
        """Return the weighted fraction of right answers, compared as nodes.

        Where the truth is an inner node, all answers below it are right.
        """
        numbers = self.tree.node_numbers
        right = are_below(self.tree, numbers(self.predicted), numbers(self.y))
        return float(np.average(right, weights=self.sample_weight))

    def log_likelihood(self) -> float:
        """Return the weighted mean log of the probabilities of the true nodes.

        As in scikit-learn a probability counts as the machine epsilon at least.
        """
        classes, numbers = self.estimator.classes_, self.tree.node_numbers(self.y)
        found = node_probabilities(self.probabilities, classes=classes, tree=self.tree)
        true = np.take_along_axis(found, numbers[:, None], axis=1)[:, 0]
        likely = np.clip(true, np.finfo(np.float64).eps, None)
        return float(np.average(np.log(likely), weights=self.sample_weight))

    def of_predictions(self, score: Callable[..., float]) -> float:
        """Score the predictions."""
        return score(
            self.y, self.predicted, tree=self.tree, sample_weight=self.sample_weight
        )

    def of_decisions(self, score: Callable[..., float], decision: str) -> float:
        """Score the answers of least expected cost."""
        classes = self.estimator.classes_
        found = decide(self.probabilities, decision, classes=classes, tree=self.tree)
        return score(self.y, found, tree=self.tree, sample_weight=self.sample_weight)

    def of_probabilities(self, score: Callable[..., float]) -> float:
        """Score the probabilities."""
        return score(
            self.y,
            self.probabilities,
            labels=self.estimator.classes_,
            tree=self.tree,
            sample_weight=self.sample_weight,
        )


_SCORES: dict[str, Callable[[_Scored], float]] = {
    "accuracy": lambda rows: rows.accuracy(),
    "mean_reciprocal_rank": lambda rows: rows.of_probabilities(mean_reciprocal_rank),
    "neg_taxo_loss": lambda rows: -rows.of_decisions(taxo_loss, "taxo"),
    "neg_taxo_loss_0_1": lambda rows: -rows.of_predictions(taxo_loss),
    "parent_accuracy": lambda rows: rows.of_decisions(parent_accuracy_score, "parent"),
    "parent_accuracy_0_1": lambda rows: rows.of_predictions(parent_accuracy_score),
    "hierarchical_precision": lambda rows: rows.of_predictions(
        hierarchical_precision_score
    ),
    "hierarchical_recall": lambda rows: rows.of_predictions(hierarchical_recall_score),
    "hierarchical_f1": lambda rows: rows.of_predictions(hierarchical_f1_score),
    "neg_reject_curve_area": lambda rows: -rows.of_probabilities(reject_curve_area),
    "neg_log_loss": lambda rows: rows.log_likelihood(),
}


@dataclass(frozen=True)
class ClassTreeScorer:
    """A scorer of classifiers whose classes are leaves of a tree.

    It can be the ``scoring`` of scikit-learn's `cross_validate`, of the CV estimators
    and of searches, which need a single score. Any classifier can be scored, whether it
    uses the tree or not; its ``classes_`` may be only some of the leaves.

    ========================== =========================================================
    score, larger is better    what it is
    ========================== =========================================================
    ``accuracy``               of ``predict``; below a truth that is an inner node is
                               right
    ``mean_reciprocal_rank``   of the true class among the probabilities
    ``neg_taxo_loss``          minus the taxo-loss of the answers that are expected to
                               have the least
    ``neg_taxo_loss_0_1``      minus the taxo-loss of ``predict``
    ``parent_accuracy``        of the answers that are expected to have the largest
    ``parent_accuracy_0_1``    that of ``predict``
    ``hierarchical_precision`` of ``predict``, and so ``hierarchical_recall`` and
                               ``hierarchical_f1``
    ``neg_reject_curve_area``  minus the area under the reject curve of the error
    ``neg_log_loss``           the mean log probability of the truth, of an inner node
                               that of all classes below it; scikit-learn's has NaN
                               where a leaf of the tree has no row
    ========================== =========================================================

    The first six are the columns of Table 1 of Seeger (2006). If a truth is an inner
    node, all scores but ``accuracy`` and ``neg_log_loss`` count only that node as
    right, and the classes below it as errors: leave such rows out to compare these
    scores.

    Parameters
    ----------
    tree : ClassTree
    metric : str, optional
        One of these names, for a single score; None for a dict of all scores.

    Raises
    ------
    TypeError
        If the tree is no `ClassTree`.
    ValueError
        For an unknown name.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_validate
    >>> from okl import ClassTree
    >>> from okl.metrics import ClassTreeScorer
    >>> tree = ClassTree.from_paths(["animal/cat", "animal/dog", "plant"])
    >>> X, y = [[0.0], [1.0], [9.0]] * 4, ["cat", "dog", "plant"] * 4
    >>> scores = cross_validate(
    ...     LogisticRegression(), X, y, cv=2, scoring=ClassTreeScorer(tree)
    ... )
    >>> scores["test_parent_accuracy"].tolist()
    [1.0, 1.0]
    """

    tree: ClassTree
    metric: str | None = None

    def __post_init__(self) -> None:
        """Check the tree and the name."""
        check_class_tree(self.tree, "tree")
        check_choice(self.metric, "metric", (*_SCORES, None))

    def __call__(
        self, estimator: Any, X: Any, y: Any, sample_weight: Any = None
    ) -> float | dict[str, float]:
        """Return the score of a fitted classifier, or all scores by name."""
        rows = _Scored(self.tree, estimator, X, y, sample_weight)
        if self.metric is not None:
            return _SCORES[self.metric](rows)
        return {name: score(rows) for name, score in _SCORES.items()}
