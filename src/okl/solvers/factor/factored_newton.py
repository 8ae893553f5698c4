"""Trace structure, squared loss: Newton's method on a factor of L.

With L = B B' and the best f for it the objective is a smooth function of B, of few
columns where the rank is low, but with a saddle wherever a column that should grow is
zero. Two steps take turns.

*On the range of L*: Newton with conjugate gradients in B, see
`okl.solvers.factor.factored_point`. Where an eigenvalue of S = C'KC is above one, which
none is at the optimum, the second derivative is made positive there (a saddle-free
Newton method, Dauphin et al. 2014): conjugate gradients would stop at the first
direction of negative curvature, and their last step before is far too long.

*Across ranks*, at the start and whenever a Newton step would close little of the gap:
for fixed eigenvectors the objective is a sum over the eigenvalues of L, and each is
minimised exactly, by a scalar equation. The eigenvectors are those of L in its range
and those of S in the rest, where an eigenvalue of S above one is a direction to add.
This step adds directions, rescales and removes them at once.

A bound on the rank makes the problem non-convex; once it is active the gap to the
unbounded problem stays open, and the solver stops after a Newton step that promised
less than the tolerance.
"""

from __future__ import annotations

from math import ceil, log
from typing import ClassVar

from okl.numerics.arrays import (
    Array,
    column_inner,
    count,
    eigh,
    inner,
    namespace,
    symmetric,
)
from okl.optimization.regions import HalfTrace, Region
from okl.problems import Problem, Rotated
from okl.solvers.base import Solver
from okl.solvers.factor.factored_point import RANK_CUT, FactoredPoint
from okl.solvers.monitor import SAFETY, Monitor
from okl.solvers.neighbours import Neighbours
from okl.solvers.request import Request
from okl.solvers.solution import History, Solution, certified

# The eigenvalues are minimised over once Newton promises less than this of the gap.
_GROWTH = 0.3
# The scalar equations are solved to this relative change; most need a few steps.
_SECULAR_CHANGE, _SECULAR_STEPS = 0.1, 50
# Line search: sufficient decrease, and most halvings.
_ARMIJO, _MAX_HALVINGS = 1e-4, 40
# Relative residual of the Newton systems: at most this, and what is enough for the gap.
_FORCING = 0.1
# The most by which the alphas differ, as a factor, that a cold start may walk down by,
# and the relative gap of each.
_CONTINUATION = 4.0
_CONTINUATION_TOLERANCE = 1e-2


class FactoredNewton(Solver):
    """Newton's method in B, L = B B', whose rank grows where C'KC is above one."""

    name: ClassVar[str | None] = "factored_newton"
    regions: ClassVar[tuple[type[Region | None], ...]] = (HalfTrace,)

    def prepare(self, problem: Problem) -> Rotated:
        """Decompose K."""
        return Rotated.of(problem)

    def solve(self, prepared: Rotated, request: Request) -> Solution:
        """Iterate from an extrapolation of the L of neighbouring, larger alphas."""
        if request.start is not None:
            return _solved(prepared, request)
        first = _largest_alpha(prepared, request)
        if not prepared.problem.rank_is_bounded:
            solution = _solved(prepared, request._replace(start=first))
            if solution.certificate.relative_gap <= request.tol:
                return solution
        # from the L of a larger alpha rounding disturbs the steps less and, under a
        # bound on the rank, they end at a better minimum
        walked = _from_larger_alphas(prepared, request._replace(start=first))
        return _solved(prepared, request._replace(start=walked))


def _solved(prepared: Rotated, request: Request) -> Solution:
    """Minimise from a start, and certify what is found."""
    point, rank_limited, history = _minimise(prepared, request)
    kernel = point.output_kernel()
    return certified(
        prepared.problem,
        prepared.lift(point.coefficients()),
        kernel,
        request,
        rank_limited=rank_limited,
        history=history,
        start=request.start.joined(request.alpha, kernel.matrix()),
    )


def _largest_alpha(prepared: Rotated, request: Request) -> Neighbours:
    """Return L = 0 at the largest alpha that matters, or at this one if larger."""
    targets = prepared.targets
    moment = targets.T @ (prepared.eigenvalues * targets)
    largest = max(float(eigh(symmetric(moment))[0][-1]), 0.0) ** 0.5
    zero = namespace(targets).zeros_like(moment)
    return Neighbours().joined(max(largest, request.alpha), zero)


def _from_larger_alphas(prepared: Rotated, request: Request) -> Neighbours:
    """Walk down from the alpha of the start, to a loose tolerance."""
    alpha, tol, max_iter, found = request
    largest = found.found[0][0]
    if largest <= alpha:
        return found
    n_steps = ceil(log(largest / alpha) / log(_CONTINUATION))
    loose = max(tol, _CONTINUATION_TOLERANCE)
    for step in range(1, n_steps):
        between = largest * (alpha / largest) ** (step / n_steps)
        point, _, _ = _minimise(prepared, Request(between, loose, max_iter, found))
        found = found.joined(between, point.output_kernel().matrix())
    return found


def _minimise(
    prepared: Rotated, request: Request
) -> tuple[FactoredPoint, bool, History]:
    """Take the two steps in turn, from the L extrapolated from its neighbours.

    Return the last point, whether it is rank-limited, and the history.
    """
    alpha, tol, max_iter, found = request
    d, problem = prepared.eigenvalues, prepared.problem
    monitor = Monitor(problem.gap_scale, tol=SAFETY * tol, max_iter=max_iter)
    # an extrapolation need not be PSD; under a bound on its rank L is no smooth
    # function of alpha
    first = found.nearest if problem.rank_is_bounded else found.at(alpha)
    xp = namespace(first)
    n_outputs = first.shape[0]
    max_rank = problem.structure.max_rank(n_outputs)
    identity = xp.eye(n_outputs, dtype=first.dtype)
    point = FactoredPoint.of(d, prepared.targets, identity, first, alpha)
    reweighted = False
    if point.rank < n_outputs or max_rank < n_outputs:
        point = _reweight(d, point, max_rank, alpha)
        reweighted = True
    while True:
        vectors, limits = _scales_allowed(prepared, point)
        dual = _dual_value(point, vectors, limits, alpha)
        relative = monitor.add(point.objective, dual)
        if monitor.done:
            return point, False, monitor.history
        promise = alpha / 2 * inner(point.gradient, point.gradient / point.curvature)
        bounded = point.rank == max_rank < n_outputs
        little = promise <= _GROWTH * (point.objective - dual)
        if little and not (bounded or reweighted):
            point = _reweight(d, point, max_rank, alpha)
            reweighted = True
            continue
        reweighted = False
        above = None if bounded else _above_one(vectors, limits)
        rtol = min(_FORCING, request.enough(relative) ** 0.5)
        direction, slope = point.newton_step(alpha, rtol=rtol, above=above)
        little = -slope / 2 <= tol * point.objective
        point = _line_search(d, point, direction, slope, alpha)
        if bounded and little:
            allowed = _scales_allowed(prepared, point)
            monitor.add(point.objective, _dual_value(point, *allowed, alpha))
            return point, True, monitor.history


def _scales_allowed(prepared: Rotated, point: FactoredPoint) -> tuple[Array, Array]:
    """Return eigenvectors of S, by ascending eigenvalues s_j, and 1 / sqrt(s_j)."""
    structure = prepared.problem.structure
    bound = structure.dual_bound(point.moment / 2, point.output_kernel())
    assert bound.directions is not None
    return bound.directions


def _above_one(vectors: Array, limits: Array) -> Array | None:
    """Return U (r, p) with I - S + UU' = |I - S|, None where S is below one."""
    first = limits.shape[0] - count(limits < 1)
    if first == limits.shape[0]:
        return None
    excess = 1 / (limits[first:] * limits[first:]) - 1
    return vectors[:, first:] * namespace(vectors).sqrt(2 * excess)


def _dual_value(
    point: FactoredPoint, vectors: Array, limits: Array, alpha: float
) -> float:
    """Return the dual value that the residuals of the point imply.

    It is sum_j (t_j <a_j, y_j> - t_j^2 ||a_j||^2 / 2) over the eigenvectors of S, with
    the best scales t_j that are allowed.
    """
    xp = namespace(vectors)
    residuals = alpha * (point.dual @ vectors)
    products = column_inner(residuals, point.targets @ vectors)
    squares = column_inner(residuals, residuals)
    safe = xp.where(squares > 0, squares, xp.ones_like(squares))
    scales = xp.clip(xp.minimum(products / safe, limits), 0.0, None)
    return float(xp.sum(scales * (products - scales * squares / 2)))


def _reweight(
    d: Array, point: FactoredPoint, max_rank: int, alpha: float
) -> FactoredPoint:
    """Minimise over all eigenvalues of L for fixed eigenvectors.

    The optimal l_j is where S_jj = sum_i d_i y_ij^2 / (d_i l_j + alpha)^2 is one, or
    zero where S_jj is below one there already. Under a bound on the rank the directions
    that lower the objective most are kept.
    """
    xp = namespace(point.weights)
    rank, n_outputs = point.rank, point.weights.shape[0]
    targets, basis = point.targets, point.basis
    if rank < n_outputs:
        _, outside = eigh(point.moment[rank:, rank:])
        targets = xp.concat([targets[:, :rank], targets[:, rank:] @ outside], axis=1)
        basis = xp.concat([basis[:, :rank], basis[:, rank:] @ outside], axis=1)
    energy = d * targets * targets
    weights = _secular_roots(d, energy, point.weights, alpha)
    # each output counts by itself: keep what was better before
    worse = _cost(d, energy, weights, alpha) > _cost(d, energy, point.weights, alpha)
    weights = xp.where(worse, point.weights, weights)
    # a weight that changes no divisor is an eigenvalue of S above one by rounding
    largest = float(xp.max(d)) if d.shape[0] else 0.0
    negligible = largest * weights <= RANK_CUT * alpha
    weights = xp.where(negligible, xp.zeros_like(weights), weights)
    if max_rank < n_outputs:
        ranking = xp.argsort(xp.argsort(_cost(d, energy, weights, alpha)))
        weights = xp.where(ranking < max_rank, weights, xp.zeros_like(weights))
    order = xp.flip(xp.argsort(weights))
    return FactoredPoint.at(
        d,
        xp.take(targets, order, axis=1),
        xp.take(basis, order, axis=1),
        xp.take(weights, order),
        alpha,
    )


def _cost(d: Array, energy: Array, weights: Array, alpha: float) -> Array:
    """Return the part of the objective that depends on each l_j, times 2 / alpha."""
    return weights - column_inner(energy, weights / (d * weights + alpha)) / alpha


def _secular_roots(d: Array, energy: Array, weights: Array, alpha: float) -> Array:
    """Return the l_j >= 0 at which S_jj is one, from a guess.

    Newton's method on S_jj^(-1/2), which is concave and nearly linear in l_j,
    approaches the root from below after at most one step.
    """
    xp = namespace(weights)
    for _ in range(_SECULAR_STEPS):
        inverse = 1 / (d * weights + alpha)
        halves = energy * inverse
        value = column_inner(halves, inverse)
        slope = 2 * column_inner(halves, d * inverse * inverse)
        slope = xp.where(slope > 0, slope, xp.ones_like(slope))
        moved = weights + 2 * value * (xp.sqrt(value) - 1) / slope
        moved = xp.clip(moved, 0.0, None)
        change = xp.abs(moved - weights) > _SECULAR_CHANGE * moved
        weights = moved
        if not bool(xp.any(change)):
            break
    return weights


def _line_search(
    d: Array, point: FactoredPoint, direction: Array, slope: float, alpha: float
) -> FactoredPoint:
    """Halve a step in B until the objective falls enough."""
    xp = namespace(direction)
    roots = xp.sqrt(point.weights[: point.rank])
    factor = xp.eye(*direction.shape, dtype=direction.dtype) * roots
    for halving in range(_MAX_HALVINGS):
        step = 0.5**halving
        moved = factor + step * direction
        trial = FactoredPoint.of(d, point.targets, point.basis, moved @ moved.T, alpha)
        if trial.objective <= point.objective + _ARMIJO * step * slope:
            return trial
    return point
