r"""Squared loss, few observed targets: Newton's method with one unknown for each.

Where targets are missing, or data are in long form, rounds
(`okl.solvers.smooth.rounds`) replace the cost of the best f by a model of complete
targets. The fewer targets are observed the poorer the model is: rounds become many, or
stall. But few observed targets have few dual variables c, and all equations in them can
be factorised.

With L at its best for c, the dual problem is

.. math:: \min_c\; \tfrac{\alpha}{2} |c|^2 - y'c + R^*(\tfrac12 C'KC),

C the matrix (n_samples, n_outputs) of the c, zero where nothing is observed. It is the
problem of `okl.solvers.terms.term_newton` with one term, and takes some ten steps, at
any alpha; where R* has kinks, proximal points lead to the optimum.

The conjugate of a penalty on the entries of L takes long to evaluate. With such a
penalty c is eliminated instead, and Newton's method works in L
(`okl.solvers.observed.primal_newton`). A bound on the rank of L has no conjugate. With
it Newton's method works in a factor of L (`okl.solvers.observed.bounded_newton`).
"""

from __future__ import annotations

from math import ceil, sqrt
from typing import ClassVar

from okl.numerics.memory import require_memory
from okl.optimization.interior import Interior
from okl.optimization.orthant import Orthant
from okl.optimization.regions import Free, HalfTrace
from okl.problems import Problem, TargetColumn, n_observed
from okl.solvers.base import Solver
from okl.solvers.observed.bounded_newton import bounded_newton
from okl.solvers.observed.primal_newton import PreparedObserved, primal_newton
from okl.solvers.predictor.active_system import DIRECT, MATRICES, factorises
from okl.solvers.request import Request
from okl.solvers.solution import Solution
from okl.solvers.terms.prepared_terms import Back, PreparedTerms, as_one_term
from okl.solvers.terms.term_newton import descent
from okl.solvers.written_out import written_out

# It holds about so many arrays of the size of L.
_MATRICES = 12
# In long form: rows, with however many tasks; and with at most so many rows times tasks
# up to so many more rows, fewer where systems of all of them are factorised. Where the
# conjugate has no kinks and no proximal points are needed, five times as many.
_ROWS, _ROWS_TIMES_TASKS, _MANY_ROWS, _FACTORISED = 3000, 2_000_000, 10_000, 5000
_WITHOUT_KINKS = 5
# In a target matrix the square of the number of observed targets is at most the first
# times its size: with more of them rounds are faster at a large alpha. Under penalties
# on the entries of L rounds are slower, the more so with fewer rows than outputs: the
# second number counts there, and a matrix of fewer rows than outputs as a square one.
_SQUARE, _SQUARE_OF_PENALISED = 300, 1000
# The most entries of a factor of L, which have a matrix of second derivatives; and the
# most numbers of their right sides, each of the size of the target matrix.
_MOST_IN_FACTOR, _RIGHT_SIDES = 1000, 1.5e8


class ObservedNewton(Solver):
    """Newton's method on one dual variable for each of few observed targets.

    In long form for up to 3000 of them, and for up to 10,000 (5000 under a bound on the
    rank or penalties on the entries of L) if rows times tasks are at most two million,
    or ten if the conjugate of the structure's penalty has two derivatives.
    Of a target matrix for up to 3000, if they are at most the root of 300 times its
    size, or of 1000 times under penalties on the entries of L, in which a matrix of
    fewer rows than outputs counts as square. A bound on the rank times the number of
    outputs may be up to 1000, fewer where rows times outputs are above 150,000.

    Parameters
    ----------
    columns : int, default=100
        Rank of the approximation of K that preconditions where it is not factorised.
    """

    name: ClassVar[str | None] = "observed_newton"
    aliases: ClassVar[tuple[str, ...]] = ("task_newton",)
    structure_requires: ClassVar[frozenset[str]] = frozenset({"proximal"})
    regions: ClassVar = (Free, HalfTrace, Interior, Orthant)
    complete_rows: ClassVar[bool] = False
    weightings: ClassVar = frozenset({"none", "missing", "any"})

    def __init__(self, columns: int = 100) -> None:
        self.columns = columns

    def missing(self, problem: Problem) -> list[str]:
        """Return what a problem lacks, few observed targets included."""
        words = super().missing(problem)
        most = _most_observed(problem)
        if n_observed(problem) > most:
            words.append(f"at most {most} observed targets")
        n, m = problem.operator.n_samples, problem.n_outputs
        most = min(int(_RIGHT_SIDES / max(n * m, 1)), _MOST_IN_FACTOR)
        if problem.rank_is_bounded and problem.structure.max_rank(m) * m > most:
            words.append(f"at most {most} entries in a factor of L")
        return words

    def matrices(self, problem: Problem) -> int:
        """Return how many arrays of the size of K the systems take."""
        share = n_observed(problem) / problem.operator.n_samples
        return ceil(MATRICES * share**2)

    def fits_in_memory(self, problem: Problem) -> bool:
        """Tell whether there is memory for these, or they are small."""
        return factorises(problem, n_observed(problem))

    def prepare(self, problem: Problem) -> PreparedTerms | PreparedObserved:
        """Write the target matrix out, if the problem is in long form.

        Before that it looks for room for matrices of outputs.
        """
        n_outputs = problem.n_outputs
        require_memory(
            _MATRICES * 8 * n_outputs**2,
            lambda: (
                f"A fit of {problem.structure} to {n_outputs} outputs of which few "
                "targets are observed"
            ),
            "Fit fewer outputs at a time.",
        )
        inside = written_out(problem)
        penalised = isinstance(problem.structure.region(n_outputs), Orthant)
        if penalised or problem.rank_is_bounded:
            return PreparedObserved.of(problem, inside)
        back = Back(
            dual=problem.entries.from_matrix,
            kernel=lambda kernels: kernels.terms[0],
            structure=lambda terms: terms.structures[0],
        )
        return PreparedTerms.of(problem, as_one_term(inside), self.columns, back)

    def solve(
        self, prepared: PreparedTerms | PreparedObserved, request: Request
    ) -> Solution:
        """Iterate from the model of a neighbouring alpha, or from zero."""
        if isinstance(prepared, PreparedTerms):
            return descent(prepared, request)
        if prepared.problem.rank_is_bounded:
            return bounded_newton(prepared, request)
        return primal_newton(prepared, request)


def _most_observed(problem: Problem) -> int:
    """Return how many targets may be observed."""
    n, m = problem.operator.n_samples, problem.n_outputs
    penalised = isinstance(problem.structure.region(m), Orthant)
    if isinstance(problem.entries, TargetColumn):
        factorises = penalised or problem.rank_is_bounded
        most = _FACTORISED if factorises else _MANY_ROWS
        kinks = "response" not in problem.structure.capabilities
        times = _ROWS_TIMES_TASKS * (1 if kinks else _WITHOUT_KINKS)
        return max(_ROWS, min(most, times // max(m, 1)))
    square = _SQUARE_OF_PENALISED * max(n, m) * m if penalised else _SQUARE * n * m
    return min(int(sqrt(square)), DIRECT)
