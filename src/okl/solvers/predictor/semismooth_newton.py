r"""Known output kernel, loss with curvature at some entries only: semismooth Newton.

An entry is *active* where the loss has curvature: for the envelope of a hinge, a
support vector on the margin. Let a be the negative gradient of the loss at
F = J C + 1 b', J the map C -> K C L, and r = a - alpha C. The Newton step leads to
C + r / alpha + E, where E solves the equations of `okl.solvers.predictor.active_system`
for R = -J r / alpha, and the change of the intercept keeps 1'C = 0. A step costs two
products with J, those for the gap included: at the best intercept the gap is
<r, J r> / (2 alpha). The intercept is a variable of the steps and moves with C: where
the loss is flat in it, the best intercept does not tell how it should change.

Along a step the objective is piecewise quadratic, or nearly so, and its derivative
increasing and piecewise linear, so that its zero is found exactly. An output that no
other depends on has a step length of its own. Where the loss is piecewise quadratic the
method ends after finitely many steps.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from okl.losses.base import Curvature
from okl.numerics.arrays import Array, inner, namespace
from okl.optimization.crossing import increasing_root
from okl.solvers.monitor import SAFETY, Monitor
from okl.solvers.predictor.active_system import ActiveSystem
from okl.solvers.predictor.approximation import Prepared
from okl.solvers.predictor.newton_cg import NewtonCG
from okl.solvers.request import Request
from okl.solvers.solution import History, Solution, certified

# Systems are solved to the relative residual gap^(1/2), but to at most _LOOSEST and at
# least _CLOSEST. After each step shorter than _SHORT it is multiplied by _CLOSER:
# systems that are solved loosely keep making short steps.
_LOOSEST, _CLOSEST, _CLOSER, _SHORT = 0.03, 1e-9, 0.1, 0.3
# The part of the slope that is left at the end of a step; a step this short is none.
_FLAT, _NONE = 1e-3, 1e-9


class SemismoothNewton(NewtonCG):
    """Newton's method on the entries where the loss has curvature.

    Parameters
    ----------
    columns : int, default=100
        Rank of the approximation of K that preconditions conjugate gradients.
    """

    name: ClassVar[str | None] = "semismooth_newton"
    loss_requires: ClassVar[frozenset[str]] = frozenset({"smooth", "active"})

    def solve(self, prepared: Prepared, request: Request) -> Solution:
        """Iterate from C of a neighbouring alpha, or from zero."""
        problem = prepared.problem
        closer = request._replace(tol=SAFETY * request.tol)
        found = semismooth_newton(prepared, closer)
        return certified(
            problem,
            problem.balanced_theta(found.dual, prepared.kernel),
            prepared.kernel,
            request,
            history=found.history,
            start=found.dual,
            intercept=found.intercept if problem.centered else None,
        )


class Found(NamedTuple):
    """The last point: C, J C, the best b or zero, and the gap of its objective to D."""

    dual: Array
    predictions: Array
    intercept: Array
    gap: float
    history: History


def semismooth_newton(prepared: Prepared, request: Request) -> Found:
    """Take the steps, from C of a neighbouring alpha or from zero.

    J may be any symmetric positive semi-definite operator.
    """
    alpha, tol, max_iter, start = request
    problem, joint = prepared.problem, prepared.joint
    monitor = Monitor(problem.gap_scale, tol=tol, max_iter=max_iter)
    xp = namespace(problem.targets)
    dual = xp.zeros_like(problem.targets) if start is None else start
    predictions = xp.zeros_like(dual) if start is None else joint @ dual
    intercept, closer = None, 1.0
    while True:
        point = _Point.at(prepared, dual, predictions, intercept, alpha)
        gap = monitor.add(point.objective, point.objective - point.gap)
        if monitor.done:
            break
        rtol = max(closer * min(gap**0.5, _LOOSEST), _CLOSEST)
        direction = _newton(prepared, point, alpha, rtol=rtol)
        length = _best_length(prepared, point, direction, alpha)
        longest = float(xp.max(length))
        if longest <= _NONE:  # rounding hides any further descent
            break
        if longest < _SHORT:
            closer *= _CLOSER
        dual = dual + length * direction.change
        predictions = predictions + length * direction.predictions
        intercept = point.intercept + length * direction.intercept
    return Found(dual, predictions, point.best_intercept, point.gap, monitor.history)


class _Point(NamedTuple):
    """Dual variables C with an intercept b, and the loss at their scores."""

    dual: Array  # C (n_samples, n_outputs)
    scores: Array  # F
    residual: Array  # r = a - alpha C
    residual_image: Array  # J r
    curvature: Curvature  # W
    intercept: Array  # b (n_outputs,), zero without an intercept
    best_intercept: Array  # where the loss is least
    objective: float  # at the best intercept: the loss plus alpha <C, J C> / 2
    gap: float  # how far this is above the dual value at its a

    @classmethod
    def at(
        cls,
        prepared: Prepared,
        dual: Array,
        predictions: Array,
        intercept: Array | None,
        alpha: float,
    ) -> _Point:
        problem = prepared.problem
        # the best intercept is not far from the last one
        best_scores, best = problem.at_best_intercept(predictions, intercept)
        if best is None:
            best = namespace(dual).zeros((problem.n_outputs,), dtype=dual.dtype)
        if intercept is None:
            intercept = best
        scores = predictions + problem.entries.spread(intercept)
        residual = problem.downhill(scores) - alpha * dual
        at_best = problem.downhill(best_scores) - alpha * dual
        image, best_image = prepared.joint.both(residual, at_best)
        return cls(
            dual,
            scores,
            residual,
            image,
            problem.curvature(scores),
            intercept,
            best,
            problem.loss_at(best_scores) + alpha / 2 * inner(dual, predictions),
            inner(at_best, best_image) / (2 * alpha),
        )


class _Direction(NamedTuple):
    """A change of C, J times it, and a change of b."""

    change: Array
    predictions: Array
    intercept: Array


def _newton(
    prepared: Prepared, point: _Point, alpha: float, *, rtol: float
) -> _Direction:
    """Return the Newton step."""
    problem, curvature = prepared.problem, point.curvature
    xp = namespace(point.dual)
    right = -point.residual_image / alpha
    sums = -problem.entries.sums(point.dual + point.residual / alpha)
    system = ActiveSystem(prepared, curvature, alpha)
    inside = system.solve(right, sums, rtol=rtol)
    inside_image = prepared.joint @ inside
    intercept = xp.zeros_like(point.intercept)
    if problem.centered:
        # what is left of the equations of the active entries is the intercept's
        left = curvature.diagonal * (right - inside_image)
        left_over = problem.entries.sums(left - alpha * inside)
        intercept = problem.entries.solve_total(curvature, left_over)
        # without active entries it moves to the best intercept
        flat = problem.entries.sums(curvature.diagonal) == 0
        way = point.best_intercept - point.intercept
        intercept = xp.where(flat, way, intercept)
    predictions = point.residual_image / alpha + inside_image
    return _Direction(point.residual / alpha + inside, predictions, intercept)


def _best_length(
    prepared: Prepared, point: _Point, direction: _Direction, alpha: float
) -> Array:
    """Return the length of the step, or that of each output where L couples none."""
    problem, couples = prepared.problem, prepared.joint.couples
    moved = direction.predictions + problem.entries.spread(direction.intercept)
    xp = namespace(moved)

    def total(entries: Array) -> Array:
        sums = xp.sum(entries, axis=0)
        return xp.sum(sums, keepdims=True) if couples else sums

    image = alpha * direction.predictions
    constant, linear = total(point.dual * image), total(direction.change * image)

    def slope(length: Array) -> Array:
        there = problem.downhill(point.scores + length * moved)
        return constant + length * linear - total(there * moved)

    return increasing_root(slope, slope(xp.zeros_like(constant)), flat=_FLAT)
