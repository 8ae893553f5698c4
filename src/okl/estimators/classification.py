"""What classifiers have in common: labels in, scores, probabilities and labels out."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from okl.coding.labels import Kind
from okl.coding.tasks import Tasks
from okl.estimators.base import OutputKernelModel
from okl.estimators.label_coder import LabelCoder
from okl.estimators.long_form import enter_long_form
from okl.estimators.probabilities import where_probable
from okl.estimators.targets import (
    TrainingTargets,
    classification_kind,
    label_weights,
    set_output_names,
)
from okl.estimators.weights import checked_weights, class_weights, combined, of_rows
from okl.losses import LOSSES, Loss, as_loss
from okl.metrics.missing import accuracy_score, partly_observed
from okl.problems import Observed


class ClassificationMixin(ClassifierMixin, OutputKernelModel):
    """From labels to targets, and from scores to labels."""

    _task = "classification"
    _coder: LabelCoder
    class_weight: Any

    def __sklearn_tags__(self) -> Any:
        """Declare that label indicator matrices are taken, if the loss takes them."""
        tags = super().__sklearn_tags__()
        loss = LOSSES.get(self.loss) if isinstance(self.loss, str) else self.loss
        capabilities: frozenset[str] = getattr(loss, "capabilities", frozenset())
        tags.classifier_tags.multi_label = "multilabel" in capabilities
        return tags

    def _validate_labels(
        self, X: Any, y: Any, task: Any
    ) -> tuple[Any, np.ndarray, Kind, Tasks | None]:
        """Check X, y and task; return X, the labels, their kind and the tasks."""
        names = y
        if partly_observed(y):
            X, y = self._validate_numbers(X, y)
        else:
            X, y = self._validate_rows(X, reset=True, y=y, multi_output=True)
        labels, kind = classification_kind(y)
        set_output_names(self, names if kind == "multilabel" else None)
        if task is None:
            return X, labels, kind, None
        if kind != "binary":
            raise ValueError(
                f"With task every row has one of two classes; got {kind} y. Leave task "
                "out, or fit one classifier for each class."
            )
        loss = as_loss(self.loss)
        if "multilabel" not in loss.capabilities:
            raise ValueError(
                f"The loss {loss.name or loss!r} has several outputs for two classes, "
                "and with task each task is one output; use another loss, such as "
                "'logistic'."
            )
        labels, tasks = enter_long_form(self, labels, task)
        return X, labels, kind, tasks

    def _enter(
        self, X: Any, y: Any, loss: Loss, sample_weight: Any, task: Any
    ) -> tuple[Any, np.ndarray, TrainingTargets]:
        """Check what was given to fit, set the classes; return X, labels, targets."""
        X, labels, kind, tasks = self._validate_labels(X, y, task)
        weights = label_weights(labels, kind, sample_weight)
        assert loss.coding is not None  # it is for classification
        coder = LabelCoder.of(labels, kind, loss.coding, weights)
        targets = coder.targets(labels)
        self._coder, self.classes_ = coder, coder.classes
        of_classes = class_weights(
            self.class_weight, labels, coder.classes, coder.kind, weights
        )
        given = checked_weights(sample_weight, labels.shape)
        one = targets.shape[1] == 1 and coder.kind == "binary" and tasks is None
        return (
            X,
            labels,
            TrainingTargets(
                Observed(targets, loss, combined(weights, of_classes), tasks),
                one_dimensional=one,
                row_weights=of_rows(weights),
                score_weights=of_rows(combined(given, of_classes)),
            ),
        )

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
    def predict_proba(self, X: Any, task: Any = None) -> np.ndarray:
        """Return the probabilities of the classes, where the loss has them.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n_samples, n_features)
            Rows; ``K(X, X_train)`` for ``kernel="precomputed"``.
        task : array (n_samples,), optional
            As in `decision_function`.

        Returns
        -------
        array (n_samples, n_classes), (n_samples, n_labels) or (n_samples, n_tasks)
            In the order of ``classes_``; for label indicators the probability that
            each label is present, for all tasks that of ``classes_[1]``.
        """
        return np.exp(self.predict_log_proba(X, task))

    @where_probable
    def predict_log_proba(self, X: Any, task: Any = None) -> np.ndarray:
        """Return the logarithms of `predict_proba`, without underflow."""
        check_is_fitted(self)
        coder, scores = self._coded_scores(X, task)
        return coder.log_probabilities(scores)

    def predict(self, X: Any, task: Any = None) -> np.ndarray:
        """Predict the class, or the label indicators, of each row.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n_samples, n_features)
            Rows; ``K(X, X_train)`` for ``kernel="precomputed"``.
        task : array (n_samples,), optional
            As in `decision_function`.

        Returns
        -------
        array (n_samples,), (n_samples, n_labels) or (n_samples, n_tasks)

        Raises
        ------
        ValueError
            For a task that was not there in the fit.
        """
        check_is_fitted(self)
        coder, scores = self._coded_scores(X, task)
        return coder.labels(scores)

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
            were observed, which are those that are not NaN.
        sample_weight : array (n_samples,), optional
            Weights of the rows.
        task : array (n_samples,), optional
            After a fit in long form, and only then, the task of each row.
        """
        self._require_task(task)
        predictions = self.predict(X, task=task)
        return float(accuracy_score(y, predictions, sample_weight=sample_weight))
