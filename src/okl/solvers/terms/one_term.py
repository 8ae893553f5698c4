"""One kernel, as a sum of several that has one term only.

What solves for all f_q and L_q at once takes a problem of one kernel as well.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from okl.certificates.terms import StructureTerms
from okl.operators import OperatorTerms
from okl.problems import Problem, TermMatrix
from okl.solvers.solution import Solution


def as_one_term(problem: Problem) -> Problem:
    """Return the problem of a sum with one term."""
    operator: Any = problem.operator
    return replace(
        problem,
        entries=TermMatrix(OperatorTerms((operator,))),
        structure=StructureTerms((problem.structure,)),
    )


def of_one_term(solution: Solution) -> Solution:
    """Return the solution of the problem itself."""
    dual_coef: Any = solution.dual_coef
    output_kernel: Any = solution.output_kernel
    (theta,), (kernel,) = dual_coef.parts, output_kernel.terms
    return replace(solution, dual_coef=theta, output_kernel=kernel)
