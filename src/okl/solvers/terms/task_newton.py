r"""Tasks in long form: Newton's method on the dual variables, L following them.

With L at its best for the dual variables c, one for each row, the squared loss has the
dual problem

.. math:: \min_c\; \tfrac{\alpha}{2} |c|^2 - y'c + R^*(\tfrac12 C'KC),

C the matrix (n_samples, n_tasks) with the entry c_i of the task of each row. It is
convex and has no more unknowns than there are rows, so that the equations of a step of
Newton's method are factorised: some ten steps, at any alpha. It is the problem of
`okl.solvers.terms.term_newton` with one term, of the target matrix that the long form
stands for; where R* has kinks, proximal points lead to the optimum.
"""

from __future__ import annotations

from typing import ClassVar

from okl.optimization.interior import Interior
from okl.optimization.regions import Free, HalfTrace
from okl.problems import Problem, TargetColumn
from okl.solvers.base import Solver
from okl.solvers.request import Request
from okl.solvers.solution import Solution
from okl.solvers.terms.prepared_terms import Back, PreparedTerms, as_one_term
from okl.solvers.terms.term_model import FEW_ENTRIES
from okl.solvers.terms.term_newton import descent
from okl.solvers.written_out import written_out


class TaskNewton(Solver):
    """Newton's method on one dual variable a row, for tasks of few rows in all.

    For up to 3000 rows; not for penalties on the entries of L, for which the L near a
    given one takes long, nor for a bound on its rank.

    Parameters
    ----------
    columns : int, default=100
        Rank of the approximation of K that preconditions where it is not factorised.
    """

    name: ClassVar[str | None] = "task_newton"
    structure_requires: ClassVar[frozenset[str]] = frozenset({"proximal"})
    regions: ClassVar = (Free, HalfTrace, Interior)
    complete_rows: ClassVar[bool] = False
    weightings: ClassVar = frozenset({"none", "missing", "any"})
    workspace_matrices: ClassVar[int] = 4

    def __init__(self, columns: int = 100) -> None:
        self.columns = columns

    def missing(self, problem: Problem) -> list[str]:
        """Return what a problem lacks: that are tasks, and few rows, too."""
        words = super().missing(problem)
        if not isinstance(problem.entries, TargetColumn):
            words.append("tasks in long form")
        if problem.operator.n_samples > FEW_ENTRIES:
            words.append(f"at most {FEW_ENTRIES} rows")
        if problem.rank_is_bounded:
            words.append("an output kernel of any rank")
        return words

    def prepare(self, problem: Problem) -> PreparedTerms:
        """Write the target matrix out."""
        entries = problem.entries
        assert isinstance(entries, TargetColumn)
        back = Back(
            dual=entries.tasks.own,
            kernel=lambda kernels: kernels.terms[0],
            structure=lambda terms: terms.structures[0],
        )
        inside = as_one_term(written_out(problem))
        return PreparedTerms.of(problem, inside, self.columns, back)

    def solve(self, prepared: PreparedTerms, request: Request) -> Solution:
        """Iterate from the model of a neighbouring alpha, or from zero."""
        return descent(prepared, request)
