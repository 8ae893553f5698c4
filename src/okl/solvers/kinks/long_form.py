"""What was found with a target matrix, as a model of data in long form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from okl.numerics.arrays import Array
from okl.problems import Problem
from okl.solvers.kinks.dual_model import (
    gap_of,
    is_as_good_as,
    of_dual_point,
    with_dual_point,
)
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

    ``fit`` solves a problem of a given L, from multipliers that are near.
    """
    kernel, limited = found.output_kernel, found.certificate.status == "rank_limited"
    multipliers = problem.entries.from_matrix(found.dual_point)
    model = of_dual_point(problem, multipliers, kernel, request, rank_limited=limited)
    bounded = problem.rank_is_bounded
    if not is_as_good_as(model, found, request.tol, bounded=bounded):
        # what was found is not the model of its multipliers: the best f for its L, with
        # multipliers of its own, is found again
        given = replace(problem, structure=Fixed(kernel.matrix()))
        best = fit(given, request._replace(tol=_CLOSER * request.tol), multipliers)
        theta = problem.entries.theta(best.dual_coef.column, kernel)
        models = [
            with_dual_point(
                problem, point, theta, kernel, request, rank_limited=limited
            )
            for point in (multipliers, best.dual_point)
        ]
        model = min(models, key=gap_of)
    return model.found_by(found.history, found.start)
