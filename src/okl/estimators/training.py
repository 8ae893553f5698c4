"""The training rows: the kernel on them, and what a fit to them can be used for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from okl.kernels import Kernel, KernelTerms, PerOutput, as_kernel, number_columns
from okl.numerics.arrays import symmetric
from okl.numerics.validation import check_gram, check_magnitude
from okl.operators import Dense, Operator, operator_of
from okl.output_kernels import OutputKernel, OutputKernelTerms
from okl.posterior import (
    Posterior,
    PredictiveVariance,
    RowTermPosterior,
    SeparateVariances,
    TaskVariances,
    TermSumPosterior,
)
from okl.problems import Formulation, Observed
from okl.structures import Structure


@dataclass(frozen=True)
class Training:
    """The training rows as the fit uses them.

    Attributes
    ----------
    operator : Operator
        The kernel matrix, or one per output; it owns its memory.
    kernel : Kernel, PerOutput, KernelTerms or "precomputed"
        With its data-dependent parameters resolved.
    X : array or sparse matrix
        The rows as `predict` takes them; the kernel matrix if it is precomputed.
    """

    operator: Operator
    kernel: Kernel | PerOutput | KernelTerms | str
    X: Any

    @classmethod
    def of(
        cls,
        kernel: Any,
        X: Any,
        row_weights: np.ndarray | None = None,
        budget: float = float("inf"),
        *,
        fit_intercept: bool,
        names: Sequence[str] | None = None,
    ) -> Training:
        """Evaluate a kernel, given as estimators take it, on the rows of X.

        Weights (n_samples,) count for ``gamma="scale"`` and, where the intercept is
        free, for the means that a kernel is centred at; the budget is that of
        `operator_of`.
        Names are those of the columns of X, if they have any.

        Raises
        ------
        ValueError
            For parameters of the kernel, a given matrix, or entries of X that cannot be
            used.
        """
        check_rows(X)
        if is_precomputed(kernel):
            matrix = X
            if check_gram(X, "The precomputed kernel") > 0:
                # some algorithms read a half of it, others all
                matrix = symmetric(X)
            workspace = budget / X.nbytes
            given = Dense(matrix, owned=False, trusted=False, workspace=workspace)
            return cls(given, "precomputed", X)
        resolved = resolved_kernel(kernel, X, row_weights, names)
        if fit_intercept:
            resolved = resolved.centered(X, row_weights)
        return cls(operator_of(resolved, X, budget), resolved, X)

    @property
    def rows(self) -> Any:
        """What new rows are compared with; None for a precomputed kernel."""
        return None if is_precomputed(self.kernel) else self.X


def check_rows(X: Any) -> None:
    """Raise ValueError if entries are too large for a kernel."""
    check_magnitude(
        X.data if issparse(X) else X,
        "X has entries up to",
        "Rescale X, for instance by standardising its columns.",
    )


def resolved_kernel(
    kernel: Any,
    X: Any,
    row_weights: np.ndarray | None,
    names: Sequence[str] | None,
) -> Kernel | PerOutput | KernelTerms:
    """Return a kernel, as estimators take it, with parameters that are numbers."""
    return number_columns(as_input_kernel(kernel), names).resolve(X, row_weights)


def is_precomputed(kernel: Any) -> bool:
    """Tell whether X is the kernel matrix itself."""
    return isinstance(kernel, str) and kernel == "precomputed"


def predictive_variance(
    training: Training,
    formulation: Formulation,
    output_kernel: OutputKernel,
    alpha: float,
    observed: Observed,
) -> Posterior | None:
    """Return the posterior, which has the variance of predictions, or None.

    There is one if the loss is that of Gaussian noise, and k(x, x) is known for new
    rows.
    """
    kernel, rows, weights = training.kernel, training.rows, observed.weights
    if "quadratic" not in observed.loss.capabilities or isinstance(kernel, str):
        return None
    free = formulation.kernel_means is not None
    if isinstance(kernel, KernelTerms):
        assert isinstance(output_kernel, OutputKernelTerms)
        structure: Any = formulation.problem.structure
        given = "known" in structure.structures[-1].capabilities
        return _of_terms(kernel, rows, output_kernel, alpha, weights, free, given)
    if isinstance(kernel, PerOutput):
        return SeparateVariances.of(kernel, rows, alpha, weights, free_intercept=free)
    tasks = observed.tasks
    if tasks is not None and not output_kernel.couples:
        variances = output_kernel.diagonal()
        return TaskVariances(kernel, rows, variances, alpha, weights, tasks, free)
    return PredictiveVariance(kernel, rows, output_kernel, alpha, weights, free, tasks)


def _of_terms(
    kernel: KernelTerms,
    rows: Any,
    output_kernel: OutputKernelTerms,
    alpha: float,
    weights: np.ndarray | None,
    free_intercept: bool,
    row_is_given: bool,
) -> Posterior:
    """Return the posterior of several kernels, in closed form where there is one.

    There is one for a kernel and the term of a row, with complete targets.
    """
    kernels, terms = tuple(kernel.of_inputs), output_kernel.terms
    if kernel.has_rows and len(kernels) == 1 and weights is None:
        L, row_kernel = terms
        return RowTermPosterior.of(
            kernels[0],
            rows,
            L,
            row_kernel,
            alpha,
            free_intercept=free_intercept,
            row_is_given=row_is_given,
        )
    shared = terms[-1].matrix() if kernel.has_rows else None
    return TermSumPosterior(
        kernels,
        terms[: len(kernels)],
        rows,
        alpha,
        weights,
        free_intercept,
        shared,
        row_is_given,
    )


def as_input_kernel(spec: Any) -> Kernel | PerOutput | KernelTerms:
    """Turn a name or a function into a kernel; pass several kernels through."""
    return spec if isinstance(spec, PerOutput | KernelTerms) else as_kernel(spec)


def is_for_one_output(kernel: Any) -> bool:
    """Tell whether a kernel can be of one output only."""
    if not isinstance(kernel, PerOutput) or not isinstance(
        kernel.kernels, list | tuple
    ):
        return False
    return len(kernel.kernels) == 1


def check_kernel_per_output(
    kernel: Any,
    structures: Sequence[Structure],
    observed: Observed,
) -> None:
    """Raise ValueError if a kernel per output does not fit outputs and structures."""
    if not isinstance(kernel, PerOutput):
        return
    if observed.tasks is not None:
        raise ValueError(
            "PerOutput is not supported for data in long form; fit one model for each "
            "task, or one kernel for all tasks with task."
        )
    kernel.validate(observed.n_outputs)
    for structure in structures:
        if "identity" not in structure.capabilities:
            raise ValueError(
                "PerOutput gives each output a kernel of its own, and needs "
                f"structure='identity'; got {structure}. Use structure='identity', or "
                "one kernel for all outputs."
            )
