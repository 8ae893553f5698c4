"""What a search passes on to the estimator that it found to be the best."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from okl.estimators.calls import checks_its_arguments

# Fitted attributes that a search takes over from its best estimator.
_SHARED = ("classes_", "feature_names_in_", "n_features_in_", "output_names_")


def _estimator_has(name: str) -> Any:
    """Return a check that raises AttributeError if the estimator lacks a method."""

    def check(search: ByBestEstimator) -> bool:
        getattr(getattr(search, "best_estimator_", search.estimator), name)
        return True

    return check


class ByBestEstimator(MetaEstimatorMixin, BaseEstimator):
    """Base of a search: it predicts, and scores, by ``best_estimator_``.

    Before the fit ``estimator`` says which methods there are.
    """

    estimator: Any
    best_estimator_: Any

    def __sklearn_tags__(self) -> Any:
        """Take over what the estimator says of its input and output."""
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = deepcopy(inner.classifier_tags)
        tags.regressor_tags = deepcopy(inner.regressor_tags)
        tags.target_tags = deepcopy(inner.target_tags)
        tags.input_tags = deepcopy(inner.input_tags)
        return tags

    def _adopt(self, fitted: Any) -> None:
        """Set ``best_estimator_``, and take over some of its attributes."""
        self.best_estimator_ = fitted
        for name in _SHARED:
            self.__dict__.pop(name, None)
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))

    @available_if(_estimator_has("predict"))
    def predict(self, X: Any, **options: Any) -> Any:
        """Predict by the best estimator; options are those of its `predict`."""
        return self._best.predict(X, **options)

    @available_if(_estimator_has("predict_interval"))
    def predict_interval(
        self, X: Any, coverage: float = 0.95, **options: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Predict intervals by the best estimator; options are the estimator's."""
        found: tuple[np.ndarray, np.ndarray] = self._best.predict_interval(
            X, coverage, **options
        )
        return found

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: Any, **options: Any) -> np.ndarray:
        """Return the probabilities of the classes; options are the estimator's."""
        return self._best.predict_proba(X, **options)

    @available_if(_estimator_has("predict_node"))
    def predict_node(self, X: Any, min_probability: float = 0.9) -> np.ndarray:
        """Predict the deepest node of the tree of classes that is probable enough."""
        return self._best.predict_node(X, min_probability)

    @available_if(_estimator_has("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the probabilities of the classes."""
        return self._best.predict_log_proba(X)

    @available_if(_estimator_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of the classes by the best estimator."""
        return self._best.decision_function(X)

    @checks_its_arguments
    def score(
        self, X: Any, y: Any, sample_weight: Any = None, task: Any = None
    ) -> float:
        """Return the score of the best estimator: mean R^2, or accuracy.

        After a fit in long form ``task`` is the task of each row.
        """
        options = {} if task is None else {"task": task}
        return self._best.score(X, y, sample_weight=sample_weight, **options)

    @property
    def _best(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_
