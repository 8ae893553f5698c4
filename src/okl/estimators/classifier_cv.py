"""Classification that chooses kernel, structure and alpha by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from okl.estimators.classification import ClassificationMixin
from okl.estimators.cross_validated import CrossValidated
from okl.estimators.label_coder import LabelCoder
from okl.estimators.probabilities import where_probable
from okl.losses import Loss, as_loss
from okl.metrics.missing import accuracy_score


class _HeldOutClassifier(ClassifierMixin, BaseEstimator):
    """Stands for a fitted classifier in front of a scorer: X holds its scores."""

    def __init__(self, coder: LabelCoder, loss: Loss) -> None:
        self.coder = coder
        self.loss = loss

    @property
    def classes_(self) -> np.ndarray:
        return self.coder.classes

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return self.coder.decision(X[:, 0] if X.shape[1] == 1 else X)

    @where_probable
    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return np.exp(self.coder.log_probabilities(X))

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.coder.labels(X)

    def score(self, X: np.ndarray, y: Any, sample_weight: Any = None) -> float:
        return accuracy_score(y, self.predict(X), sample_weight=sample_weight)


class OutputKernelClassifierCV(ClassificationMixin, CrossValidated):
    """`OutputKernelClassifier` that chooses kernel, structure and alpha by itself.

    As `OutputKernelRegressorCV`; folds are stratified by class, except for label
    indicators, and the default score is the accuracy (of whole rows for label
    indicators; with ``class_weight`` rows are weighted). Rows are left out one by one
    in closed form for the squared loss only: with another loss the first stage takes a
    fit for each of at most 9 alphas, each fold and each kernel, and a search with one
    ``kernel`` is several times cheaper.

    ``kernel="auto"`` learns weight and width of a Matern kernel with nu 5/2 on
    standardised columns, by the log likelihood of five stratified folds: that of the
    loss where it has probabilities, else of the softmax for one of several classes, and
    of the logistic loss otherwise. Classes of a single row have no say in it.

    Parameters
    ----------
    kernel, structures, kernels, alphas, eps, cv, scoring, search, random_state, n_jobs
        As in `OutputKernelRegressorCV`.
    loss, class_weight, fit_intercept, tol, max_iter, max_memory
        As in `OutputKernelClassifier`.

    Attributes
    ----------
    alpha_, structure_, kernel_, alphas_, scores_, best_score_, cv_results_, \
    feature_relevances_
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

    def __init__(
        self,
        kernel: Any = None,
        structures: Any = "frobenius",
        *,
        kernels: Any = None,
        alphas: int | Sequence[float] = 25,
        eps: float = 1e-5,
        cv: Any = None,
        scoring: Any = None,
        search: str = "staged",
        random_state: Any = 0,
        n_jobs: int | None = None,
        loss: str | Loss = "squared",
        class_weight: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 1000,
        max_memory: float | None = None,
    ) -> None:
        super().__init__(
            kernel,
            structures,
            kernels=kernels,
            alphas=alphas,
            eps=eps,
            cv=cv,
            scoring=scoring,
            search=search,
            random_state=random_state,
            n_jobs=n_jobs,
            loss=loss,
            fit_intercept=fit_intercept,
            tol=tol,
            max_iter=max_iter,
            max_memory=max_memory,
        )
        self.class_weight = class_weight

    def _stand_in(self, y: np.ndarray) -> _HeldOutClassifier:
        """Return a classifier with the classes of this one."""
        return _HeldOutClassifier(self._coder, as_loss(self.loss))
