"""Choosing alpha and the structure by cross-validation, then refitting.

Scorers expect a fitted estimator. What the folds have are held-out scores of many
models, so a stand-in, whose X is those scores, faces the scorer for each of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    clone,
    is_classifier,
)
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

from okl._memory import memory_budget
from okl._tasks import Tasks
from okl._validation import check_count, check_tolerance
from okl.estimators.base import (
    FIT_DEPTH,
    OutputKernelModel,
    warn_unless_certified,
)
from okl.estimators.targets import TrainingTargets
from okl.estimators.training import (
    Training,
    as_input_kernel,
    check_kernel_per_output,
    is_precomputed,
)
from okl.losses import Loss
from okl.model_selection.held_out import score_fold
from okl.model_selection.path import alpha_grid, solve_path
from okl.structures import Structure, as_structure


@dataclass(frozen=True)
class _Judge:
    """Scores held-out predictions as a scorer would score a fitted estimator."""

    scorer: Any
    stand_in: BaseEstimator
    y: np.ndarray
    metadata: dict[str, Any]
    tasks: Tasks | None = None

    def __call__(self, predictions: np.ndarray, test: np.ndarray) -> float:
        metadata = {
            name: _safe_indexing(value, test) for name, value in self.metadata.items()
        }
        if self.tasks is not None:
            own = self.tasks.codes[test][:, None]
            predictions = np.take_along_axis(predictions, own, axis=1)
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
        max_memory: float | None = None,
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
        self.max_memory = max_memory

    def get_metadata_routing(self) -> MetadataRouter:
        """Route metadata of fit to the splitter and the scorer."""
        to_split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(splitter=check_cv(self.cv), method_mapping=to_split)
        if self.scoring is not None:
            to_score = MethodMapping().add(caller="fit", callee="score")
            scorer = check_scoring(self, scoring=self.scoring)
            router.add(scorer=scorer, method_mapping=to_score)
        return router

    def _checked_loss(self) -> Loss:
        check_tolerance(self.tol)
        check_count(self.max_iter, "max_iter")
        memory_budget(self.max_memory)
        if not is_precomputed(self.kernel):
            as_input_kernel(self.kernel)
        return self._loss_for_the_task()

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
        targets: TrainingTargets,
        stand_in: BaseEstimator,
        params: dict[str, Any],
    ) -> None:
        """Score every structure at every alpha, then refit the best on all rows."""
        observed = targets.observed
        tasks = observed.tasks
        structures = self._checked_structures(observed.n_outputs)
        check_kernel_per_output(self.kernel, structures, observed)
        scorer = check_scoring(self, scoring=self.scoring)
        ids = {} if tasks is None else {"task": self.output_names_[tasks.codes]}
        splitting, scoring = self._routed(params, scorer, targets.score_weights, ids)
        stratified = is_classifier(self) and y.ndim == 1
        splitter = check_cv(self.cv, y, classifier=stratified)
        folds = list(splitter.split(X, y, **splitting))
        judge = _Judge(scorer, stand_in, y, scoring, tasks)

        budget = memory_budget(self.max_memory)
        training = Training.of(self.kernel, X, targets.row_weights, budget)
        inputs = observed.inputs(training.operator, fit_intercept=self.fit_intercept)
        formulations = [observed.formulate(inputs, s) for s in structures]
        self.alphas_ = np.stack(
            [alpha_grid(f.problem, self.alphas, self.eps) for f in formulations]
        )

        context = self._init_callback_context(max_subtasks=len(folds) + 1)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        jobs = (
            delayed(score_fold)(
                inputs.plain,
                observed,
                structures,
                self.alphas_,
                train,
                test,
                judge,
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
                stacklevel=FIT_DEPTH,
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
            training,
            formulations[row],
            solution,
            alpha=self.alpha_,
            targets=targets,
        )
        warn_unless_certified(solution.certificate, FIT_DEPTH)
        task.call_on_fit_task_end(estimator=self, X=X, y=y)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)

    def _routed(
        self,
        params: dict[str, Any],
        scorer: Any,
        weights: np.ndarray | None,
        ids: dict[str, np.ndarray],
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the metadata of the splitter and of the scorer.

        What counts in the fit counts in the score: weights go to the default score, and
        to a scorer that asks for them or, without metadata routing, takes them. The ids
        of tasks go to a splitter or scorer that asks for them.
        """
        of_scores = {} if weights is None else {"sample_weight": weights}
        if not get_config()["enable_metadata_routing"]:
            unknown = sorted(set(params) - {"groups"})
            if unknown:
                raise ValueError(
                    f"fit got unexpected metadata {unknown}; call "
                    "sklearn.set_config(enable_metadata_routing=True) and request "
                    "it from the splitter or the scorer."
                )
            if self.scoring is None:
                return params, of_scores
            return params, _for_rows(of_scores) if _takes_weights(scorer) else {}
        if self.scoring is None:
            return process_routing(
                self, "fit", **params, **ids
            ).splitter.split, of_scores
        routed = process_routing(self, "fit", **params, **ids, **_for_rows(of_scores))
        return routed.splitter.split, routed.scorer.score


def _for_rows(metadata: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return one weight a row: scikit-learn's scores know no others."""
    return {name: w if w.ndim == 1 else w.mean(axis=1) for name, w in metadata.items()}


def _takes_weights(scorer: Any) -> bool:
    """Tell whether a scorer is made of a metric that takes weights."""
    metric = getattr(scorer, "_score_func", None)
    return metric is not None and "sample_weight" in signature(metric).parameters
