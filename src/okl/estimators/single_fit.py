"""A fit at one alpha, with one structure and one kernel."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from sklearn.callback import with_callbacks

from okl.coding.tasks import Tasks
from okl.estimators.base import FIT_DEPTH, OutputKernelModel, warn_unless_certified
from okl.estimators.calls import checks_its_arguments
from okl.estimators.column_scales import warn_of_column_scales
from okl.estimators.failed_fits import whole_or_not_at_all
from okl.estimators.known_classes import structures_for
from okl.estimators.output_alphas import at_one_alpha, check_alpha_or_alphas
from okl.estimators.shared_intercepts import shares_if_asked
from okl.estimators.targets import TrainingTargets
from okl.estimators.terms import check_terms, kernel_and_structure
from okl.estimators.training import Training, check_kernel_per_output
from okl.losses import Loss
from okl.numerics.memory import check_max_memory, memory_budget
from okl.numerics.validation import check_fit_parameters, check_flag
from okl.problems import Formulation, OutputAlphas
from okl.solvers import Completion, Solver, as_solver, solve, solve_completed
from okl.structures import Structure


class SingleFit(OutputKernelModel):
    """Base of the estimators that fit at one alpha."""

    completion_: Completion

    def __init__(
        self,
        kernel: Any,
        structure: Any,
        alpha: Any,
        *,
        loss: str | Loss,
        fit_intercept: bool | str,
        solver: str | Solver,
        tol: float,
        max_iter: int,
        max_memory: float | None,
    ) -> None:
        self.kernel = kernel
        self.structure = structure
        self.alpha = alpha
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_memory = max_memory

    def _checked_loss(self) -> Loss:
        """Check what can be checked before looking at the data."""
        check_alpha_or_alphas(self.alpha)
        check_fit_parameters(self.tol, self.max_iter)
        check_flag(self.fit_intercept, "fit_intercept", self._other_intercept)
        check_max_memory(self.max_memory)
        kernel_and_structure(self.kernel, self.structure)
        as_solver(self.solver)
        return self._loss_for_the_task()

    def _asks_for_shared_intercepts(self, X: Any, tasks: Tasks | None) -> bool:
        return shares_if_asked(self, tasks)

    def _given_structures(self) -> list[Structure]:
        return [kernel_and_structure(self.kernel, self.structure)[1]]

    @checks_its_arguments
    @whole_or_not_at_all
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, task: Any = None) -> Self:
        """Fit the predictor and the output kernel.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n_samples, n_features)
            Training rows; the kernel matrix for ``kernel="precomputed"``.
        y : array or DataFrame (n_samples, n_outputs) or (n_samples,)
            Targets; NaN where they were not observed. For a classifier the classes
            (n_samples,), or label indicators of zeros and ones (n_samples, n_labels),
            NaN for a label that was not observed.
        sample_weight : array (n_samples,) or (n_samples, n_outputs), optional
            Weights of the loss of the rows, or of each target: 2 is the row twice, 0
            is a target that was not observed. Columns of a DataFrame go with those of y
            of the same names, in any order.
        task : array (n_samples,), optional
            For data in long form, one target a row, or one label of two classes: the
            id of the task, or output, that it is for. The outputs are the tasks,
            ``output_names_`` their sorted ids; it is the fit to the target matrix with
            all other entries missing, at the cost of one output. Pass the ids of rows
            to `predict` as well: without them it answers for all tasks, a column each.

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
        loss = self._checked_loss()
        context = self._init_callback_context().call_on_fit_task_begin(
            estimator=self, X=X, y=y
        )
        X, y, targets = self._enter(X, y, loss, sample_weight, task)
        self._fit(X, targets)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _fit(self, X: Any, targets: TrainingTargets) -> None:
        """Fit to the coded targets of the rows of X."""
        (structure,) = structures_for(self, targets.observed)
        training, formulation, targets, alpha = self._formulated(X, targets, structure)
        kernel, weights = training.kernel, targets.row_weights
        warn_of_column_scales(self, kernel, X, weights, FIT_DEPTH)
        how: dict[str, Any] = {
            "solver": self.solver,
            "tol": self.tol,
            "max_iter": self.max_iter,
        }
        if hasattr(self, "completion_"):
            del self.completion_  # of a fit before
        if targets.candidates is None:
            solution = solve(formulation.problem, alpha, **how)
        else:
            expected, solution, self.completion_ = solve_completed(
                formulation.problem, targets.candidates, alpha, **how
            )
            formulation = replace(formulation, problem=expected)
        self._adopt(training, formulation, solution, alpha=alpha, targets=targets)
        if targets.candidates is not None:
            self.certificate_ = self.certificate_.of_expected_targets(self.tol)
        warn_unless_certified(self.certificate_, FIT_DEPTH)

    def _formulated(
        self, X: Any, targets: TrainingTargets, structure: Structure
    ) -> tuple[Training, Formulation, TrainingTargets, float]:
        """Evaluate the kernel on the rows of X, and make the problem of the fit.

        Returns
        -------
        training : Training
        formulation : Formulation
        targets : TrainingTargets
            As they are fitted, so that all outputs have one alpha.
        alpha : float
        """
        kernel, _ = kernel_and_structure(self.kernel, self.structure)
        check_kernel_per_output(kernel, [structure], targets.observed)
        check_terms(kernel, structure, targets.observed)
        alphas = OutputAlphas.of(self.alpha, targets.observed)
        targets, (structure,) = at_one_alpha(alphas, targets, [structure], kernel)
        training = Training.of(
            kernel,
            X,
            targets.row_weights,
            memory_budget(self.max_memory),
            fit_intercept=self._free_intercept,
            names=getattr(self, "feature_names_in_", None),
        )
        free, observed = self._free_intercept, targets.observed
        inputs = observed.inputs(training.operator, fit_intercept=free)
        formulation = observed.formulate(inputs, structure)
        return training, formulation, targets, alphas.overall
