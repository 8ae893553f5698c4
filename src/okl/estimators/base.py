"""The one fit behind the estimators: validate, operator, problem, solver, attributes.

`OutputKernelModel` knows nothing of regression or classification: it maps rows of X
to scores (n_samples, n_outputs). The estimators code targets before it and map
scores to predictions after it.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from okl.certificates import Certificate
from okl.coding.tasks import Tasks
from okl.estimators.agreement import Agreement, certified_function
from okl.estimators.components import ComponentParameters
from okl.estimators.frames import refuse_text, validated
from okl.estimators.learned_arrays import LearnedArrays
from okl.estimators.long_form import codes_of
from okl.estimators.targets import TrainingTargets
from okl.estimators.training import Training, is_precomputed
from okl.kernels import KernelTerms
from okl.losses import LOSSES, Loss, as_loss
from okl.numerics.numbers import checked_numbers
from okl.problems import Formulation
from okl.solvers import Solution
from okl.structures import Structure
from okl.structures.scaled import unscaled

# Calls from the code that warns up to the user's: `_fit`, `fit` and its decorators, for
# scikit-learn's callbacks, for fits that fail and for the arguments.
FIT_DEPTH = 6


def warn_unless_certified(certificate: Certificate, depth: int) -> None:
    """Warn with the gap reached if it is above the tolerance.

    The warning points at the caller ``depth`` calls up.
    """
    if certificate.failed:
        warnings.warn(certificate.message, ConvergenceWarning, stacklevel=depth + 1)


class OutputKernelModel(CallbackSupportMixin, LearnedArrays, ComponentParameters):
    """Base of the estimators: from rows to scores.

    Shapes: X is (n_samples, n_features), targets and scores are
    (n_samples, n_outputs).
    """

    kernel: Any
    loss: Any
    fit_intercept: Any
    alpha: Any
    alpha_: Any
    # a word that `fit_intercept` may be
    _other_intercept: ClassVar[str | None] = None
    _task: ClassVar[str]  # what the loss must be for

    def _loss_for_the_task(self) -> Loss:
        """Return the loss, which must fit the task.

        Raises
        ------
        ValueError
            If a parameter of the loss is out of range, or it is for another task.
        """
        loss = as_loss(self.loss)
        loss.validate()
        if self._task not in loss.capabilities:
            known = [n for n, cls in LOSSES.items() if self._task in cls.capabilities]
            raise ValueError(
                f"The loss {loss.name or loss!r} is not for {self._task}; use one of "
                f"{', '.join(map(repr, known))}."
            )
        return loss

    def __sklearn_tags__(self) -> Any:
        """Declare sparse input, and pairwise input for a precomputed kernel."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not is_precomputed(self.kernel)
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags

    @abstractmethod
    def _given_structures(self) -> list[Structure]:
        """Return copies of what was given as a structure, or as several."""

    @abstractmethod
    def _asks_for_shared_intercepts(self, X: Any, tasks: Tasks | None) -> bool:
        """Tell whether intercepts of tasks are shared, see `shared_intercepts`."""

    @property
    def _free_intercept(self) -> bool:
        """Whether an intercept is fitted; known after `_enter`.

        There is none where a class has no rows: its intercept would be minus infinity.
        """
        return self._asks_for_free_intercept and not getattr(self, "_lacks_rows", False)

    @property
    def _asks_for_free_intercept(self) -> bool:
        """Whether an intercept is to be fitted that is not a part of the kernel.

        That is known after `_enter`.
        """
        return bool(self.fit_intercept) and not self._shares_intercepts

    @property
    def _alpha_of_fit(self) -> Any:
        """The alpha that was chosen, or the one that was given."""
        return self.alpha_ if hasattr(self, "alpha_") else self.alpha

    @property
    def _names_of_outputs(self) -> np.ndarray | None:
        """What outputs are called, None if nothing; known after `_enter`."""
        return getattr(self, "output_names_", None)

    def _validate_rows(self, X: Any, *, reset: bool, **check_params: Any) -> Any:
        """Check X (and y, if it is among the parameters) as scikit-learn does."""
        return validated(
            self,
            X,
            reset=reset,
            accept_sparse="csr" if get_tags(self).input_tags.sparse else False,
            dtype=np.float64,
            **check_params,
        )

    def _validate_numbers(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Check X, and numeric targets that may be NaN where they are missing."""
        if y is None:
            # scikit-learn's own message
            self._validate_rows(X, reset=True, y=y)
        refuse_text(y)
        X = self._validate_rows(X, reset=True)
        # a copy: uncertainty is computed later, from the targets of the fit
        y = checked_numbers(y, "y", accept_sparse="csr", copy=True)
        if issparse(y):
            y = y.toarray()
        check_consistent_length(X, y)
        return X, y

    def _adopt(
        self,
        training: Training,
        formulation: Formulation,
        solution: Solution,
        *,
        alpha: float,
        targets: TrainingTargets,
    ) -> None:
        """Set the fitted attributes from the solution of a problem.

        The function that was found is mapped to the units of the user, L when it is
        asked for; all else, as the certificate, is that of the normalised targets.
        """
        self._parameters = self.get_params(deep=False)
        self._units = targets.units
        self._output_kernel = formulation.output_kernel(solution.output_kernel)
        agreement = Agreement(formulation, solution, alpha, self.tol, self.max_iter)
        function, self.certificate_ = certified_function(training, agreement, targets)
        self._function = function
        kernel: Any = function.kernel
        structure: Any = formulation.problem.structure
        if targets.shown_units is not None:  # of outputs divided by their own alphas
            structure = unscaled(structure)
        if isinstance(kernel, KernelTerms):
            kernel, structure = kernel.kernels, list(structure.structures)
        self.kernel_, self.structure_ = kernel, structure
        self.X_fit_ = function.rows
        self.loss_ = formulation.problem.loss
        # a factor may have more columns than there are outputs
        self.rank_ = min(self._output_kernel.rank, self._output_kernel.n_outputs)
        self.n_iter_ = solution.n_iter
        self.history_ = solution.history
        point = solution.dual_point
        if point is not None:
            self.dual_point_ = point[:, 0] if point.shape[1] == 1 else point
        elif hasattr(self, "dual_point_"):
            del self.dual_point_  # of a fit with another loss
        theta = function.dual_coef
        self._theta = theta[:, 0] if targets.one_dimensional else theta

    def _as_fitted(self) -> Self:
        """Return a copy with the parameters of the fit, whatever was set since."""
        model = copy(self)
        model.__dict__.update(self._parameters)
        return model

    def _scores(self, X: Any, task: Any = None) -> np.ndarray:
        """Return K(X, X_fit) Theta + b, of the dimension of the targets.

        With the ids of tasks, each row's score for its own task only, (n_samples,).
        """
        check_is_fitted(self)
        X = self._validate_rows(X, reset=False)
        if task is None:
            return self._function(X).reshape(-1, *self._theta.shape[1:])
        return self._function.of_own_tasks(X, self._tasks_of(task, X))[:, 0]

    def _tasks_of(self, task: Any, X: Any) -> Tasks:
        """Return the tasks of rows by their ids, which must be those of the fit."""
        if not self._has_tasks:
            raise ValueError(
                f"This {type(self).__name__} was fitted without task; leave task out "
                "here, or fit with it."
            )
        names = self.output_names_
        return Tasks(codes_of(names, task, X), len(names))

    def _require_task(self, task: Any) -> None:
        """Raise ValueError if a score of a fit in long form is asked without tasks."""
        check_is_fitted(self)
        if self._has_tasks and task is None:
            raise ValueError(
                "After a fit with task, score needs task as well: the task of each row."
            )
