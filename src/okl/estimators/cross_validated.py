"""Choosing the kernel, the structure and alpha by held-out scores, then refitting.

Without folds from the user, rows are left out one by one in closed form wherever that
is exact: the squared loss, complete targets, known output kernels. A learned output
kernel has seen the row that is left out: it takes folds, the same for all structures
(`okl.estimators.search`).
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.callback import with_callbacks
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from okl.coding.tasks import Tasks
from okl.estimators.base import FIT_DEPTH, OutputKernelModel, warn_unless_certified
from okl.estimators.calls import checks_its_arguments
from okl.estimators.column_scales import warn_of_column_scales
from okl.estimators.encoded_categories import are_categories
from okl.estimators.failed_fits import whole_or_not_at_all
from okl.estimators.search.candidates import (
    WAYS,
    check_candidates,
    given_structures,
    to_learn,
)
from okl.estimators.search.forecast import Forecast
from okl.estimators.search.judge import StandIn
from okl.estimators.search.notes import notes
from okl.estimators.search.plan import planned
from okl.estimators.search.stages import Search
from okl.estimators.search.steps import steps_of
from okl.estimators.search.to_be_learned import learned_parts
from okl.estimators.search.trial import Trial
from okl.estimators.shared_intercepts import shares_by_default
from okl.estimators.targets import TrainingTargets
from okl.losses import Loss
from okl.numerics.memory import check_max_memory
from okl.numerics.validation import (
    check_choice,
    check_fit_parameters,
    check_flag,
    check_n_jobs,
)
from okl.selection.folds import refuse_generator, splitter_of
from okl.selection.path import check_alphas
from okl.solvers import solve_path
from okl.structures import Structure


class CrossValidated(OutputKernelModel):
    """Base of the estimators that choose their alpha and structure."""

    alpha_per_output: bool | str
    # whether a kernel is learned from dense rows, which sparse ones then become
    _learns_from_dense: bool
    # what kernels have added in place of free intercepts of tasks, None for nothing
    _constant: float | None = None

    def __init__(
        self,
        kernel: Any,
        structures: Any,
        *,
        kernels: Any,
        alphas: int | Sequence[float],
        eps: float | None,
        cv: Any,
        scoring: Any,
        search: str,
        random_state: Any,
        n_jobs: int | None,
        loss: str | Loss | None,
        fit_intercept: bool | str,
        tol: float,
        max_iter: int,
        max_memory: float | None,
    ) -> None:
        self.kernel = kernel
        self.structures = structures
        self.kernels = kernels
        self.alphas = alphas
        self.eps = eps
        self.cv = cv
        self.scoring = scoring
        self.search = search
        self.random_state = random_state
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
        splitter = splitter_of(self.cv, random_state=self.random_state)
        router.add(splitter=splitter, method_mapping=to_split)
        if self.scoring is not None:
            to_score = MethodMapping().add(caller="fit", callee="score")
            scorer = check_scoring(self, scoring=self.scoring)
            router.add(scorer=scorer, method_mapping=to_score)
        return router

    def _validate_rows(self, X: Any, *, reset: bool, **check_params: Any) -> Any:
        """Check X; sparse rows of categories become dense if a kernel is learned."""
        found = super()._validate_rows(X, reset=reset, **check_params)
        rows, *targets = found if isinstance(found, tuple) else (found,)
        if reset:
            dense = not issparse(rows) or are_categories(rows)
            self._learns_from_dense = dense and bool(
                to_learn(self.kernel, self.kernels)
            )
        if issparse(rows) and self._learns_from_dense:
            rows = rows.toarray()
        return (rows, *targets) if targets else rows

    def _checked_loss(self) -> Loss:
        check_flag(self.fit_intercept, "fit_intercept", self._other_intercept)
        check_alphas(self.alphas, self.eps)
        check_fit_parameters(self.tol, self.max_iter)
        check_max_memory(self.max_memory)
        check_candidates(self.kernel, self.kernels)
        check_choice(self.search, "search", WAYS)
        check_n_jobs(self.n_jobs)
        check_random_state(self.random_state)
        return self._loss_for_the_task()

    @checks_its_arguments
    @whole_or_not_at_all
    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, task: Any = None, **params: Any
    ) -> Self:
        """Choose kernel, structure and alpha, then fit on all rows.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n_samples, n_features)
            Training rows; the kernel matrix for ``kernel="precomputed"``.
        y : array or DataFrame (n_samples, n_outputs) or (n_samples,)
            Targets; NaN where they were not observed. For a classifier the classes
            (n_samples,), or label indicators of zeros and ones (n_samples, n_labels),
            NaN for a label that was not observed.
        sample_weight : array, optional
            Weights as in `OutputKernelRegressor.fit`, in fits and in scores of folds.
        task : array (n_samples,), optional
            The task of each row, to be passed to `predict` too (see the `fit` of
            `OutputKernelRegressor`). Folds are of rows, and a task without rows in a
            training part has an intercept of zero there: its ``y_mean_``, if targets
            are normalised.
        **params : dict
            Metadata for the splitter (``groups``) and the scorer.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For parameters, shapes or entries that cannot be used, or one class.
        MemoryError
            If the kernel matrix cannot fit.
        """
        self._run(*planned(self, X, y, sample_weight, task, params))
        return self

    def forecast(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        task: Any = None,
        **params: Any,
    ) -> Forecast:
        """Say roughly how long `fit` takes, and in what memory; nothing is fitted.

        Parameters, and errors, are those of `fit`; a generator as ``cv`` is refused.

        Returns
        -------
        Forecast
            Its ``seconds`` are mostly right to a factor of three, ``memory`` is bytes
            of arrays at the peak, beside X and y; ``print`` shows a sentence.
        """
        refuse_generator(self.cv)
        *_, search = planned(clone(self), X, y, sample_weight, task, params)
        return Forecast.of(search)

    @abstractmethod
    def _stand_in(self, y: np.ndarray, loss: Loss) -> StandIn:
        """Return what a scorer takes for a fitted estimator: its X holds scores."""

    def _keep_calibration(self, trial: Trial) -> None:
        """Keep what corrects predictions, where the search found it."""

    def _asks_for_shared_intercepts(self, X: Any, tasks: Tasks | None) -> bool:
        return shares_by_default(self, X, tasks)

    def _given_structures(self) -> list[Structure]:
        return given_structures(self.structures, self.kernel)

    def _run(
        self, X: Any, y: np.ndarray, targets: TrainingTargets, search: Search
    ) -> None:
        """Choose by held-out scores, then refit the best on all rows."""
        context = self._init_callback_context(max_subtasks=search.n_steps + 1)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        step = steps_of(self, context)
        search = search.learn(step)
        trial, results = search.run(self.random_state, step)
        search, trial = search.learn_again(trial, results, step)
        self.cv_results_ = results.table()
        self.scores_, self.alphas_ = trial.scores, trial.alphas
        if np.all(np.isnan(trial.means)):
            raise ValueError(
                "Every mean score of the cross-validation is NaN; check scoring, and "
                "that every fold has rows to score."
            )
        self.__dict__.pop("feature_relevances_", None)  # of an earlier fit
        for one in learned_parts(trial.kernel, search.learned):
            if one.relevances is not None:
                self.feature_relevances_ = one.relevances
        overall = float(trial.alphas[trial.chosen])
        self.best_score_, self.alpha_ = trial.score, trial.alpha(overall)
        self._keep_calibration(trial)
        task = context.subcontext(task_name="refit")
        task.call_on_fit_task_begin(estimator=self, X=X, y=y)
        formulation = trial.formulations[trial.chosen[0]]
        (solution,) = solve_path(
            formulation.problem, [overall], tol=self.tol, max_iter=self.max_iter
        )
        self._adopt(
            trial.training, formulation, solution, alpha=overall, targets=trial.targets
        )
        weights = targets.row_weights
        warn_of_column_scales(self, trial.training.kernel, X, weights, FIT_DEPTH)
        for category, message in notes(self, trial, results.largest_gap, search, y):
            warnings.warn(message, category, stacklevel=FIT_DEPTH)
        warn_unless_certified(solution.certificate, FIT_DEPTH)
        task.call_on_fit_task_end(estimator=self, X=X, y=y)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
