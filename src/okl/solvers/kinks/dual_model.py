"""Models with a dual point a, in the rounds of the proximal method of multipliers."""

from __future__ import annotations

from math import inf

from okl.numerics.arrays import Array
from okl.output_kernels import OutputKernel
from okl.problems import Problem
from okl.solvers.kinks.multipliers import balanced
from okl.solvers.kinks.polishing import polished
from okl.solvers.request import Request
from okl.solvers.solution import Solution, certified


def with_dual_point(
    problem: Problem,
    multipliers: Array,
    dual_coef: Array,
    kernel: OutputKernel,
    request: Request,
    *,
    rank_limited: bool = False,
) -> Solution:
    """Return a model with its best intercept, and with a as its dual point."""
    predictions = problem.entries.predictions(dual_coef)
    _, intercept = problem.at_best_intercept(predictions)
    return certified(
        problem,
        dual_coef,
        kernel,
        request,
        intercept=intercept,
        rank_limited=rank_limited,
        dual_point=multipliers,
        predictions=predictions,
    )


def of_envelope(
    smooth: Problem, problem: Problem, found: Solution, request: Request
) -> Solution:
    """Return the model of a smooth problem, with minus the gradient as its a."""
    scores = problem.entries.predictions(found.dual_coef)
    scores, _ = smooth.at_best_intercept(scores)
    multipliers = balanced(problem, smooth.downhill(scores))
    limited = found.certificate.status == "rank_limited"
    dual_coef, kernel = found.dual_coef, found.output_kernel
    return with_dual_point(
        problem, multipliers, dual_coef, kernel, request, rank_limited=limited
    )


def of_dual_point(
    problem: Problem,
    multipliers: Array,
    kernel: OutputKernel,
    request: Request,
    *,
    rank_limited: bool = False,
) -> Solution:
    """Return the model with Theta = a L / alpha."""
    theta = problem.entries.theta(multipliers / request.alpha, kernel)
    return with_dual_point(
        problem, multipliers, theta, kernel, request, rank_limited=rank_limited
    )


def sparse(model: Solution, problem: Problem, request: Request) -> Solution:
    """Return the model of the dual point a of another model, after a was polished.

    If it is nearer to the optimum, the model of a as it is, which may be the case where
    L is not yet the best one.
    """
    kernel, a = model.output_kernel, model.dual_point
    limited = model.certificate.status == "rank_limited"
    better = polished(problem, kernel, a, request.alpha)
    solved = of_dual_point(problem, better, kernel, request, rank_limited=limited)
    if solved.certificate.status == "optimal":
        return solved
    same = of_dual_point(problem, a, kernel, request, rank_limited=limited)
    return min(solved, same, key=_primal if problem.rank_is_bounded else gap_of)


def is_as_good_as(
    model: Solution, other: Solution, tol: float, *, bounded: bool
) -> bool:
    """Tell whether a model is optimal, or no worse than another one plus tol.

    Under a bound on the rank the objective says which is nearer: with the same L,
    multipliers of a larger dual value make a smaller gap, and may make a worse model.
    """
    here, there = model.certificate, other.certificate
    if "optimal" in (here.status, there.status):
        return here.status == "optimal"
    if bounded:
        feasible = here.relative_gap < inf  # else its multipliers are no dual point
        return feasible and here.primal <= (1 + tol) * there.primal
    return here.relative_gap <= there.relative_gap + tol


def gap_of(model: Solution) -> float:
    """Return how far a model is from the optimum, relative."""
    return abs(model.certificate.relative_gap)


def _primal(model: Solution) -> float:
    certificate = model.certificate
    return certificate.primal if certificate.relative_gap < inf else inf
