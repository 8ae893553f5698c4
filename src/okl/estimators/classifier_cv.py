"""Classification that chooses alpha and the structure by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import with_callbacks

from okl.estimators.classifier import ClassificationMixin, labels_of
from okl.estimators.cross_validated import CrossValidated
from okl.estimators.targets import encode
from okl.losses import Loss
from okl.losses.base import Kind


class _HeldOutClassifier(ClassifierMixin, BaseEstimator):
    """Stands for a fitted classifier in front of a scorer: X holds its scores."""

    def __init__(self, classes: np.ndarray, kind: Kind, loss: Loss) -> None:
        self.classes = classes
        self.kind = kind
        self.loss = loss

    @property
    def classes_(self) -> np.ndarray:
        return self.classes

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return X[:, 0] if self.kind == "binary" else X

    def predict(self, X: np.ndarray) -> np.ndarray:
        return labels_of(X, self.kind, self.classes, self.loss)


class OutputKernelClassifierCV(ClassificationMixin, CrossValidated):
    """`OutputKernelClassifier` that chooses alpha and the structure by itself.

    As `OutputKernelRegressorCV`; folds are stratified by class, except for label
    indicators, and the default score is the accuracy (of whole rows for label
    indicators).

    Parameters
    ----------
    kernel, structures, alphas, eps, cv, scoring, n_jobs
        As in `OutputKernelRegressorCV`.
    loss, fit_intercept, tol, max_iter
        As in `OutputKernelClassifier`.

    Attributes
    ----------
    alpha_, structure_, alphas_, scores_, best_score_
        As in `OutputKernelRegressorCV`.
    classes_, dual_coef_, intercept_, output_kernel_, certificate_, ...
        Those of `OutputKernelClassifier` refitted on all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from okl import OutputKernelClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OutputKernelClassifierCV(alphas=10).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    @with_callbacks
    def fit(self, X: Any, y: Any, **params: Any) -> OutputKernelClassifierCV:
        """Choose alpha and structure, then fit on all rows.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n_samples, n_features)
            Training rows; the kernel matrix for ``kernel="precomputed"``.
        y : array (n_samples,), or array or DataFrame (n_samples, n_labels)
            Classes, or label indicators of zeros and ones.
        **params : dict
            Metadata for the splitter (``groups``) and the scorer.

        Returns
        -------
        self
        """
        loss = self._checked_loss()
        X, labels, kind = self._validate_labels(X, y)
        classes, targets = encode(labels, kind, loss)
        self._set_classes(classes, kind)
        self._search(
            X,
            labels,
            targets,
            loss,
            _HeldOutClassifier(classes, kind, loss),
            params,
            one_dimensional=kind == "binary",
        )
        return self
