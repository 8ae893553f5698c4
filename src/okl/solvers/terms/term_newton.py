r"""Several kernels, each with its own L, smooth loss: quadratic models of the loss.

The objective is convex in the scores, all functions f_q and all L_q together. In each
round the loss is replaced by its second-order model at the last scores, whose optimum
`okl.solvers.terms.term_model` finds, f and L at once. For the squared loss, targets
missing or weighted as they may be, the model is the loss and one round is enough.

For other losses it is Newton's method with a line search. Along the straight line from
the last (f, L) to those of the model, the norms and penalties are at most their linear
interpolation, as they are convex, and only the loss is evaluated. A round that takes
the full step ends in a model of one C, which is certified; near the optimum all do.

Where the conjugate of a penalty has kinks, as that of a trace, these rounds solve the
problems of `okl.solvers.terms.proximal_points`, which have none.

*Complete targets, one kernel and the term of a row.* K = U diag(d) U' and the identity
have the same eigenvectors: in these coordinates both are diagonal, and after one
decomposition a product costs n m multiplications instead of n^2 m, at any alpha.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from okl.numerics.arrays import Array, namespace
from okl.numerics.memory import require_memory
from okl.operators import DiagonalOperator, OperatorTerms, RowOperator
from okl.problems import Problem, Rotated, TargetMatrix, TermMatrix
from okl.solvers.base import Solver
from okl.solvers.monitor import SAFETY, Monitor
from okl.solvers.request import Request
from okl.solvers.solution import Solution, certified
from okl.solvers.terms.prepared_terms import Back, PreparedTerms
from okl.solvers.terms.proximal_points import proximal_points
from okl.solvers.terms.term_iterate import UNDAMPED, TermIterate
from okl.solvers.terms.term_point import TermPoint
from okl.solvers.terms.term_start import TermStart, best_part

# A model is solved to the relative gap _SHARE * (smallest gap so far)^2, but to at most
# _MOST and at least _SHARE * tol; and times _CLOSER for each round in a row that did
# not lower the objective, for at a small alpha the dual value errs far more than the
# model.
_SHARE, _MOST, _CLOSER = 1e-2, 1e-3, 1e-2
# Arrays (n_outputs, n_outputs) for each kernel.
_MATRICES = 12
# How much the second derivative is damped at first, and how it changes after a round
# that went all the way, and after one that did not.
_DAMPED, _LOWER, _HIGHER = 0.1, 0.1, 10.0


class TermNewton(Solver):
    """Newton's method for several kernels, each with its own output kernel.

    Parameters
    ----------
    columns : int, default=100
        Rank of the approximations of the K_q that precondition.
    """

    name: ClassVar[str | None] = "term_newton"
    aliases: ClassVar[tuple[str, ...]] = ("term_proximal",)
    loss_requires: ClassVar[frozenset[str]] = frozenset({"smooth"})
    structure_requires: ClassVar[frozenset[str]] = frozenset({"proximal"})
    needs_one_kernel: ClassVar[bool] = False
    complete_rows: ClassVar[bool] = False
    several_kernels: ClassVar[bool | None] = True
    workspace_matrices: ClassVar[int] = 0

    def __init__(self, columns: int = 100) -> None:
        self.columns = columns

    def prepare(self, problem: Problem) -> PreparedTerms:
        """Choose columns of the K_q, or decompose the only one beside a row's term."""
        operator: Any = problem.operator
        n_outputs = problem.n_outputs
        require_memory(
            _MATRICES * len(operator.terms) * 8 * n_outputs**2,
            f"A fit of {len(operator.terms)} kernels to {n_outputs} outputs",
            "Use one kernel, or fewer outputs at a time.",
        )
        rotated = _in_eigenbasis(problem)
        if rotated is None:
            return PreparedTerms.of(problem, problem, self.columns, Back())
        inside, lift = rotated
        return PreparedTerms.of(problem, inside, 0, Back(dual=lift))

    def solve(self, prepared: PreparedTerms, request: Request) -> Solution:
        """Iterate from the model of a neighbouring alpha, or from zero."""
        return descent(prepared, request)


def descent(prepared: PreparedTerms, request: Request) -> Solution:
    """Iterate from where a neighbouring alpha ended, or from zero."""
    if "response" in prepared.inside.structure.capabilities:
        return _descent(prepared, request)
    return proximal_points(_descent, prepared, request)


def _descent(prepared: PreparedTerms, request: Request) -> Solution:
    """Minimise models of the loss, from a neighbouring alpha's optimum or from zero."""
    alpha, tol, max_iter, start = request
    problem = prepared.inside
    monitor = Monitor(problem.gap_scale, SAFETY * tol, max_iter)
    xp = namespace(problem.targets)
    zero = xp.zeros_like(problem.targets)
    # where a penalty has the inverse of L_q, functions that are zero cost something too
    nothing = TermPoint.at(problem, zero)
    dual, here = zero, TermIterate.of(problem, zero, alpha * nothing.cost)
    if start is not None:
        dual = best_part(problem, alpha, start.dual).dual
        there = TermIterate.of_start(problem, alpha, start)
        here = there if there.objective < here.objective else here
    damped, closer = _DAMPED, 1.0
    while not monitor.done:
        share = max(min(_SHARE * monitor.smallest**2, _MOST), _SHARE * tol)
        gap = closer * share * problem.gap_scale.of(here.objective)
        model = here.model(problem, prepared.approximation, alpha, damped)
        point = model.minimise(dual, gap=gap)
        dual = point.dual
        there = TermIterate.of(problem, point.predictions, alpha * point.cost)
        bound = there.dual_value(problem, alpha, point, shown=prepared.shows_dual)
        monitor.add(there.objective, bound, (point, there.intercept))
        closer = 1.0 if monitor.falls else _CLOSER * closer
        here = here.towards(problem, there)
        full = here is there
        least = UNDAMPED / 10
        damped = max(_LOWER * damped, least) if full else min(_HIGHER * damped, 1.0)
    best, intercept = monitor.best
    asked, back = prepared.problem, prepared.back
    kernel = back.kernel(best.kernel)
    return certified(
        asked,
        asked.balanced_theta(back.dual(best.dual), kernel),
        kernel,
        request,
        history=monitor.history,
        start=TermStart(best.dual, best.response.output_kernel),
        intercept=intercept,
    )


def _in_eigenbasis(
    problem: Problem,
) -> tuple[Problem, Callable[[Array], Array]] | None:
    """Return a problem of diag(d) and the identity, and the way back for C.

    The part of Y that is orthogonal to U becomes a few rows with d = 0. None if it is
    no such problem, or there is no memory.
    """
    operator = problem.operator
    if not isinstance(operator, OperatorTerms) or len(operator.terms) != 2:
        return None
    K, other = operator.terms
    quadratic = "quadratic" in problem.loss.capabilities
    if not quadratic or problem.weights is not None or K.clipped:
        return None
    if not isinstance(other, RowOperator) or K.workspace < 2:
        return None
    rotated = Rotated.of(replace(problem, entries=TargetMatrix(K)))
    d = rotated.eigenvalues[:, 0]
    terms = DiagonalOperator(d), DiagonalOperator(namespace(d).ones_like(d))
    entries = TermMatrix(OperatorTerms(terms))
    return replace(rotated.as_problem(), entries=entries), rotated.lift
