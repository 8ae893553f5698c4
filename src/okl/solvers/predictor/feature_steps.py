"""Steps of Newton's method in the weights of features, at one alpha.

Conjugate gradients are stopped early: the direction descends wherever they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from okl.losses.base import Curvature
from okl.numerics.arrays import Array
from okl.solvers.monitor import SAFETY, Monitor
from okl.solvers.predictor.feature_equations import FeatureEquations, FeatureStep
from okl.solvers.predictor.feature_point import FeaturePoint, FeatureProblem
from okl.solvers.predictor.newton_start import ROUGH, NewtonStart, larger_alphas
from okl.solvers.request import Request

# The preconditioned residual of a step:
_FORCING = 0.3  # or the root of the gap if smaller
_ENOUGH = 0.5  # but no less than this part of the root of tolerance over gap
_LEAST = 1e-6  # nor than this
# The residual down to which products in single precision do.
_SINGLE = 1e-3
# Sufficient decrease, what is not seen in a value, and halved steps that are tried.
_ARMIJO, _UNSEEN, _MAX_HALVINGS = 1e-4, 1e-15, 20
# Iterations without progress after which rounding is in the way.
_STAGNATION = 10


class FeatureStart(NamedTuple):
    """Where the same solver may start elsewhere.

    Attributes
    ----------
    path : NewtonStart
        With U in the place of C.
    intercept : array (n_outputs,) or None
    """

    path: NewtonStart
    intercept: Array | None


def fitted(
    prepared: FeatureProblem, request: Request
) -> tuple[FeaturePoint, Monitor, FeatureStart]:
    """Return the model of an alpha, what was seen, and where it ends."""
    alpha, tol, max_iter, start = request
    first = None
    if start is None:
        first = zero = _zero(prepared, alpha)
        for larger in larger_alphas(alpha, zero.objective, zero.dual_value):
            rough, _ = _iterate(prepared, Request(larger, ROUGH, max_iter, start))
            start, first = _end(rough, start), None
    asked = Request(alpha, SAFETY * tol, max_iter, start)
    point, monitor = _iterate(prepared, asked, first)
    return point, monitor, _end(point, start)


def _end(point: FeaturePoint, start: FeatureStart | None) -> FeatureStart:
    """Return where a fit ends that began at a start."""
    path = NewtonStart(point.inside, point.of.kernel, point.alpha)
    before = None if start is None else start.path
    return FeatureStart(path.after(before), point.intercept)


def _iterate(
    prepared: FeatureProblem, request: Request, first: FeaturePoint | None = None
) -> tuple[FeaturePoint, Monitor]:
    """Return where the steps lead, and what was seen; from a point if one is given."""
    alpha, tol, max_iter, start = request
    monitor = Monitor(
        prepared.problem.reference, tol=tol, max_iter=max_iter, stagnation=_STAGNATION
    )
    point = _first_point(prepared, alpha, start) if first is None else first
    while True:
        gap = monitor.add(point.objective, point.dual_value)
        if monitor.done:
            break
        moved = _newton(point, gap, tol)
        if moved is None:
            break
        point = moved
    return point, monitor


def _zero(prepared: FeatureProblem, alpha: float) -> FeaturePoint:
    shape = prepared.rows.rows.shape[1], prepared.rows.n_outputs
    return FeaturePoint.at(prepared, alpha, np.zeros(shape))


def _first_point(
    prepared: FeatureProblem, alpha: float, start: FeatureStart | None
) -> FeaturePoint:
    """Return where the objective is lowest, of zero and guesses."""
    if start is None:
        return _zero(prepared, alpha)
    guesses, kernel, there = start.path.duals(alpha), prepared.kernel, start.path.kernel
    if there is not kernel and kernel.rank:
        same = kernel.solve(there.multiply(start.path.dual), 0.0 * start.path.dual)
        guesses.append(same)
    points = [
        FeaturePoint.at(prepared, alpha, prepared.balanced(inside), start.intercept)
        for inside in guesses
    ]
    best = min(points, key=lambda point: point.objective)
    problem = prepared.problem
    if best.objective > problem.loss_at(0.0 * problem.targets):
        return min(best, _zero(prepared, alpha), key=lambda point: point.objective)
    return best


def _newton(point: FeaturePoint, gap: float, tol: float) -> FeaturePoint | None:
    """Return the next point, None where no step lowers the objective."""
    last = _ENOUGH * (tol / gap) ** 0.5
    enough = max(min(_FORCING, max(gap**0.5, last)), _LEAST)
    curvature, unseen = point.curvature, _UNSEEN * abs(point.objective)
    rough = enough >= _SINGLE and point.alpha >= point.of.least_single_alpha
    for single in (True, False) if rough else (False,):
        step = _solution(point, curvature, enough, single=single)
        if step is None:
            continue
        for halvings in range(_MAX_HALVINGS + 1):
            length = 0.5**halvings
            moved, least = _moved(point, step, length), _ARMIJO * length * step.slope
            if moved.objective <= point.objective - least + unseen:
                return moved
    return None


def _solution(
    point: FeaturePoint, curvature: Curvature, enough: float, *, single: bool
) -> FeatureStep | None:
    """Return the solution of the equations of a step to a residual."""
    equations = FeatureEquations(point.of, curvature, point.alpha, single=single)
    right, step = point.moments.copy(), None
    right[: point.inside.shape[0]] -= point.alpha * point.inside
    for step in equations.steps(right):
        if step.left <= enough:
            break
    return step


def _moved(point: FeaturePoint, step: FeatureStep, length: float) -> FeaturePoint:
    """Return the point so far along a step."""
    size, near = point.inside.shape[0], point.intercept
    if near is not None and step.intercept is not None:
        near = near + length * step.intercept
    inside = point.of.balanced(point.inside + length * step.inside[:size])
    return FeaturePoint.at(point.of, point.alpha, inside, near)
