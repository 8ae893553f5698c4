"""A model beside a dual point, in the rounds of the proximal method of multipliers."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import NamedTuple

from okl.certificates import Certificate
from okl.losses import Envelope
from okl.numerics.arrays import Array
from okl.output_kernels import OutputKernel
from okl.problems import Problem
from okl.solvers.kinks.multipliers import multipliers_at
from okl.solvers.kinks.polishing import polished
from okl.solvers.request import Request
from okl.solvers.solution import History, Solution


class DualModel(NamedTuple):
    """A model, a dual point a, and the certificate of both."""

    multipliers: Array
    dual_coef: Array
    output_kernel: OutputKernel
    intercept: Array | float
    certificate: Certificate

    @classmethod
    def of(
        cls,
        envelope: Envelope,
        problem: Problem,
        solution: Solution,
        request: Request,
    ) -> DualModel:
        """Take the model and a from the solution of a smooth problem."""
        scores = problem.entries.predictions(solution.dual_coef)
        scores, _ = replace(problem, loss=envelope).at_best_intercept(scores)
        return cls.certified(
            problem,
            multipliers_at(problem, envelope, scores),
            solution.dual_coef,
            solution.output_kernel,
            request,
            rank_limited=solution.certificate.status == "rank_limited",
        )

    @classmethod
    def of_solution(cls, found: Solution) -> DualModel:
        """Return that of a solution with a dual point."""
        assert found.dual_point is not None
        return cls(
            found.dual_point,
            found.dual_coef,
            found.output_kernel,
            0.0 if found.intercept is None else found.intercept,
            found.certificate,
        )

    def solution(self, problem: Problem, history: History, start: object) -> Solution:
        """Return it as what a solver found."""
        return Solution(
            self.dual_coef,
            self.output_kernel,
            self.certificate,
            len(history.records),
            history.records,
            start,
            self.intercept if problem.centered else None,
            self.multipliers,
        )

    def sparse(self, problem: Problem, request: Request) -> DualModel:
        """Return the model of the dual point, Theta = a L / alpha, a polished.

        Or of a as it is, if that is nearer to the optimum: with an L that is not yet
        the best one it may be.
        """
        kernel = self.output_kernel
        limited = self.certificate.status == "rank_limited"

        def model(multipliers: Array) -> DualModel:
            return self.of_dual_point(
                problem, multipliers, kernel, request, rank_limited=limited
            )

        solved = model(polished(problem, kernel, self.multipliers, request.alpha))
        if solved.certificate.status == "optimal":
            return solved
        key = _primal if problem.rank_is_bounded else _gap
        return min(solved, model(self.multipliers), key=key)

    @classmethod
    def of_dual_point(
        cls,
        problem: Problem,
        multipliers: Array,
        kernel: OutputKernel,
        request: Request,
        *,
        rank_limited: bool = False,
    ) -> DualModel:
        """Return the model with Theta = a L / alpha."""
        theta = problem.entries.theta(multipliers / request.alpha, kernel)
        return cls.certified(
            problem,
            multipliers,
            theta,
            kernel,
            request,
            rank_limited=rank_limited,
        )

    def is_as_good_as(self, other: DualModel, tol: float, *, bounded: bool) -> bool:
        """Tell whether it is optimal, or no farther from it than the other plus tol.

        Under a bound on the rank the objective says which is nearer: with the same L,
        multipliers of a larger dual value make a smaller gap, and may make a worse
        model.
        """
        here, there = self.certificate, other.certificate
        if "optimal" in (here.status, there.status):
            return here.status == "optimal"
        if bounded:
            feasible = here.relative_gap < inf  # else its multipliers are no dual point
            return feasible and here.primal <= (1 + tol) * there.primal
        return here.relative_gap <= there.relative_gap + tol

    @classmethod
    def certified(
        cls,
        problem: Problem,
        multipliers: Array,
        dual_coef: Array,
        kernel: OutputKernel,
        request: Request,
        *,
        rank_limited: bool,
    ) -> DualModel:
        """Return a model, its intercept the best one, with a dual point."""
        predictions = problem.entries.predictions(dual_coef)
        _, best = problem.at_best_intercept(predictions)
        intercept: Array | float = 0.0 if best is None else best
        certificate = problem.certificate(
            dual_coef,
            kernel,
            request.alpha,
            tol=request.tol,
            rank_limited=rank_limited,
            intercept=intercept,
            dual_point=multipliers,
            predictions=predictions,
        )
        return cls(multipliers, dual_coef, kernel, intercept, certificate)


def _gap(model: DualModel) -> float:
    return abs(model.certificate.relative_gap)


def _primal(model: DualModel) -> float:
    certificate = model.certificate
    return certificate.primal if certificate.relative_gap < inf else inf
