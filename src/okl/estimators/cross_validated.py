"""The estimators that choose alpha and the structure by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MultiOutputMixin,
    RegressorMixin,
    clone,
    is_classifier,
)
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.parallel import Parallel, delayed

from okl._validation import check_count, check_tolerance
from okl.estimators.base import (
    OutputKernelModel,
    Training,
    is_precomputed,
    warn_unless_certified,
)
from okl.estimators.classifier import ClassificationMixin, labels_of
from okl.estimators.targets import encode, regression_targets, set_output_names
from okl.kernels import as_kernel
from okl.losses import Loss, as_loss
from okl.losses.base import Kind
from okl.model_selection.held_out import score_fold
from okl.model_selection.path import alpha_grid, solve_path
from okl.problems import Inputs, formulate
from okl.structures import Structure, as_structure


class _HeldOutRegressor(RegressorMixin, BaseEstimator):
    """Stands for a fitted regressor in front of a scorer: X holds its predictions."""

    def __init__(self, one_dimensional: bool) -> None:
        self.one_dimensional = one_dimensional

    def predict(self, X: np.ndarray) -> np.ndarray:
        return X[:, 0] if self.one_dimensional else X


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


@dataclass(frozen=True)
class _Judge:
    """Scores held-out predictions as a scorer would score a fitted estimator."""

    scorer: Any
    stand_in: BaseEstimator
    y: np.ndarray
    metadata: dict[str, Any]

    def __call__(self, predictions: np.ndarray, test: np.ndarray) -> float:
        metadata = {
            name: _safe_indexing(value, test) for name, value in self.metadata.items()
        }
        return self.scorer(self.stand_in, predictions, self.y[test], **metadata)


class CrossValidated(OutputKernelModel):
    """Base of the estimators that choose their alpha and structure."""

    def __init__(
        self,
        kernel: Any = "rbf",
        structures: Any = "frobenius",
        *,
        alphas: int | Sequence[float] = 25,
        eps: float = 1e-5,
        cv: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        loss: str | Loss = "squared",
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 1000,
    ) -> None:
        self.kernel = kernel
        self.structures = structures
        self.alphas = alphas
        self.eps = eps
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def get_metadata_routing(self) -> MetadataRouter:
        """Route metadata of fit to the splitter and the scorer."""
        to_split = MethodMapping().add(caller="fit", callee="split")
        to_score = MethodMapping().add(caller="fit", callee="score")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=check_cv(self.cv), method_mapping=to_split)
            .add(
                scorer=check_scoring(self, scoring=self.scoring),
                method_mapping=to_score,
            )
        )

    def _checked_loss(self) -> Loss:
        check_tolerance(self.tol)
        check_count(self.max_iter, "max_iter")
        if not is_precomputed(self.kernel):
            as_kernel(self.kernel)
        return as_loss(self.loss)

    def _checked_structures(self, n_outputs: int) -> list[Structure]:
        given = self.structures
        if isinstance(given, str | Structure):
            given = [given]
        structures = [clone(as_structure(structure)) for structure in given]
        if not structures:
            raise ValueError(
                "structures is an empty list; give at least one structure to try."
            )
        for structure in structures:
            structure.validate(n_outputs)
        return structures

    def _search(
        self,
        X: Any,
        y: np.ndarray,
        targets: np.ndarray,
        loss: Loss,
        stand_in: BaseEstimator,
        params: dict[str, Any],
        *,
        one_dimensional: bool,
    ) -> None:
        """Score every structure at every alpha, then refit the best on all rows."""
        structures = self._checked_structures(targets.shape[1])
        splitting, scoring = self._routed(params)
        splitter = check_cv(self.cv, y, classifier=is_classifier(self))
        folds = list(splitter.split(X, y, **splitting))
        judge = _Judge(check_scoring(self, scoring=self.scoring), stand_in, y, scoring)

        training = Training.of(self.kernel, X)
        inputs = Inputs.of(training.operator, fit_intercept=self.fit_intercept)
        formulations = [formulate(inputs, targets, loss, s) for s in structures]
        self.alphas_ = np.stack(
            [alpha_grid(f.problem, self.alphas, self.eps) for f in formulations]
        )

        context = self._init_callback_context(max_subtasks=len(folds) + 1)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        jobs = (
            delayed(score_fold)(
                inputs.operator,
                targets,
                structures,
                self.alphas_,
                train,
                test,
                judge,
                loss=loss,
                fit_intercept=self.fit_intercept,
                tol=self.tol,
                max_iter=self.max_iter,
            )
            for train, test in folds
        )
        results = Parallel(n_jobs=self.n_jobs, return_as="generator")(jobs)
        outcomes = []
        for _ in folds:
            task = context.subcontext(task_name="fold")
            task.call_on_fit_task_begin(estimator=self)
            outcomes.append(next(results))
            task.call_on_fit_task_end(estimator=self)
        self.scores_ = np.stack([outcome.scores for outcome in outcomes], axis=-1)
        largest_gap = max(outcome.largest_gap for outcome in outcomes)
        if largest_gap > 0:
            warnings.warn(
                "Some fits of the cross-validation ended at max_iter with relative "
                f"duality gaps up to {largest_gap:.2g}, above tol; their scores are "
                "those of approximate models. Increase max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

        means = self.scores_.mean(axis=-1)
        if np.all(np.isnan(means)):
            raise ValueError(
                "Every mean score of the cross-validation is NaN; check the scoring "
                "and that every fold has rows to score."
            )
        row, column = np.unravel_index(np.nanargmax(means), means.shape)
        self.best_score_ = float(means[row, column])
        self.alpha_ = float(self.alphas_[row, column])

        task = context.subcontext(task_name="refit")
        task.call_on_fit_task_begin(estimator=self, X=X, y=y)
        (solution,) = solve_path(
            formulations[row].problem,
            [self.alpha_],
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self._adopt(
            training, formulations[row], solution, one_dimensional=one_dimensional
        )
        warn_unless_certified(solution.certificate)
        task.call_on_fit_task_end(estimator=self, X=X, y=y)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)

    def _routed(self, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the metadata of the splitter and of the scorer."""
        if not get_config()["enable_metadata_routing"]:
            unknown = sorted(set(params) - {"groups"})
            if unknown:
                raise ValueError(
                    f"fit got unexpected metadata {unknown}; call "
                    "sklearn.set_config(enable_metadata_routing=True) and request "
                    "it from the splitter or the scorer."
                )
            return params, {}
        routed = process_routing(self, "fit", **params)
        return routed.splitter.split, routed.scorer.score


class OutputKernelRegressorCV(MultiOutputMixin, RegressorMixin, CrossValidated):
    """`OutputKernelRegressor` that chooses alpha and the structure by itself.

    Every structure is tried at every alpha of its own grid, on the same folds, with
    one eigendecomposition of the kernel matrix a fold; the best is refitted on all
    rows. Kernel parameters (``gamma="scale"``) and grids come from all training
    rows; the folds take blocks of one kernel matrix.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        As in `OutputKernelRegressor`.
    structures : str, Structure or list of them, default="frobenius"
        The structures to try.
    alphas : int or sequence of float, default=25
        The values, or how many, evenly spaced on a log scale from alpha_max of the
        structure down to ``eps`` times it; see `output_kernel_path`.
    eps : float, default=1e-5
        The smallest alpha relative to the largest.
    cv : int, splitter or iterable, default=None
        As in `sklearn.model_selection.GridSearchCV`; None for 5 folds.
    scoring : str or callable, default=None
        As there; None for the mean R^2 over outputs.
    n_jobs : int, default=None
        Folds in parallel, by joblib.
    loss, fit_intercept, tol, max_iter
        As in `OutputKernelRegressor`.

    Attributes
    ----------
    alpha_ : float
        The alpha chosen.
    structure_ : Structure
        The structure chosen.
    alphas_ : array (n_structures, n_alphas)
        The grid of each structure, decreasing.
    scores_ : array (n_structures, n_alphas, n_folds)
        The held-out scores.
    best_score_ : float
        The largest mean over folds.
    dual_coef_, intercept_, output_kernel_, certificate_, ...
        Those of `OutputKernelRegressor` refitted on all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from okl import OutputKernelRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> Y = X[:, :1] + 0.1 * rng.normal(size=(60, 4))
    >>> model = OutputKernelRegressorCV(structures=["identity", "low_rank"]).fit(X, Y)
    >>> model.structure_
    LowRank()
    """

    @with_callbacks
    def fit(self, X: Any, y: Any, **params: Any) -> OutputKernelRegressorCV:
        """Choose alpha and structure, then fit on all rows.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n_samples, n_features)
            Training rows; the kernel matrix for ``kernel="precomputed"``.
        y : array or DataFrame (n_samples, n_outputs) or (n_samples,)
            Targets.
        **params : dict
            Metadata for the splitter (``groups``) and the scorer.

        Returns
        -------
        self
        """
        loss = self._checked_loss()
        names = y
        X, y = self._validate_rows(
            X, reset=True, y=y, multi_output=True, y_numeric=True
        )
        set_output_names(self, names)
        targets = regression_targets(y)
        one_dimensional = np.ndim(y) == 1
        self._search(
            X,
            targets[:, 0] if one_dimensional else targets,
            targets,
            loss,
            _HeldOutRegressor(one_dimensional),
            params,
            one_dimensional=one_dimensional,
        )
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the targets, as `OutputKernelRegressor.predict`."""
        return self._scores(X)


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
