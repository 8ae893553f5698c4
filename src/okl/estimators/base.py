"""The one fit behind the estimators: validate, operator, problem, solver, attributes.

`OutputKernelModel` knows nothing of regression or classification: it maps rows of X
to scores (n_samples, n_outputs). The estimators code targets before it and map
scores to predictions after it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from okl._memory import require_memory
from okl._output_kernel import OutputKernel
from okl._validation import check_alpha, check_count, check_gram, check_tolerance
from okl.certificate import Certificate
from okl.kernels import Kernel, as_kernel
from okl.losses import LOSSES, Loss, as_loss
from okl.model_selection.path import solve_path
from okl.operators import Dense, KernelOperator, multiply_rows, operator_of
from okl.problems import Formulation, Inputs, formulate
from okl.solvers import Solution, Solver, as_solver
from okl.structures import Structure, as_structure


@dataclass(frozen=True)
class Training:
    """The training rows as the fit uses them.

    Attributes
    ----------
    operator : KernelOperator
        The kernel matrix; it owns its memory.
    kernel : Kernel or "precomputed"
        With its data-dependent parameters resolved.
    rows : array, sparse matrix or None
        What new rows are compared with; None for a precomputed kernel.
    """

    operator: KernelOperator
    kernel: Kernel | str
    rows: Any

    @classmethod
    def of(cls, kernel: Any, X: Any) -> Training:
        """Evaluate a kernel, given as estimators take it, on the rows of X."""
        if is_precomputed(kernel):
            check_gram(X, "The precomputed kernel")
            return cls(Dense(X, owned=False, trusted=False), "precomputed", None)
        resolved = as_kernel(kernel).resolve(X)
        return cls(operator_of(resolved, X), resolved, X)


def is_precomputed(kernel: Any) -> bool:
    """Tell whether X is the kernel matrix itself."""
    return isinstance(kernel, str) and kernel == "precomputed"


# From the code that warns to the user's: over `_fit`, `fit` and the wrapper that
# scikit-learn's callbacks put around it.
FIT_DEPTH = 4


def warn_unless_certified(certificate: Certificate, depth: int) -> None:
    """Warn with the gap reached if the iterations ended before the tolerance.

    The warning points at the caller ``depth`` calls up.
    """
    if certificate.status == "max_iter":
        warnings.warn(certificate.message, ConvergenceWarning, stacklevel=depth + 1)


class OutputKernelModel(CallbackSupportMixin, BaseEstimator):
    """Base of the estimators: from rows to scores.

    Shapes: X is (n_samples, n_features), targets and scores are
    (n_samples, n_outputs).
    """

    kernel: Any
    loss: Any
    fit_intercept: bool
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

    def _validate_rows(self, X: Any, *, reset: bool, **check_params: Any) -> Any:
        """Check X (and y, if it is among the parameters) as scikit-learn does."""
        return validate_data(
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
        X = self._validate_rows(X, reset=True)
        y = check_array(
            y,
            accept_sparse="csr",
            dtype=np.float64,
            ensure_2d=False,
            ensure_all_finite="allow-nan",
            input_name="y",
        )
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
        one_dimensional: bool,
    ) -> None:
        """Set the fitted attributes from the solution of a problem."""
        dual_coef = formulation.coefficients(solution.dual_coef)
        intercept = formulation.intercept(dual_coef, solution.intercept)
        self._output_kernel = formulation.output_kernel(solution.output_kernel)
        self.kernel_ = training.kernel
        self.X_fit_ = training.rows
        self.structure_ = formulation.problem.structure
        self.rank_ = self._output_kernel.rank
        self.n_iter_ = solution.n_iter
        self.certificate_ = solution.certificate
        self.history_ = solution.history
        self.dual_coef_ = dual_coef[:, 0] if one_dimensional else dual_coef
        point = solution.dual_point
        if point is not None:
            self.dual_point_ = point[:, 0] if one_dimensional else point
        elif hasattr(self, "dual_point_"):
            del self.dual_point_  # of a fit with another loss
        if intercept is None:
            self.intercept_: Any = 0.0
        else:
            self.intercept_ = float(intercept[0]) if one_dimensional else intercept

    @property
    def output_kernel_(self) -> np.ndarray:
        """L (n_outputs, n_outputs), computed when asked for."""
        kernel = self._fitted_output_kernel()
        n_outputs = self.dual_coef_.reshape(self.dual_coef_.shape[0], -1).shape[1]
        require_memory(
            8 * n_outputs**2,
            f"The output kernel of {n_outputs} outputs",
            "Use output_kernel_factor_, which has n_outputs x rank_ entries.",
        )
        return kernel.matrix()

    @property
    def output_kernel_factor_(self) -> np.ndarray:
        """B (n_outputs, rank_) with L = B B', computed when asked for."""
        return self._fitted_output_kernel().factor()

    def _fitted_output_kernel(self) -> OutputKernel:
        try:
            return self._output_kernel
        except AttributeError:
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet. Call 'fit' first."
            ) from None

    def _scores(self, X: Any) -> np.ndarray:
        """Return K(X, X_fit) Theta + b, of the dimension of the targets."""
        check_is_fitted(self)
        X = self._validate_rows(X, reset=False)
        dual_coef = self.dual_coef_.reshape(self.dual_coef_.shape[0], -1)
        if isinstance(self.kernel_, Kernel):
            products = multiply_rows(self.kernel_, X, self.X_fit_, dual_coef)
        else:
            products = X @ dual_coef
        return products.reshape(-1, *self.dual_coef_.shape[1:]) + self.intercept_


class SingleFit(OutputKernelModel):
    """Base of the estimators that fit at one alpha."""

    def __init__(
        self,
        kernel: Any = "rbf",
        structure: str | Structure = "frobenius",
        alpha: float = 1.0,
        *,
        loss: str | Loss = "squared",
        fit_intercept: bool = True,
        solver: str | Solver = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
    ) -> None:
        self.kernel = kernel
        self.structure = structure
        self.alpha = alpha
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    def _checked_loss(self) -> Loss:
        """Check what can be checked before looking at the data."""
        check_alpha(self.alpha)
        check_tolerance(self.tol)
        check_count(self.max_iter, "max_iter")
        if not is_precomputed(self.kernel):
            as_kernel(self.kernel)
        as_solver(self.solver)
        return self._loss_for_the_task()

    def _fit(
        self,
        X: Any,
        targets: np.ndarray,
        loss: Loss,
        *,
        one_dimensional: bool,
        weights: np.ndarray | None = None,
    ) -> None:
        """Fit to coded targets (n_samples, n_outputs) with weights of that shape."""
        structure = clone(as_structure(self.structure))
        structure.validate(targets.shape[1])
        training = Training.of(self.kernel, X)
        inputs = Inputs.of(training.operator, fit_intercept=self.fit_intercept)
        formulation = formulate(inputs, targets, loss, structure, weights)
        (solution,) = solve_path(
            formulation.problem,
            [self.alpha],
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self._adopt(training, formulation, solution, one_dimensional=one_dimensional)
        warn_unless_certified(solution.certificate, FIT_DEPTH)
