"""What was found with a target matrix, as a model of data in long form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from okl.numerics.arrays import Array
from okl.problems import Problem
from okl.solvers.kinks.dual_model import DualModel
from okl.solvers.request import Request
from okl.solvers.solution import Solution
from okl.structures import Fixed

# The best f for an L is found to this part of the tolerance.
_CLOSER = 0.1


def in_long_form(
    problem: Problem,
    found: Solution,
    request: Request,
    fit: Callable[[Problem, Request, Array], Solution],
) -> Solution:
    """Return what was found with the target matrix as a model in long form.

    Parameters
    ----------
    problem : Problem
        In long form.
    found : Solution
    request : Request
    fit : callable
        What solves a problem of a given L, from multipliers that are near.
    """
    entries: Any = problem.entries
    kernel, limited = found.output_kernel, found.certificate.status == "rank_limited"
    multipliers = entries.tasks.own(found.dual_point)
    model = DualModel.of_dual_point(
        problem, multipliers, kernel, request, rank_limited=limited
    )
    there = DualModel.of_solution(found)
    if not model.is_as_good_as(there, request.tol, bounded=problem.rank_is_bounded):
        # it is no model of multipliers, and those of the best f for its L are not there
        given = replace(problem, structure=Fixed(kernel.matrix()))
        closer = request._replace(tol=_CLOSER * request.tol)
        best = fit(given, closer, multipliers)
        theta = entries.theta(best.dual_coef.column, kernel)
        points = (multipliers, best.dual_point)
        models = [
            DualModel.certified(
                problem, point, theta, kernel, request, rank_limited=limited
            )
            for point in points
        ]
        model = min(models, key=lambda one: abs(one.certificate.relative_gap))
    return replace(
        found,
        dual_coef=model.dual_coef,
        certificate=model.certificate,
        intercept=model.intercept if problem.centered else None,
        dual_point=model.multipliers,
    )
