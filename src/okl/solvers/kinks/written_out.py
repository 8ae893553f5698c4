"""Data in long form, written out as a target matrix of which a row has one entry.

With L learned, the envelopes of a loss with kinks bend ever more sharply. Where there
is a target matrix Newton's methods find L under them in a few steps. In long form there
are only models of some columns of K (`okl.solvers.smooth.rounds`), which take hundreds
of rounds then, or stall. So where tasks are few the matrix is written out. Its other
entries have no weight, their multipliers are zero, and what is found has one entry a
row again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from okl.numerics.arrays import Array, namespace
from okl.problems import Problem, TargetColumn, TargetMatrix
from okl.solvers.kinks.dual_model import DualModel
from okl.solvers.request import Request
from okl.solvers.solution import Solution
from okl.structures import Fixed

# Most tasks; and K must fit so many times more, as Newton's methods ask.
_MOST_TASKS, _MATRICES = 50, 2
# The best f for an L is found to this part of the tolerance.
_CLOSER = 0.1


class WrittenOut(NamedTuple):
    """A problem in long form, and what a solver has prepared of the target matrix."""

    problem: Problem
    inside: Any


def is_written_out(problem: Problem) -> bool:
    """Tell whether a problem is solved so."""
    return (
        isinstance(problem.entries, TargetColumn)
        and "known" not in problem.structure.capabilities
        and problem.n_outputs <= _MOST_TASKS
        and problem.operator.workspace >= _MATRICES
    )


def written_out(problem: Problem) -> Problem:
    """Return the problem with the target matrix."""
    entries, weights = problem.entries, problem.weights
    assert isinstance(entries, TargetColumn)
    if weights is None:
        weights = namespace(problem.targets).ones_like(problem.targets)
    return replace(
        problem,
        targets=entries.tasks.scatter(problem.targets),
        entries=TargetMatrix(entries.operator),
        weights=entries.tasks.scatter(weights),
    )


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
