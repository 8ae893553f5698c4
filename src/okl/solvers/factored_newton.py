r"""Trace structure, squared loss: Newton's method on a factor of L.

With L = B B' and the best f for it the objective is a smooth function of B,

.. math:: \varphi(B) = \tfrac{\alpha}{2} (\langle C, Y \rangle + \|B\|_F^2),
          \qquad \nabla\varphi = \alpha (I - C'KC) B, \qquad KCBB' + \alpha C = Y,

of few columns where the rank is low, but with a saddle wherever a column that
should grow is zero. The certificate shows the way out: the eigenvectors of S = C'KC
with eigenvalue above one are the columns to add. So two steps take turns.

*On the range of L*: Newton with conjugate gradients in B. In the full eigenbasis of
L the Sylvester solve behind a Hessian product is a division, and a product costs
five matrix products. Below full rank (E'E / alpha + I)^-1, E = KCB, the step in B
of the published alternation, preconditions it; at full rank it does not pay.

*Across ranks*, where what S shows outside the range outweighs the gradient inside:
a projected gradient step in L, [L - tau (I - S)]_+ with Barzilai-Borwein tau, which
adds and prunes directions together.

A bound on the rank makes the problem non-convex; once it is active the gap to the
unbounded problem stays open, and the solver stops where a Newton step promises less
than the tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log
from typing import ClassVar

from okl._array import Array, eigh, inner, namespace, solve_definite
from okl._output_kernel import OutputKernel
from okl.problems import Problem, Rotated
from okl.solvers.base import Solver
from okl.solvers.conjugate_gradient import conjugate_gradient
from okl.solvers.solution import History, Solution, conclude

_SAFETY = 0.9  # as in dual_newton
_FORCING = 0.1
_PATIENCE = 20
# Eigenvalues of L below this (relative) count as zero.
_RANK_CUT = 1e-13
# How strongly the gradient outside the range is weighed against the one inside.
_GROWTH = 0.3
# Line searches: sufficient decrease, and shrinking of the two kinds of step.
_ARMIJO = 1e-4
_NEWTON_SHRINK, _GRADIENT_SHRINK = 0.5, 0.3
_MAX_BACKTRACKS = 40
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
        coefficients = (point.dual * point.weights) @ point.basis.T
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


@dataclass(frozen=True)
class _Point:
    """An output kernel L and the best f for it, in the full eigenbasis of L.

    Attributes
    ----------
    basis : array (r, r)
        V, from these coordinates to the outputs of the problem.
    weights : array (r,)
        The eigenvalues of L, descending.
    targets, dual, scaled : array (k, r)
        YV, CV and KCV.
    divisor : array (k, r)
        d l' + alpha.
    moment : array (r, r)
        S = C'KC.
    objective : float
        phi(B).
    """

    basis: Array
    weights: Array
    targets: Array
    dual: Array
    scaled: Array
    divisor: Array
    moment: Array
    objective: float

    @classmethod
    def of(
        cls, d: Array, targets: Array, basis: Array, output_kernel: Array, alpha: float
    ) -> _Point:
        """Rotate into the eigenbasis of L (r, r) and solve for f."""
        xp = namespace(targets)
        values, rotation = eigh((output_kernel + output_kernel.T) / 2)
        weights = xp.clip(xp.flip(values), 0.0, None)
        rotation = xp.flip(rotation, axis=1)
        targets = targets @ rotation
        divisor = d * weights + alpha
        dual = targets / divisor
        scaled = d * dual
        moment = dual.T @ scaled
        objective = alpha / 2 * (inner(dual, targets) + float(xp.sum(weights)))
        return cls(
            basis @ rotation,
            weights,
            targets,
            dual,
            scaled,
            divisor,
            (moment + moment.T) / 2,
            objective,
        )

    @property
    def rank(self) -> int:
        """The number of eigenvalues above rounding."""
        xp = namespace(self.weights)
        kept = self.weights > _RANK_CUT * self.weights[0]
        return int(xp.sum(xp.astype(kept, xp.int64)))

    def output_kernel(self) -> OutputKernel:
        """Return L in the outputs of the problem."""
        rank = self.rank
        return OutputKernel(self.weights[:rank], self.basis[:, :rank])


def _minimise(
    prepared: Rotated,
    alpha: float,
    factor: Array,
    *,
    tol: float,
    max_iter: int,
    history: History,
) -> tuple[_Point, bool]:
    """Take the two steps in turn; return the last point, and whether rank-limited."""
    d, problem = prepared.eigenvalues, prepared.problem
    xp = namespace(factor)
    n_outputs = factor.shape[0]
    max_rank = problem.structure.max_rank(n_outputs)
    identity = xp.eye(n_outputs, dtype=factor.dtype)
    point = _Point.of(d, prepared.targets, identity, factor @ factor.T, alpha)
    across: _AcrossRanks | None = None
    best, stalled = float("inf"), 0
    while True:
        relative = history.add(
            point.objective + prepared.constant,
            _dual_value(prepared, point, alpha) + prepared.constant,
        )
        best, stalled = (relative, 0) if relative < best else (best, stalled + 1)
        done = relative <= _SAFETY * tol or stalled >= _PATIENCE
        if done or len(history.records) >= max_iter:
            return point, False
        rank = point.rank
        inside, outside = _violations(point, rank)
        if rank < max_rank and outside > inside:
            across = across or _AcrossRanks(max_rank)
            point = across.step(d, point, alpha)
            continue
        across = None
        direction, slope = _newton_direction(point, rank, alpha, relative)
        if rank == max_rank < n_outputs and -slope / 2 <= tol * point.objective:
            return point, True
        point = _line_search(d, point, rank, direction, slope, alpha)


def _dual_value(prepared: Rotated, point: _Point, alpha: float) -> float:
    """Return the dual value that the residuals of the point imply."""
    problem = prepared.problem
    domain = problem.structure.dual_domain(point.moment / 2)
    assert domain is not None
    vectors, limits = domain
    rotated, targets = alpha * (point.dual @ vectors), point.targets @ vectors
    scales = problem.loss.dual_scales(targets, rotated, limits)
    return problem.loss.dual_value(targets, rotated * scales)


def _violations(point: _Point, rank: int) -> tuple[float, float]:
    """Return the norms of the gradient inside and outside the range of L."""
    xp = namespace(point.weights)
    roots = xp.sqrt(point.weights[:rank])
    inside = _minus_moment(point, rank) * roots
    if rank == point.weights.shape[0]:
        return inner(inside, inside) ** 0.5, 0.0
    values, _ = eigh(point.moment[rank:, rank:])
    excess = xp.clip(values - 1, 0.0, None)
    if rank == 0:
        return 0.0, float(xp.sum(excess)) + 1.0
    weight = _GROWTH * float(roots[0])
    return inner(inside, inside) ** 0.5, weight * inner(excess, excess) ** 0.5


def _minus_moment(point: _Point, rank: int) -> Array:
    """Return the first columns of I - S."""
    xp = namespace(point.moment)
    n_outputs = point.moment.shape[0]
    return xp.eye(n_outputs, rank, dtype=point.moment.dtype) - point.moment[:, :rank]


def _newton_direction(
    point: _Point, rank: int, alpha: float, gap: float
) -> tuple[Array, float]:
    """Return a descent direction in B (r, rank) and the slope along it."""
    xp = namespace(point.weights)
    roots = xp.sqrt(point.weights[:rank])
    scaled, moment, divisor = point.scaled, point.moment, point.divisor
    predicted = scaled[:, :rank] * roots  # E = KCB

    def hessian(direction: Array) -> Array:
        # -dC = K C (X B' + B X') / (d l' + alpha)
        change = predicted @ direction.T
        change[:, :rank] += (scaled @ direction) * roots
        change = change / divisor
        product = direction - moment @ direction
        product += change.T @ predicted
        product += scaled.T @ (change[:, :rank] * roots)
        return product

    gradient = _minus_moment(point, rank) * roots
    full = rank == point.weights.shape[0]
    curvature = predicted.T @ predicted / alpha + xp.eye(rank, dtype=roots.dtype)
    direction = conjugate_gradient(
        hessian,
        -gradient,
        (lambda right: right)
        if full
        else (lambda right: solve_definite(curvature, right.T).T),
        rtol=min(_FORCING, gap**0.5),
    )
    return direction, alpha * inner(gradient, direction)


def _line_search(
    d: Array, point: _Point, rank: int, direction: Array, slope: float, alpha: float
) -> _Point:
    """Backtrack along a direction in B until the objective falls enough."""
    xp = namespace(direction)
    roots = xp.sqrt(point.weights[:rank])
    factor = xp.eye(direction.shape[0], rank, dtype=direction.dtype) * roots
    step = 1.0
    for _ in range(_MAX_BACKTRACKS):
        moved = factor + step * direction
        trial = _Point.of(d, point.targets, point.basis, moved @ moved.T, alpha)
        if trial.objective <= point.objective + _ARMIJO * step * slope:
            return trial
        step *= _NEWTON_SHRINK
    return point


class _AcrossRanks:
    """Projected gradient steps in L, with memory of the step before."""

    def __init__(self, max_rank: int) -> None:
        self._max_rank = max_rank
        self._previous: tuple[Array, Array] | None = None

    def step(self, d: Array, point: _Point, alpha: float) -> _Point:
        """Return the projection of L - tau (I - S), tau by Barzilai and Borwein."""
        xp = namespace(point.weights)
        n_outputs = point.weights.shape[0]
        current = xp.eye(n_outputs, dtype=point.weights.dtype) * point.weights
        gradient = _minus_moment(point, n_outputs)
        length = self._length(d, point, current, gradient, alpha)
        for _ in range(_MAX_BACKTRACKS):
            moved = self._project(current - length * gradient)
            slope = alpha / 2 * inner(gradient, moved - current)
            trial = _Point.of(d, point.targets, point.basis, moved, alpha)
            if trial.objective <= point.objective + _ARMIJO * slope:
                return trial
            length *= _GRADIENT_SHRINK
        return point

    def _length(
        self, d: Array, point: _Point, current: Array, gradient: Array, alpha: float
    ) -> float:
        # in the outputs of the problem, since each point has a basis of its own
        basis = point.basis
        here = basis @ current @ basis.T, basis @ gradient @ basis.T
        previous, self._previous = self._previous, here
        if previous is not None:
            moved, changed = here[0] - previous[0], here[1] - previous[1]
            curvature = inner(moved, changed)
            if curvature > 0:
                return inner(moved, moved) / curvature
        largest = float(point.weights[0])
        return largest if largest > 0 else alpha / float(d[-1, 0])

    def _project(self, matrix: Array) -> Array:
        """Return the nearest PSD matrix of at most the largest rank."""
        xp = namespace(matrix)
        values, vectors = eigh((matrix + matrix.T) / 2)
        first = max(values.shape[0] - self._max_rank, 0)
        kept = xp.clip(values[first:], 0.0, None)
        vectors = vectors[:, first:]
        return (vectors * kept) @ vectors.T
