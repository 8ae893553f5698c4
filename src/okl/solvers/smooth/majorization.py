"""Any structure, smooth loss: models of the cost of the best f, then Newton's method.

Rounds of models (`okl.solvers.smooth.rounds`) may be hundreds where many directions of
L are nearly zero, as under a trace penalty at a small alpha, and where the loss bends
sharply, as logistic losses and the envelopes of a hinge do. Where targets are missing,
or the loss is one of labels, a few rounds therefore only find the start of Newton's
method, which takes some ten steps:

- Newton's method in a factor of L (`okl.solvers.smooth.factor_newton`) under the trace
  penalty, the Frobenius norm and a trace ball without eps; for one class among several
  under the first alone;
- Newton's method in L (`okl.solvers.smooth.region_newton`) for labels, where the
  structure has a region with a barrier; under the trace ball, which has both, if
  outputs are few.

Both need a target matrix: labels in long form of few tasks are written out as one
(`okl.solvers.written_out`), and so are numbers if the matrix is small and steps in a
factor take the place of rounds.
"""

from __future__ import annotations

from typing import Any, ClassVar

from okl.problems import Problem
from okl.solvers.base import Solver
from okl.solvers.request import Request
from okl.solvers.smooth import factor_newton, region_newton
from okl.solvers.smooth.factor_penalties import factor_penalty
from okl.solvers.smooth.rounds import STEPS, PreparedRounds, has_labels, rounds
from okl.solvers.solution import Solution
from okl.solvers.written_out import WrittenOut, is_written_out, written_out

# Steps in L solve for a change of each entry: where steps in a factor are possible as
# well, they are taken up to so many outputs. Labels in long form are written out up to
# so many tasks: with more of them models of some columns of K are as fast.
_FEW_OUTPUTS = 20
# Numbers in long form are written out up to so many entries of the matrix, under the
# squared loss and under others: with more of them its steps cost more than rounds in
# long form do. Of these there are hundreds under other losses at a small alpha.
_FEW_ENTRIES, _MORE_ENTRIES = 10_000, 50_000
# Where the matrix is written out L is found to this part of the tolerance, as f is
# found again in long form, with another gap.
_CLOSER = 0.5
# The relative gap to which f is found again.
_BEST = 1e-14


class Majorization(Solver):
    """Minimise models of the cost of the best f, plus alpha R, then Newton's method.

    Parameters
    ----------
    columns : int, default=100
        How many columns of K the models use where it cannot be decomposed.
    """

    name: ClassVar[str | None] = "majorization"
    aliases: ClassVar[tuple[str, ...]] = (
        "proximal_gradient",
        "surrogate",
        "trace_newton",
    )
    loss_requires: ClassVar[frozenset[str]] = frozenset({"smooth"})
    structure_requires: ClassVar[frozenset[str]] = frozenset({"update"})
    complete_rows: ClassVar[bool] = False
    workspace_matrices: ClassVar[int] = 0

    def __init__(self, columns: int = 100) -> None:
        self.columns = columns

    def prepare(self, problem: Problem) -> PreparedRounds | WrittenOut:
        """Prepare what finds f, and what makes models."""
        prepared = PreparedRounds.of(problem, self.columns)
        if not is_written_out(problem, most=_most_tasks(problem)):
            return prepared
        matrix = PreparedRounds.of(written_out(problem), self.columns)
        return WrittenOut(prepared, matrix)

    def solve(self, prepared: Any, request: Request) -> Solution:
        """Iterate from the L of a neighbouring alpha, or from L = 0."""
        if isinstance(prepared, WrittenOut):
            closer = request._replace(tol=_CLOSER * request.tol)
            found = self.solve(prepared.matrix, closer)
            return _in_long_form(prepared, found, request)
        in_factor = factor_newton.takes(prepared)
        few = prepared.problem.n_outputs <= _FEW_OUTPUTS
        if region_newton.takes(prepared) and (few or not in_factor):
            found = region_newton.region_newton(prepared, request)
            left = request.max_iter - found.n_iter
            if not in_factor or found.certificate.status == "optimal" or left <= 0:
                return found
            # where L is at the bounds of the region rounding may leave a gap, from
            # which steps in a factor go on
            request = request._replace(max_iter=left, start=found.start)
            further = factor_newton.factor_newton(prepared, request)
            history = found.history + further.history
            best = min(found, further, key=lambda one: one.certificate.relative_gap)
            return best.found_by(history, best.start)
        return (factor_newton.factor_newton if in_factor else rounds)(prepared, request)


def _most_tasks(problem: Problem) -> int:
    """Return up to how many tasks a problem in long form is written out as a matrix."""
    if has_labels(problem):
        return _FEW_OUTPUTS
    penalty = factor_penalty(problem)
    if penalty is None or penalty.by_rounds:
        return 0
    most = _FEW_ENTRIES
    if "quadratic" not in problem.loss.capabilities:
        most = _MORE_ENTRIES if factor_newton.few_are_observed(problem) else 0
    return most // problem.operator.n_samples


def _in_long_form(prepared: WrittenOut, found: Solution, request: Request) -> Solution:
    """Return the best f in long form for the L that was found with the matrix."""
    column, problem = prepared.column, prepared.column.problem
    alpha, kernel = request.alpha, found.output_kernel
    dual = problem.entries.from_matrix(prepared.matrix.dual_of(found.start.inside))
    start = column.inside_of(dual, kernel, alpha)
    best = column.best_predictor(kernel, Request(alpha, _BEST, STEPS, start))
    limited = found.certificate.status == "rank_limited"
    model = best.judged(problem, request, rank_limited=limited)
    return model.found_by(found.history, found.start)
