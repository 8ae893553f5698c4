"""What classifiers have in common: labels in, scores, probabilities and labels out."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from okl.decisions import deepest_nodes
from okl.decisions.nodes import check_min_probability
from okl.estimators.base import OutputKernelModel
from okl.estimators.calls import checks_its_arguments, refuse_a_scorer_without_tasks
from okl.estimators.decisions import nodes_asked, reached, rule_asked, tree_of
from okl.estimators.known_classes import known_labels, warn_of_unseen
from okl.estimators.label_coder import LabelCoder
from okl.estimators.labels import label_weights, validated_labels
from okl.estimators.output_names import in_order_of_fit, weights_in_order
from okl.estimators.probabilities import check_temperature, where_probable
from okl.estimators.rare_labels import RareLabels
from okl.estimators.targets import TrainingTargets
from okl.estimators.units import Units
from okl.estimators.weights import checked_weights, class_weights, combined, of_rows
from okl.losses import LOSSES, Loss
from okl.metrics.missing import accuracy_score
from okl.problems import Observed


class ClassificationMixin(ClassifierMixin, OutputKernelModel):
    """From labels to targets, and from scores to labels."""

    _task = "classification"
    _coder: LabelCoder
    _rare_labels: RareLabels | None = None
    class_weight: Any
    temperature: Any
    _chosen_temperature: ClassVar[str | None] = None  # the word for one to be chosen

    def __sklearn_tags__(self) -> Any:
        """Declare that label indicator matrices are taken, if the loss takes them."""
        tags = super().__sklearn_tags__()
        loss = LOSSES.get(self.loss) if isinstance(self.loss, str) else self.loss
        capabilities: frozenset[str] = getattr(loss, "capabilities", frozenset())
        several = self.loss is None or "multilabel" in capabilities
        tags.classifier_tags.multi_label = several
        return tags

    def _loss_of(self, loss: Loss, *, by_output: bool) -> Loss:
        """Return the loss, given whether each output decides between two classes."""
        return loss

    def _enter(
        self, X: Any, y: Any, loss: Loss, sample_weight: Any, task: Any
    ) -> tuple[Any, np.ndarray, TrainingTargets]:
        """Check what was given to fit, set the classes; return X, labels, targets."""
        X, labels, kind, tasks = validated_labels(self, X, y, task, loss)
        loss = self._loss_of(loss, by_output=kind != "multiclass")
        sample_weight = weights_in_order(self, sample_weight)
        weights = label_weights(labels, kind, sample_weight)
        assert loss.coding is not None  # it is for classification
        classes, candidates = None, None
        if kind != "multilabel" and tasks is None:
            labels, classes, candidates = known_labels(
                self._given_structures(), labels, loss, self.class_weight
            )
        coder = LabelCoder.of(labels, kind, loss.coding, weights, classes)
        temperature = self.temperature
        if not isinstance(temperature, str) or temperature != self._chosen_temperature:
            n_labels = labels.shape[1] if kind == "multilabel" else None
            coder = coder.at(check_temperature(temperature, n_labels))
        targets = coder.targets(labels)
        if candidates is not None:
            targets = candidates / candidates.sum(axis=1, keepdims=True)
        self._coder, self.classes_ = coder, coder.classes
        of_classes = class_weights(
            self.class_weight, labels, coder.classes, coder.kind, weights
        )
        observed = Observed(
            targets, loss, combined(weights, of_classes), tasks, classes is not None
        )
        self._lacks_rows = self.fit_intercept and observed.forbids_intercept
        if classes is not None and self._lacks_rows:
            warn_of_unseen(classes, labels, of_rows(weights), candidates)
        by_label = tasks is not None or kind == "multilabel"
        self._rare_labels = None
        if by_label and self.fit_intercept and "probabilities" in loss.capabilities:
            self._rare_labels = RareLabels.of(observed)
        given = checked_weights(sample_weight, labels.shape)
        entries = given is not None and given.shape[1] > 1
        one = targets.shape[1] == 1 and coder.kind == "binary" and tasks is None
        entered = TrainingTargets(
            observed,
            one_dimensional=one,
            units=Units.as_given(observed.n_outputs),
            row_weights=of_rows(weights),
            # in a score each label has a weight of its own, of classes each row has one
            score_weights=given if entries else of_rows(combined(given)),
            class_weights=of_rows(of_classes),
            candidates=candidates,
        )
        return X, labels, entered

    @property
    def _names_of_outputs(self) -> np.ndarray | None:
        """The classes, or the names of labels or tasks."""
        one_label = self._coder.kind != "multilabel"
        names = getattr(self, "output_names_", None)
        return self.classes_ if one_label and names is None else names

    def _coded_scores(self, X: Any, task: Any) -> tuple[LabelCoder, np.ndarray]:
        """Return the scores, and what reads them."""
        scores = self._scores(X, task)
        every_task = self._has_tasks and task is None
        return self._coder.of_every_task() if every_task else self._coder, scores

    def decision_function(self, X: Any, task: Any = None) -> np.ndarray:
        """Return the scores of the classes.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n_samples, n_features)
            Rows; ``K(X, X_train)`` for ``kernel="precomputed"``.
        task : array (n_samples,), optional
            After a fit in long form, the one task to score in each row; None for all
            tasks.

        Returns
        -------
        array (n_samples,), (n_samples, n_classes), (n_samples, n_labels) or tasks
            One score per row for two classes, positive for ``classes_[1]``; else
            one per class, or one per label, positive where the label is present.
            For all tasks one per task, positive for ``classes_[1]``.
        """
        coder, scores = self._coded_scores(X, task)
        return coder.decision(scores)

    @where_probable
    def predict_proba(
        self, X: Any, task: Any = None, *, level: int | None = None, nodes: Any = None
    ) -> np.ndarray:
        """Return the probabilities of the classes, where the loss has them.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n_samples, n_features)
            Rows; ``K(X, X_train)`` for ``kernel="precomputed"``.
        task : array (n_samples,), optional
            As in `decision_function`.
        level : int, optional
            Where the structure has a tree of the classes, ``class_tree``: return those
            of the nodes ``class_tree.nodes(level)`` instead, 1 for the children of the
            root. They are the sums over the classes below each node.
        nodes : array (n,), optional
            Return those of the nodes with these names instead.

        Returns
        -------
        array (n_samples, n_classes), (n_samples, n_labels) or (n_samples, n_tasks)
            In the order of ``classes_``; for label indicators the probability that
            each label is present, for all tasks that of ``classes_[1]``. With ``level``
            or ``nodes`` a column for each node. A label, or task, whose rows were all
            on one side in the fit has an infinite intercept: its score is replaced by
            the log odds with half a row added on each side. The probability of a label
            with a single row on a side is drawn half way to the rate of such rows, or
            to one half (`okl.estimators.rare_labels`).

        Raises
        ------
        ValueError
            For nodes without a tree, or that it does not have; and to scikit-learn's
            scorers, which would take the column of a task for that of a class.
        """
        check_is_fitted(self)
        if task is None and self._has_tasks:
            refuse_a_scorer_without_tasks("predict_proba")
        of_nodes = nodes_asked(self, level, nodes)
        probabilities = np.exp(self.predict_log_proba(X, task))
        return probabilities if of_nodes is None else of_nodes(probabilities)

    @where_probable
    def predict_log_proba(self, X: Any, task: Any = None) -> np.ndarray:
        """Return the logarithms of `predict_proba`, without underflow."""
        check_is_fitted(self)
        coder, scores = self._coded_scores(X, task)
        if self._rare_labels is not None:
            own = None if task is None else self._tasks_of(task, X).codes
            scores = self._rare_labels.scores(scores, coder.temperature, own)
        return coder.log_probabilities(scores)

    @checks_its_arguments
    def predict(
        self,
        X: Any,
        task: Any = None,
        *,
        decision: Any = "accuracy",
        reject: float | None = None,
    ) -> np.ndarray:
        """Predict the class, or the label indicators, of each row.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n_samples, n_features)
            Rows; ``K(X, X_train)`` for ``kernel="precomputed"``.
        task : array (n_samples,), optional
            After a fit in long form, the one task to predict in each row; None for all
            tasks, a column for each.
        decision : {"accuracy", "taxo", "parent"} or array, default="accuracy"
            What an error costs: the class of least expected cost is predicted.
            ``"taxo"`` is half the length of the path in the tree of the structure from
            the true class, ``"parent"`` 1 for a wrong parent, an array (n_classes,
            n_classes) has a row for each true class and a column for each answer, in
            the order of ``classes_``. All but ``"accuracy"`` need a loss with
            probabilities. See `okl.decisions.decide`.
        reject : float, optional
            What no answer costs: None is predicted where the least expected cost is
            larger. With ``"accuracy"`` and 0.2 that is where no class has probability
            0.8. The array is then of dtype object.

        Returns
        -------
        array (n_samples,), (n_samples, n_labels) or (n_samples, n_tasks)

        Raises
        ------
        ValueError
            For a task that was not there in the fit; a decision that needs
            probabilities, a tree or one class a row where there is none; or costs that
            do not fit the classes.
        """
        check_is_fitted(self)
        rule = rule_asked(self, decision, reject, task)
        if rule is not None:
            return rule(np.exp(self.predict_log_proba(X, task)))
        coder, scores = self._coded_scores(X, task)
        return coder.labels(scores)

    @where_probable
    def predict_node(self, X: Any, min_probability: float = 0.9) -> np.ndarray:
        """Predict the deepest node of the tree of classes that is probable enough.

        A class where that is safe, else a node above the likely ones.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n_samples, n_features)
            Rows; ``K(X, X_train)`` for ``kernel="precomputed"``.
        min_probability : float, default=0.9
            What the probability of the node must be at least, in (0, 1].

        Returns
        -------
        array (n_samples,)
            Classes and names of nodes; the root, whose name is ``"/"`` in trees of
            paths, where no other is as probable.

        Raises
        ------
        ValueError
            If the structure has no tree, or ``min_probability`` is out of range.
        """
        check_min_probability(min_probability)
        tree = tree_of(self, f"predict_node(min_probability={min_probability})")
        return deepest_nodes(
            self.predict_proba(X), min_probability, classes=self.classes_, tree=tree
        )

    @checks_its_arguments
    def score(
        self, X: Any, y: Any, sample_weight: Any = None, task: Any = None
    ) -> float:
        """Return the accuracy: of whole rows for label indicators.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n_samples, n_features)
            Rows.
        y : array (n_samples,) or (n_samples, n_labels)
            Classes, or label indicators: a row is right if all its labels are that
            were observed, which are those that are not NaN. Columns of a DataFrame
            are matched with the labels by name.
        sample_weight : array (n_samples,), optional
            Weights of the rows.
        task : array (n_samples,), optional
            After a fit in long form, and only then, the task of each row.
        """
        self._require_task(task)
        predictions = self.predict(X, task=task)
        if np.ndim(y) == 2:
            y = in_order_of_fit(self, y)
        y, predictions = reached(self, y, predictions)
        return float(accuracy_score(y, predictions, sample_weight=sample_weight))
