"""Labels or missing targets, a smooth penalty: Newton's method in a factor of L.

It starts from the result of a few rounds (`okl.solvers.smooth.rounds`).

*Labels under the trace penalty*, also those of one class among several, take steps in f
and a factor at once (`okl.solvers.smooth.joint_steps`). With a bound on the rank there
are many local minima: the steps then start from fits at larger alphas, unless a few
rounds, and steps from these, lead to a lower objective.

*Labels under other penalties, and missing targets of the squared loss,* take steps in
the factor, with the best f for each L (`okl.solvers.smooth.factor_steps`); so do labels
under the trace penalty without a bound where steps in both end above the tolerance.
Missing targets of other losses, and weights of which some are zero, are as labels are,
if the observed targets are few: rounds may be a thousand there. Under the Frobenius
norm rounds are most often enough, and faster: Newton's method follows only where a
dozen are not. For one class among several there are rounds alone, except under the
trace penalty: its steps are solved by products with K, and under other penalties they
take longer than rounds.
"""

from __future__ import annotations

from okl.numerics.arrays import eigh
from okl.problems import Problem, n_observed
from okl.solvers.monitor import Monitor
from okl.solvers.predictor.active_system import DIRECT, factorises
from okl.solvers.request import Request
from okl.solvers.smooth.differences import has_classes
from okl.solvers.smooth.factor_iterate import FactorIterate
from okl.solvers.smooth.factor_penalties import OfTrace, factor_penalty
from okl.solvers.smooth.factor_steps import FactorSteps
from okl.solvers.smooth.joint_steps import JointSteps
from okl.solvers.smooth.linearisation import AllColumns
from okl.solvers.smooth.rounds import PreparedRounds, Start, has_labels, rounds
from okl.solvers.smooth.scores import Scores
from okl.solvers.solution import Solution

# Without a start there are rounds to this relative gap first; to the second where
# targets are imputed, as a step costs no more than a round there.
_ROUGH, _IMPUTED_ROUGH = 1e-2, 0.5
# There are at most so many rounds, as the gap may stay open for hundreds at a small
# alpha; the second number is that before joint steps.
_ROUNDS, _FEW_ROUNDS = 12, 6
# Under a bound on the rank the last step promises less than this part of the tolerance.
_PROMISE = 1e-2
# Steps without progress after which rounding is taken to be the reason.
_STAGNATION = 10
# The factor between larger alphas, the relative gap at which each is left, and the most
# steps there.
_FACTOR, _LEFT, _STEPS = 10.0, 0.3, 10


def takes(prepared: PreparedRounds) -> bool:
    """Tell whether a problem has a `factor_penalty`, and labels or missing targets."""
    problem = prepared.problem
    penalty = factor_penalty(problem)
    if penalty is None or not isinstance(prepared.models, AllColumns):
        return False
    if isinstance(penalty, OfTrace) and has_classes(problem):
        return True
    if prepared.imputes or has_labels(problem):
        return True
    return _some_are_missing(problem) and few_are_observed(problem)


def _some_are_missing(problem: Problem) -> bool:
    """Tell whether single targets have no weight; a row without one is none of them."""
    weights, (n, m) = problem.weights, problem.targets.shape
    of_entries = weights is not None and weights.shape == (n, m)
    return of_entries and n_observed(problem) < n * m


def few_are_observed(problem: Problem) -> bool:
    """Tell whether the system of all observed targets is small enough to factorise."""
    observed = n_observed(problem)
    return observed <= DIRECT and factorises(problem, observed)


def factor_newton(prepared: PreparedRounds, request: Request) -> Solution:
    """Iterate from L of a neighbouring alpha, or of a few rounds.

    The problem is one that it `takes`.
    """
    alpha, tol, max_iter, start = request
    problem = prepared.problem
    penalty = factor_penalty(problem)
    assert penalty is not None  # it is one of these
    monitor = _monitor(problem, tol, max_iter)
    if start is not None and start.kernel.rank == 0:
        start = None
    together = isinstance(penalty, OfTrace) and not prepared.imputes
    bounded = together and problem.rank_is_bounded
    if bounded and start is None:
        start = _by_way_of_larger_alphas(prepared, alpha)
        if max_iter > 1:  # else the first step is the last
            first = _monitor(problem, tol, max_iter // 2)
            start = _lower_of_two(prepared, alpha, start, first, tol)
            monitor.history.records.extend(first.history.records)
    elif start is None or penalty.by_rounds:
        enough = max(tol, _IMPUTED_ROUGH if prepared.imputes else _ROUGH)
        enough = tol if penalty.by_rounds else enough
        most = min(max_iter, _FEW_ROUNDS if together else _ROUNDS)
        rough = rounds(prepared, Request(alpha, enough, most, start))
        status = rough.certificate.status
        if penalty.by_rounds and status == "optimal":
            return rough
        if rough.n_iter >= max_iter:  # rounds were judged by a larger tolerance
            limited = status == "rank_limited"
            return rough.judged(problem, request, rank_limited=limited)
        monitor.history.records.extend(rough.history)
        start = rough.start
    rank_limited = False
    if together:
        rank_limited = _jointly(prepared, alpha, start, monitor, tol)
        start = monitor.best.start
    if not together or not (bounded or monitor.done):
        steps = FactorSteps(prepared, alpha, start)
        model = steps.model(start.kernel.spectral())
        rank_limited = _iterate(steps, model, monitor, tol)
    best: FactorIterate = monitor.best
    return best.solution(problem, request, monitor.history, rank_limited=rank_limited)


def _monitor(problem: Problem, tol: float, max_iter: int) -> Monitor:
    return Monitor(problem.gap_scale, tol, max_iter, stagnation=_STAGNATION)


def _iterate(
    steps: FactorSteps, model: FactorIterate, monitor: Monitor, tol: float
) -> bool:
    """Take steps; tell whether it is a bound on the rank that leaves a gap."""
    following: FactorIterate | None = model
    while following is not None:
        # under an active bound the gap stays open, and in the end no step gains much
        limited = steps.is_limited(following)
        gap = monitor.add(following.primal, following.dual, following, limited=limited)
        if monitor.done:
            break
        last, following = following, steps.lower(following, gap)
        size = monitor.scale.of(last.objective)
        if limited and steps.promise <= _PROMISE * tol * size:
            return True
    # where rounding ended the steps it hides what is left of the last one
    return limited and steps.promise <= tol * monitor.scale.of(monitor.best.objective)


def _jointly(
    prepared: PreparedRounds, alpha: float, start: Start, monitor: Monitor, tol: float
) -> bool:
    """Take joint steps; tell whether it is a bound on the rank that leaves a gap."""
    steps = JointSteps(prepared, alpha, start)
    return _iterate(steps, steps.model_of(start), monitor, tol)


def _lower_of_two(
    prepared: PreparedRounds, alpha: float, start: Start, monitor: Monitor, tol: float
) -> Start:
    """Return the end of steps from the larger alphas, or of rounds if that is lower.

    Where the rank is bounded there are many local minima. Larger alphas most often lead
    to a lower one, which a few steps do not show yet; but at times to a far higher one.
    """
    _jointly(prepared, alpha, start, monitor, tol)
    best: FactorIterate = monitor.best
    if monitor.gap > tol:
        few = rounds(prepared, Request(alpha, _ROUGH, _FEW_ROUNDS))
        other = _stepped(prepared, alpha, few.start)
        best = other if other.objective < best.objective else best
    return best.start


def _stepped(prepared: PreparedRounds, alpha: float, start: Start) -> FactorIterate:
    """Return the best model of a few joint steps."""
    monitor = _monitor(prepared.problem, _LEFT, _STEPS)
    _jointly(prepared, alpha, start, monitor, _LEFT)
    best: FactorIterate = monitor.best
    return best


def _by_way_of_larger_alphas(prepared: PreparedRounds, alpha: float) -> Start:
    """Return the end of a few steps at each of some larger alphas, from L = 0.

    The directions of the largest singular values of f come first in this way, as if
    there were no bound.
    """
    problem = prepared.problem
    downhill = Scores.zero(problem).gradient
    moment = downhill.T @ (problem.operator @ downhill)
    # at this alpha and above L = 0 is the best one
    largest = float(eigh(moment)[0][-1]) ** 0.5
    alphas = [alpha]
    while _FACTOR**2 * alphas[-1] < largest:
        alphas.append(_FACTOR * alphas[-1])
    model = JointSteps.zero(prepared, alphas[-1])
    for larger in reversed(alphas[1:]):
        model = _stepped(prepared, larger, model.start)
    return model.start
