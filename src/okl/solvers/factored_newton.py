"""Trace structure, squared loss: Newton's method on a factor of L.

With L = B B' and the best f for it the objective is a smooth function of B, of few
columns where the rank is low, but with a saddle wherever a column that should grow is
zero. Two steps take turns.

*On the range of L*: Newton with conjugate gradients in B, see
`okl.solvers.factored_point`.

*Across ranks*, at the start and whenever Newton promises little of the gap: for
fixed eigenvectors the objective is a sum over the eigenvalues of L, and each is
minimised exactly, by a scalar equation. Eigenvectors of L span its range, those of
S = C'KC the rest, where an eigenvalue of S above one is a direction to add. This
grows, rescales and prunes at once. (A projected gradient step in L with
Barzilai-Borwein length was tried in its place, and was slower and longer.)

A bound on the rank makes the problem non-convex; once it is active the gap to the
unbounded problem stays open, and the solver stops where a Newton step promises less
than the tolerance.
"""

from __future__ import annotations

from math import ceil, log
from typing import ClassVar

from okl.numerics.arrays import Array, eigh, inner, namespace
from okl.problems import Problem, Rotated
from okl.solvers.alternation import known_coefficients
from okl.solvers.base import Solver
from okl.solvers.factored_point import RANK_CUT, FactoredPoint
from okl.solvers.solution import History, Solution, conclude

_SAFETY = 0.9  # as in output_kernel_newton
# Rounds without progress, in the gap or by this fraction of the tolerance in the
# objective, after which rounding is in the way.
_PATIENCE, _PROGRESS = 20, 1e-2
# The eigenvalues are minimised over once Newton promises less than this of the gap.
_GROWTH = 0.3
# The scalar equations are solved to this relative change; most need a few steps.
_SECULAR_CHANGE, _SECULAR_STEPS = 0.1, 50
# Line search: sufficient decrease, shrinking, and when to give up.
_ARMIJO, _SHRINK, _MAX_BACKTRACKS = 1e-4, 0.5, 40
# A cold start walks down from alpha_max, where L = 0, in factors of this.
_CONTINUATION = 4.0
_CONTINUATION_TOLERANCE = 1e-2


class FactoredNewton(Solver):
    """Newton in the factor B, its rank grown by the certificate."""

    name: ClassVar[str | None] = "factored_newton"
    structure_requires: ClassVar[frozenset[str]] = frozenset({"half_trace"})

    def prepare(self, problem: Problem) -> Rotated:
        """Decompose K."""
        return Rotated.of(problem)

    def solve(
        self,
        prepared: Rotated,
        alpha: float,
        *,
        tol: float,
        max_iter: int,
        start: Array | None = None,
    ) -> Solution:
        """Iterate from the factor of a neighbouring, larger alpha."""
        history = History(prepared.problem.reference)
        if start is None:
            start = self._continue_to(prepared, alpha, tol, max_iter, history)
        point, rank_limited = _minimise(
            prepared, alpha, start, tol=tol, max_iter=max_iter, history=history
        )
        kernel = point.output_kernel()
        coefficients = kernel.from_coordinates(
            known_coefficients(prepared, kernel, alpha)
        )
        return conclude(
            prepared,
            coefficients,
            kernel,
            alpha,
            tol=tol,
            rank_limited=rank_limited,
            history=history,
            start=kernel.factor(),
        )

    def _continue_to(
        self,
        prepared: Rotated,
        alpha: float,
        tol: float,
        max_iter: int,
        history: History,
    ) -> Array:
        """Walk down from the largest useful alpha, loosely, to a first factor."""
        targets = prepared.targets
        xp = namespace(targets)
        factor = xp.zeros((targets.shape[1], 0), dtype=targets.dtype)
        moment = targets.T @ (prepared.eigenvalues * targets)
        largest = float(eigh((moment + moment.T) / 2)[0][-1]) ** 0.5
        if largest <= alpha:
            return factor
        n_steps = ceil(log(largest / alpha) / log(_CONTINUATION))
        for step in range(1, n_steps):
            point, _ = _minimise(
                prepared,
                largest * (alpha / largest) ** (step / n_steps),
                factor,
                tol=max(tol, _CONTINUATION_TOLERANCE),
                max_iter=max_iter,
                history=History(prepared.problem.reference),
            )
            factor = point.output_kernel().factor()
        return factor


def _minimise(
    prepared: Rotated,
    alpha: float,
    factor: Array,
    *,
    tol: float,
    max_iter: int,
    history: History,
) -> tuple[FactoredPoint, bool]:
    """Take the two steps in turn; return the last point, and whether rank-limited."""
    d = prepared.eigenvalues
    xp = namespace(factor)
    n_outputs = factor.shape[0]
    max_rank = prepared.problem.structure.max_rank(n_outputs)
    identity = xp.eye(n_outputs, dtype=factor.dtype)
    point = FactoredPoint.of(d, prepared.targets, identity, factor @ factor.T, alpha)
    point = _reweight(d, point, max_rank, alpha)
    reweighted = True
    best, lowest, stalled = float("inf"), float("inf"), 0
    while True:
        dual = _dual_value(prepared, point, alpha)
        relative = history.add(point.objective, dual)
        # under a bound on the rank the objective falls while the gap stays
        falls = point.objective < lowest * (1 - _PROGRESS * tol)
        stalled = 0 if falls or relative < best else stalled + 1
        best, lowest = min(best, relative), min(lowest, point.objective)
        done = relative <= _SAFETY * tol or stalled >= _PATIENCE
        if done or len(history.records) >= max_iter:
            return point, False
        rank = point.rank
        gradient, inverse = point.gradient(), point.preconditioner(alpha)
        promise = alpha / 2 * inner(gradient, gradient @ inverse)
        bounded = rank == max_rank < n_outputs
        little = promise <= _GROWTH * (point.objective - dual)
        if little and not (bounded or reweighted):
            point = _reweight(d, point, max_rank, alpha)
            reweighted = True
            continue
        reweighted = False
        direction, slope = point.newton_step(gradient, inverse, alpha, relative)
        if bounded and -slope / 2 <= tol * point.objective:
            return point, True
        point = _line_search(d, point, rank, direction, slope, alpha)


def _dual_value(prepared: Rotated, point: FactoredPoint, alpha: float) -> float:
    """Return the dual value that the residuals of the point imply."""
    problem = prepared.problem
    bound = problem.structure.dual_bound(point.moment / 2, point.output_kernel())
    assert bound.directions is not None
    vectors, limits = bound.directions
    rotated, targets = alpha * (point.dual @ vectors), point.targets @ vectors
    scales = problem.loss.dual_scales(targets, rotated, limits)
    return problem.loss.dual_value(targets, rotated * scales)


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
    xp = namespace(weights)
    gains = xp.sum(energy * weights / (d * weights + alpha), axis=0)
    return weights - gains / alpha


def _secular_roots(d: Array, energy: Array, weights: Array, alpha: float) -> Array:
    """Return the l_j >= 0 at which S_jj is one, from a guess.

    Newton's method on S_jj^(-1/2), which is concave and nearly linear in l_j, comes
    from below after at most one step.
    """
    xp = namespace(weights)
    for _ in range(_SECULAR_STEPS):
        inverse = 1 / (d * weights + alpha)
        terms = energy * inverse * inverse
        value = xp.sum(terms, axis=0)
        slope = 2 * xp.sum(d * terms * inverse, axis=0)
        slope = xp.where(slope > 0, slope, xp.ones_like(slope))
        moved = weights + 2 * value * (xp.sqrt(value) - 1) / slope
        moved = xp.clip(moved, 0.0, None)
        change = xp.abs(moved - weights) > _SECULAR_CHANGE * moved
        weights = moved
        if not bool(xp.any(change)):
            break
    return weights


def _line_search(
    d: Array,
    point: FactoredPoint,
    rank: int,
    direction: Array,
    slope: float,
    alpha: float,
) -> FactoredPoint:
    """Backtrack along a direction in B until the objective falls enough."""
    xp = namespace(direction)
    roots = xp.sqrt(point.weights[:rank])
    factor = xp.eye(direction.shape[0], rank, dtype=direction.dtype) * roots
    step = 1.0
    for _ in range(_MAX_BACKTRACKS):
        moved = factor + step * direction
        trial = FactoredPoint.of(d, point.targets, point.basis, moved @ moved.T, alpha)
        if trial.objective <= point.objective + _ARMIJO * step * slope:
            return trial
        step *= _SHRINK
    return point
