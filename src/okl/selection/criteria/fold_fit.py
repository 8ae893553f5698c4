"""A model of the training rows of a fold, and what it says of the held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from okl.operators import Operator
from okl.output_kernels import OutputKernel, OutputKernelTerms
from okl.problems import Inputs, Observed, Problem
from okl.selection.criteria.fold_term import (
    FoldTerm,
    HeldOutTerm,
    kernels_of,
)
from okl.solvers import Request, Solver, choose_solver
from okl.structures import Structure


class FoldStart(NamedTuple):
    """Where a fit of the same rows with a kernel nearby may start.

    Attributes
    ----------
    capabilities : frozenset of str
        Of the structure: with others there may be a better solver.
    solver : Solver
        The one that was chosen.
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
        K, or all of them, centred if the intercept is free.
    free_intercept : bool
    structure : Structure
    alpha : float
    terms : tuple of FoldTerm
        One for each kernel that has an L of its own.
    output_kernel : OutputKernel
        L, or all of them.
    start : FoldStart
    gap : float
        The relative gap, if the fit did not end at its tolerance, else 0.
    centred_intercept : array (n_outputs,) or None
        The b of the centred kernel, None where the solver does not say it.
    """

    observed: Observed
    operator: Operator
    free_intercept: bool
    structure: Structure
    alpha: float
    terms: tuple[FoldTerm, ...]
    output_kernel: OutputKernel
    start: FoldStart
    gap: float
    centred_intercept: np.ndarray | None

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
        free = fit_intercept and not observed.forbids_intercept
        inputs = observed.inputs(operator, fit_intercept=free)
        formulation = observed.formulate(inputs, structure)
        problem, at = formulation.problem, None
        # weights of ones are none to a solver, and others may be more than it takes
        if start is not None and start.fits(problem):
            solver, at = start.solver, start.at
        else:
            solver = choose_solver(_solver_for(problem), problem)
        request = Request(alpha, tol, max_iter, at)
        solution = solver.solve(solver.prepare(problem), request)
        solution = solution.ended(problem, request)
        certificate, known = solution.certificate, problem.known() is not None
        theta = formulation.coefficients(solution.dual_coef)
        output_kernel = formulation.output_kernel(solution.output_kernel)
        return cls(
            observed,
            inputs.plain,
            free,
            structure,
            alpha,
            _terms(inputs, structure, theta, output_kernel),
            output_kernel,
            FoldStart(
                structure.capabilities, solver, solution.start if known else None
            ),
            certificate.relative_gap if certificate.failed else 0.0,
            solution.intercept,
        )

    @cached_property
    def fitted(self) -> np.ndarray:
        """The sum of K C L on the training rows."""
        return np.sum([term.fitted for term in self.terms], axis=0)

    @cached_property
    def intercept(self) -> np.ndarray:
        """The best b for these, of the centred kernel; zero where it is not free."""
        observed = self.observed
        if not self.free_intercept:
            return np.zeros(observed.n_outputs)
        near = np.zeros(observed.n_outputs)
        if self.centred_intercept is not None:  # near enough to begin, if unweighted
            near = np.asarray(self.centred_intercept) - self.fitted.mean(axis=0)
        best = observed.loss.best_intercept
        there = observed.targets, self.fitted + near, observed.weights
        return near + np.asarray(best(*there))

    @property
    def scores(self) -> np.ndarray:
        """The scores of the training rows."""
        return self.fitted + self.intercept

    @cached_property
    def dual(self) -> np.ndarray:
        """C, from the gradient of the loss."""
        observed = self.observed
        return np.asarray(observed.downhill(self.scores)) / self.alpha

    @cached_property
    def dual_images(self) -> list[np.ndarray]:
        """K C of each term."""
        return [np.asarray(term.operator @ self.dual) for term in self.terms]

    def held_out(
        self, operator: Operator, train: np.ndarray, test: np.ndarray
    ) -> list[HeldOutTerm]:
        """Return the terms at held-out rows, from the kernel of all rows."""
        return [
            HeldOutTerm.of(term, kernel, train, test, self.dual, image)
            for term, kernel, image in zip(
                self.terms, kernels_of(operator), self.dual_images, strict=True
            )
        ]


def _solver_for(problem: Problem) -> str:
    """Return the name of a solver.

    With several kernels whose L are all given Newton's method in f can start from a fit
    nearby. Rounds that also learn L may take a thousand times as long from there.
    """
    given = problem.operator.several and problem.known() is not None
    return "newton_cg" if given else "auto"


def _terms(
    inputs: Inputs, structure: Structure, theta: Any, output_kernel: OutputKernel
) -> tuple[FoldTerm, ...]:
    """Return the terms of a model, one if there is one kernel."""
    operator, means = inputs.plain, inputs.kernel_means
    if not isinstance(output_kernel, OutputKernelTerms):
        means = None if means is None else means.reshape(len(means), -1)
        return (FoldTerm(operator, means, structure, theta, output_kernel),)
    of_each = zip(
        kernels_of(operator),
        structure.of_terms,
        theta.parts,
        output_kernel.terms,
        strict=True,
    )
    return tuple(
        FoldTerm(K, None if means is None else means[:, [q]], own, part, L, True)
        for q, (K, own, part, L) in enumerate(of_each)
    )
