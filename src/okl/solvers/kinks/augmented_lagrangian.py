r"""A loss with kinks: the proximal method of multipliers.

In each round the loss V is replaced by its Moreau envelope, moved by the multipliers a
of the round before (`okl.losses.envelope`): a smooth problem, whose negative gradient
at the solution is the next a. All these a are dual points of V itself, and at any
Moreau parameters sigma they converge to the best one; for a piecewise linear loss a few
rounds of growing parameters are enough (Rockafellar 1976; with a semismooth Newton
method inside, Li, Sun & Toh 2018).

The smooth problems go to `okl.solvers.predictor.semismooth_newton` where L is known, to
`okl.solvers.smooth.majorization` where it is learned.

Where L is known and couples no outputs, libsvm finds the multipliers faster
(`okl.solvers.kinks.support_vectors`), and the rounds start from these if they are not
near enough to the optimum.

Where L is learned and many entries may be at a kink, as with a quantile loss, the loss
is split off first (`okl.solvers.kinks.splitting`), and the rounds take what that does
not solve.

Data in long form with a learned L and few tasks are written out as a target matrix
(`okl.solvers.written_out`).

With several kernels, each with a learned L, the rounds are those of
`okl.solvers.kinks.term_ascent`, for the squared hinge as well, which is smooth but
curved in few entries. They are also faster for one kernel under the squared Frobenius
norm.

The model that is returned is that of the dual point, alpha C = a, after the entries of
a between their bounds were solved for (`okl.solvers.kinks.polishing`): its other dual
variables are exactly zero, or at their bounds. Where it misses the tolerance, as it may
with a learned L and a tolerance near to rounding or a bound on the rank, the model of a
smooth problem is returned, which has no exact zeros.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from okl.losses import Envelope
from okl.losses.separable import unweighted
from okl.numerics.arrays import Array, namespace
from okl.problems import Problem
from okl.solvers.base import Solver
from okl.solvers.kinks import support_vectors
from okl.solvers.kinks.dual_model import (
    is_as_good_as,
    of_dual_point,
    of_envelope,
    sparse,
)
from okl.solvers.kinks.long_form import in_long_form
from okl.solvers.kinks.multipliers import balanced
from okl.solvers.kinks.splitting import Split, can_be_split, split
from okl.solvers.kinks.term_ascent import term_ascent
from okl.solvers.monitor import Monitor
from okl.solvers.request import Request
from okl.solvers.smooth.factor_penalties import OfTrace, factor_penalty
from okl.solvers.smooth_loss import SMOOTH_LOSS
from okl.solvers.solution import Solution
from okl.solvers.table import first_that_fits
from okl.solvers.terms.prepared_terms import PreparedTerms, as_one_term
from okl.solvers.terms.proximal_points import proximal_points
from okl.solvers.written_out import WrittenOut, is_written_out, written_out

# The first Moreau parameter, and the largest. Under the trace penalty the first is the
# second number: steps in f and a factor of L at once need many curved entries, of which
# there are more the smoother the loss is, even where all rows can be told apart.
_FIRST, _FIRST_OF_TRACE, _LARGEST = 1.0, 0.5, 1e6
# Its factor after a smooth problem that took at most so many iterations: of Newton's
# method where L is known, of models of L where it is learned, which become many if the
# parameter is large.
_KNOWN_GROWTH = ((15, 10.0), (40, 5.0), (10**9, 2.0))
_LEARNED_GROWTH = ((6, 10.0), (10**9, 2.0))
# A smooth problem is solved to the relative gap _SHARE * (smallest gap so far), but to
# at most _MOST and at least _LEAST * tol.
_SHARE, _MOST, _LEAST = 1e-2, 1e-3, 0.3
# Most iterations of a smooth problem.
_STEPS = 200
# The factor of the Moreau parameter where a smooth problem was not solved.
_SMALLER = 0.1
# The gap from which on the model of the dual point is tried.
_ROUGH = 1e-3
# Most outputs for which the derivative of a learned L by C is written out, and most
# tasks in long form for which the target matrix is.
_FEW_OUTPUTS = 50
# Rounds without progress after which rounding is taken to be the reason; and rounds
# within the tolerance, after which the model of the dual point is not waited for.
_STAGNATION, _ROUNDS_MORE = 3, 2


class AugmentedLagrangian(Solver):
    """The proximal method of multipliers, for losses with kinks."""

    name: ClassVar[str | None] = "augmented_lagrangian"
    loss_requires: ClassVar[frozenset[str]] = frozenset({"proximal"})
    needs_one_kernel: ClassVar[bool] = False
    complete_rows: ClassVar[bool] = False
    several_kernels: ClassVar[bool | None] = None
    workspace_matrices: ClassVar[int] = 0  # smooth problems have a solver without any

    def prepare(self, problem: Problem) -> Any:
        """Prepare the solver of the smooth problems, or of one term."""
        if is_written_out(problem, most=_FEW_OUTPUTS):
            return WrittenOut(problem, self.prepare(written_out(problem)))
        if _is_one_term(problem):
            return _OneTerm(problem, self.prepare(as_one_term(problem)))
        solver, smooth = _smooth(problem)
        return solver.prepare(smooth)._replace(problem=problem)

    def solve(self, prepared: Any, request: Request) -> Solution:
        """Iterate from the dual point of a neighbouring alpha, or from zero."""
        if isinstance(prepared, WrittenOut):
            found = self.solve(prepared.matrix, request)
            return in_long_form(prepared.column, found, request, self._given)
        problem, start = prepared.problem, request.start
        if can_be_split(problem):
            # tried along a path even after an alpha that was left to the rounds
            neighbour = start if isinstance(start, Split) else None
            one_term = isinstance(prepared, _OneTerm)
            ended = split(problem, request, neighbour, another=one_term)
            if isinstance(ended, Solution):
                return ended
            if start is neighbour:
                near = ended is not None and not one_term
                start = _Start(ended, None) if near else None
                request = request._replace(start=start)
        if isinstance(prepared, _OneTerm):
            one: Any = term_ascent(prepared.inside, request)
            (theta,), (kernel,) = one.dual_coef.parts, one.output_kernel.terms
            return replace(one, dual_coef=theta, output_kernel=kernel)
        learned = "known" not in problem.structure.capabilities
        if problem.operator.several and learned:
            if "response" in problem.structure.capabilities:
                return term_ascent(prepared, request)
            return proximal_points(term_ascent, prepared, request)
        return _rounds(prepared, request)

    def _given(
        self, problem: Problem, request: Request, multipliers: Array
    ) -> Solution:
        """Iterate from multipliers that are near, L given."""
        start = _Start(multipliers, None)
        return _rounds(self.prepare(problem), request._replace(start=start))


def _rounds(prepared: Any, request: Request) -> Solution:
    """Iterate with one kernel, or L given."""
    alpha, tol, max_iter, start = request
    problem = prepared.problem
    known = "known" in problem.structure.capabilities
    smooth_solver, _ = _smooth(problem)
    growths = _KNOWN_GROWTH if known else _LEARNED_GROWTH
    monitor = Monitor(problem.gap_scale, 0.0, max_iter, stagnation=_STAGNATION)
    if start is None:
        start = _Start(namespace(problem.targets).zeros_like(problem.targets), None)
    exact, finished = None, 0
    direct = _of_support_vectors(problem, request)
    if direct is not None:
        monitor.add(direct.certificate.primal, direct.certificate.dual, direct)
        start = _Start(direct.dual_point, start.inside)
    solved = direct is not None and direct.certificate.status == "optimal"
    of_trace = isinstance(factor_penalty(problem), OfTrace)
    least = _FIRST_OF_TRACE if of_trace else _FIRST
    parameter, share = least, _MOST
    while not solved:
        smooth = _moved(problem, start.multipliers, parameter)
        inside = Request(alpha, share, _STEPS, start.inside)
        solution = smooth_solver.solve(prepared._replace(problem=smooth), inside)
        model = of_envelope(smooth, problem, solution, request)
        start = _Start(model.dual_point, solution.start)
        certificate = model.certificate
        status = solution.certificate.status
        limited = problem.rank_is_bounded and status != "optimal"
        # where the rank limits it the gap stays open, and the objective says which
        # model is the best and when to stop
        least = tol * problem.gap_scale.of(certificate.primal)
        flat = monitor.lowest - certificate.primal < least
        flat = flat and status == "rank_limited"
        monitor.add(certificate.primal, certificate.dual, model, limited=limited)
        if monitor.smallest <= max(tol, _ROUGH) or flat:
            exact = sparse(monitor.best, problem, request)
            if flat or exact.certificate.status == "optimal":
                break
        finished += monitor.smallest <= tol
        if finished >= _ROUNDS_MORE or monitor.done:
            break
        if solution.certificate.failed:
            # the parameter was too large: smaller ones converge as well, in more rounds
            parameter = max(_SMALLER * parameter, least)
        else:
            growth = next(by for most, by in growths if solution.n_iter <= most)
            parameter = min(growth * parameter, _LARGEST)
        share = min(max(_SHARE * monitor.smallest, _LEAST * tol), _MOST)
    best = monitor.best
    bounded = problem.rank_is_bounded
    if exact is not None and is_as_good_as(exact, best, tol, bounded=bounded):
        best = exact
        monitor.add(best.certificate.primal, best.certificate.dual)
    return best.found_by(monitor.history.records, start)


class _OneTerm(NamedTuple):
    """A problem of one kernel, prepared as a sum that has one term only."""

    problem: Problem
    inside: PreparedTerms


def _is_one_term(problem: Problem) -> bool:
    """Tell whether a problem is solved as a sum with one term."""
    capabilities = problem.structure.capabilities
    return (
        "response" in capabilities
        and "known" not in capabilities
        and problem.entries.every_output
        and problem.n_outputs <= _FEW_OUTPUTS
    )


class _Start(NamedTuple):
    """Multipliers a, and a start for the solver of the smooth problems."""

    multipliers: Array
    inside: object


def _of_support_vectors(problem: Problem, request: Request) -> Solution | None:
    """Return the model of libsvm's multipliers, None where it does not apply."""
    kernel = problem.known()
    if kernel is None or not support_vectors.fits(problem, kernel):
        return None
    found = support_vectors.multipliers_of(
        problem, kernel, request.alpha, tol=request.tol
    )
    found = balanced(problem, found)
    model = of_dual_point(problem, found, kernel, request)
    if model.certificate.status == "optimal":
        return model
    return sparse(model, problem, request)


def _smooth(problem: Problem) -> tuple[Solver, Problem]:
    """Return the first smooth problem, and what solves it and the others."""
    zero = namespace(problem.targets).zeros_like(problem.targets)
    smooth = _moved(problem, zero, _FIRST)
    solver = first_that_fits(SMOOTH_LOSS, smooth, n_alphas=1)
    assert solver is not None  # the last takes all that this solver takes
    return solver, smooth


def _moved(problem: Problem, multipliers: Array, parameter: float) -> Problem:
    """Return the smooth problem of the envelope that is moved by multipliers."""
    shift = unweighted(multipliers, problem.weights) / parameter
    return replace(problem, loss=Envelope(problem.loss, parameter, shift))
