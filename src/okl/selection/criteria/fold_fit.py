"""A model of the training rows of a fold, and what it says of the held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from okl.operators import Operator
from okl.output_kernels import OutputKernel
from okl.problems import Observed, Problem
from okl.solvers import Solver, choose_solver
from okl.structures import Structure


class FoldStart(NamedTuple):
    """Where a fit of the same rows with a kernel nearby may start.

    Attributes
    ----------
    capabilities : frozenset of str
        Of the structure: with others there may be a better solver.
    solver : Solver
        That was chosen.
    at : object
        `Solution.start`; None where L is learned, which may depend on the kernel.
    """

    capabilities: frozenset[str]
    solver: Solver
    at: Any

    def fits(self, problem: Problem) -> bool:
        """Tell whether the solver takes a problem, and is one for its structure."""
        same = self.capabilities == problem.structure.capabilities
        return same and not self.solver.missing(problem)


@dataclass(frozen=True)
class FoldFit:
    """A model of some rows.

    Attributes
    ----------
    observed : Observed
        Of these rows.
    operator : Operator
        K, centred if the intercept is free.
    means : array (n_train, 1) or (n_train, n_outputs), or None
        The means of the rows of K, or of that of each output; None without intercept.
    structure : Structure
    alpha : float
    theta : array (n_train, n_outputs)
        C L.
    output_kernel : OutputKernel
        L.
    start : FoldStart
    gap : float
        The relative gap, if the fit did not end at its tolerance, else 0.
    """

    observed: Observed
    operator: Operator
    means: np.ndarray | None
    structure: Structure
    alpha: float
    theta: np.ndarray
    output_kernel: OutputKernel
    start: FoldStart
    gap: float

    @classmethod
    def of(
        cls,
        operator: Operator,
        observed: Observed,
        structure: Structure,
        alpha: float,
        *,
        fit_intercept: bool,
        tol: float,
        max_iter: int,
        start: FoldStart | None = None,
    ) -> FoldFit:
        """Fit to the rows of an operator, which must not be used afterwards."""
        inputs = observed.inputs(operator, fit_intercept=fit_intercept)
        formulation = observed.formulate(inputs, structure)
        problem, at = formulation.problem, None
        # weights of ones are none to a solver, and others may be more than it takes
        if start is not None and start.fits(problem):
            solver, at = start.solver, start.at
        else:
            solver = choose_solver("auto", problem)
        solution = solver.solve(
            solver.prepare(problem), alpha, tol=tol, max_iter=max_iter, start=at
        ).ended(tol=tol, max_iter=max_iter)
        means = inputs.kernel_means
        certificate, known = solution.certificate, problem.known() is not None
        return cls(
            observed,
            inputs.plain,
            None if means is None else means.reshape(len(means), -1),
            structure,
            alpha,
            formulation.coefficients(solution.dual_coef),
            formulation.output_kernel(solution.output_kernel),
            FoldStart(
                structure.capabilities, solver, solution.start if known else None
            ),
            certificate.relative_gap if certificate.failed else 0.0,
        )

    @cached_property
    def known(self) -> bool:
        """Whether L was given."""
        return self.structure.known(self.observed.targets) is not None

    @cached_property
    def fitted(self) -> np.ndarray:
        """K C L on the training rows."""
        return np.asarray(self.operator @ self.theta)

    @cached_property
    def intercept(self) -> np.ndarray:
        """The best b for these, of the centred kernel; zero where it is not free."""
        observed = self.observed
        if self.means is None:
            return np.zeros(observed.n_outputs)
        best = observed.loss.best_intercept
        return np.asarray(best(observed.targets, self.fitted, observed.weights))

    @property
    def scores(self) -> np.ndarray:
        """Those of the training rows."""
        return self.fitted + self.intercept

    @cached_property
    def dual(self) -> np.ndarray:
        """C, from the gradient of the loss."""
        observed = self.observed
        gradient = observed.loss.negative_gradient(
            observed.targets, self.scores, observed.weights
        )
        return np.asarray(gradient) / self.alpha

    @cached_property
    def dual_image(self) -> np.ndarray:
        """K C."""
        return np.asarray(self.operator @ self.dual)

    def of_structure(
        self, image: np.ndarray, g: np.ndarray, s: np.ndarray
    ) -> dict[str, Any]:
        """Return the derivatives by the parameters of a given L that couples outputs.

        That in L, moved alone, is ``image' g`` of held-out rows and ``(KC)' s`` of the
        training rows, (n_outputs, n_outputs), which is not formed here.
        """
        if not (self.known and self.output_kernel.couples):
            return {}
        left, right = np.concatenate([image, self.dual_image]), np.concatenate([g, s])
        return self.structure.gradient(left, right)

    def across(self, cross: Any, rows: np.ndarray) -> np.ndarray:
        """Return centred kernel values of other rows times rows (n_train, p)."""
        image = cross @ rows
        return image if self.means is None else image - (self.means * rows).sum(axis=0)

    def back(self, cross: Any, rows: np.ndarray) -> np.ndarray:
        """Return the transpose of these, from K_TH, times rows (n_test, p)."""
        image = np.asarray(cross @ rows)
        if self.means is None:
            return image
        return image - self.means * rows.sum(axis=0)
