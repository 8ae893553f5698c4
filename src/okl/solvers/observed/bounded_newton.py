r"""Few observed targets, a bound on the rank of L: Newton's method in a factor of L.

Let L = B B', where B (n_outputs, r) has as many columns as the rank may be. With the
best f for each L, the objective divided by alpha is

.. math:: F(B) = \varphi(B B') / \alpha + \tfrac12 \|B\|_F^2, \qquad
          \nabla F = (I - C'KC) B,

whose second derivatives take one factorisation, as those of phi do
(`okl.solvers.observed.observed_value`). F is not convex. Eigenvalues of its second
derivative that are negative are replaced by their absolute values (a saddle-free Newton
method, Dauphin et al. 2014). Where columns are zero F has a saddle: they start again
along the directions in which C'KC is largest. The start decides at which minimum the
method ends: a fit walks down from the largest alpha that matters, where B is zero.
"""

from __future__ import annotations

from typing import NamedTuple

from okl.numerics.arrays import Array, count, eigh, inner, namespace, symmetric
from okl.optimization.regions import Decomposed, Iterate
from okl.solvers.monitor import SAFETY, Monitor
from okl.solvers.observed.observed_value import ObservedPoint, ObservedValue
from okl.solvers.observed.primal_newton import PreparedObserved
from okl.solvers.request import Request
from okl.solvers.solution import Solution

# The factor between the alphas that a fit walks down by. Each is left after a step that
# promises less than the second number as a part of the objective.
_WALK, _LOOSE = 4.0, 1e-3
# Second derivatives count as this part of the largest at least.
_LEAST = 1e-8
# Line search: sufficient decrease, and most halvings.
_ARMIJO, _MAX_HALVINGS = 1e-4, 30
# Singular values of B below the first part of the largest are rounding. The second is
# the size with which such columns start again, as a part of the others.
_ZERO, _GROWN = 1e-6, 0.3
# An eigenvalue of C'KC that is above one by less than this is so by rounding.
_ROUNDING = 1e-9
# Right sides are solved for in blocks of about so many numbers.
_AT_ONCE = 2_000_000


class _Here(NamedTuple):
    """L = B B', with B = V diag(roots) in its eigenvectors, and the best f for it."""

    roots: Array  # (r,), descending
    vectors: Array  # V (n_outputs, n_outputs)
    point: ObservedPoint
    objective: float  # over alpha

    @classmethod
    def at(cls, function: ObservedValue, factor: Array) -> _Here:
        """Solve for f, given B."""
        xp = namespace(factor)
        size, rank = factor.shape
        vectors, roots, _ = xp.linalg.svd(factor, full_matrices=True)
        rounding = roots <= _ZERO * float(xp.max(roots))
        roots = xp.where(rounding, xp.zeros_like(roots), roots)
        zeros = xp.zeros((size - rank,), dtype=factor.dtype)
        point = function.at(xp.concat([roots * roots, zeros]), vectors)
        return cls(roots, vectors, point, point.value + inner(roots, roots) / 2)

    @property
    def kernel(self) -> Decomposed:
        """L in its range."""
        xp, rank = namespace(self.roots), count(self.roots > 0)
        values, vectors = self.roots[:rank] ** 2, self.vectors[:, :rank]
        return Decomposed(xp.flip(values), xp.flip(vectors, axis=1))

    @property
    def factor(self) -> Array:
        """B."""
        return self.vectors[:, : self.roots.shape[0]] * self.roots

    @property
    def gradient(self) -> Array:
        """(I - C'KC) B (n_outputs, r), in eigenvectors of L as all below."""
        xp, rank = namespace(self.roots), self.roots.shape[0]
        size = self.vectors.shape[0]
        identity = xp.eye(size, rank, dtype=self.roots.dtype)
        return (identity - self.point.moment[:, :rank]) * self.roots

    def direction(self) -> Array:
        """Return the step of the saddle-free Newton method (n_outputs, r)."""
        xp = namespace(self.roots)
        hessian = self._hessian()
        values, vectors = eigh(symmetric(hessian))
        values = xp.abs(values)
        values = xp.clip(values, _LEAST * float(xp.max(values)), None)
        along = vectors.T @ xp.reshape(self.gradient, (-1,))
        return -xp.reshape(vectors @ (along / values), self.gradient.shape)

    def _hessian(self) -> Array:
        """Return the second derivatives in the entries of B, row by row."""
        xp, rank = namespace(self.roots), self.roots.shape[0]
        size = self.vectors.shape[0]
        hessian = xp.zeros((size, rank, size, rank), dtype=self.roots.dtype)
        rest = xp.eye(size, dtype=self.roots.dtype) - self.point.moment
        n_numbers = self.point.dual.shape[0] * size
        some = max(1, _AT_ONCE // n_numbers)
        for column in range(rank):
            hessian[:, column, :, column] += rest
            for first in range(0, size, some):
                rows = slice(first, min(first + some, size))
                answers = self.point.curvatures(rows, column, rank)
                # of B E' + E B', E with one entry, times B
                part = 2 * self.roots[column] * self.roots[:, None] * answers
                hessian[:, :, rows, column] += part
        return xp.reshape(hessian, (size * rank, size * rank))

    def grown(self, function: ObservedValue) -> _Here:
        """Return the point with its zero columns started again, if they would grow."""
        xp, rank = namespace(self.roots), self.roots.shape[0]
        kept = count(self.roots > 0)
        if kept == rank:
            return self
        values, vectors = eigh(self.point.moment)
        excess = xp.flip(values)[: rank - kept] - 1.0
        excess = xp.where(excess > _ROUNDING, excess, xp.zeros_like(excess))
        size = float(xp.sum(self.roots[:kept])) / kept if kept else 1.0
        roots = _GROWN * size * xp.sqrt(excess / (1.0 + excess))
        new = self.vectors @ xp.flip(vectors, axis=1)[:, : rank - kept] * roots
        return self.at(function, xp.concat([self.factor[:, :kept], new], axis=1))


def bounded_newton(prepared: PreparedObserved, request: Request) -> Solution:
    """Iterate from where a neighbouring alpha ended, or walk down from a larger one."""
    alpha, tol, max_iter, start = request
    inside = prepared.inside.problem
    monitor = Monitor(inside.gap_scale, SAFETY * tol, max_iter)
    factor = _walked(prepared, request) if start is None else start
    function = ObservedValue(prepared.inside, alpha)
    here, limited = _Here.at(function, factor).grown(function), False
    lowest = float("inf")  # the objective when columns last started again
    while True:
        iterate = Iterate(here.kernel, here.point)
        monitor.add(*_bounds(function, here), iterate, limited=True)
        if monitor.done:
            break
        if limited:
            grown = here.grown(function)
            if grown is here or here.objective >= (1 - tol) * lowest:
                break
            here, lowest = grown, here.objective
        before = here
        here, limited = _step(function, before, tol)
        if here is before and not limited:  # rounding ends the descent
            break
    return prepared.certified(monitor, request, rank_limited=limited, start=here.factor)


def _bounds(function: ObservedValue, here: _Here) -> tuple[float, float]:
    """Return the objective, and the dual value of a C small enough for C'KC <= I."""
    alpha = function.alpha
    largest = float(eigh(here.point.moment)[0][-1])
    scale = alpha / max(largest, 1.0) ** 0.5
    return alpha * here.objective, function.problem.dual_loss(scale * here.point.dual)


def _walked(prepared: PreparedObserved, request: Request) -> Array:
    """Return B at a somewhat larger alpha, walking down from where B is zero."""
    inside = prepared.inside.problem
    targets = ObservedValue(prepared.inside, request.alpha).targets
    xp = namespace(targets)
    n_outputs = inside.n_outputs
    moment = symmetric(targets.T @ (inside.operator @ targets))
    largest = max(float(eigh(moment)[0][-1]), 0.0) ** 0.5
    rank = inside.structure.max_rank(n_outputs)
    factor = xp.zeros((n_outputs, rank), dtype=targets.dtype)
    alphas = [request.alpha]
    while alphas[-1] * _WALK < largest:
        alphas.append(alphas[-1] * _WALK)
    for alpha in reversed(alphas[1:]):
        function = ObservedValue(prepared.inside, alpha)
        here, close = _Here.at(function, factor).grown(function), False
        for _ in range(request.max_iter):
            before = here
            here, close = _step(function, before, _LOOSE)
            if close or here is before:
                break
        factor = here.factor
    return factor


def _step(function: ObservedValue, here: _Here, enough: float) -> tuple[_Here, bool]:
    """Take a step; tell whether it promised less than this part of the objective."""
    direction = here.direction()
    slope = inner(here.gradient, direction)
    little = -slope / 2 <= enough * here.objective
    for halving in range(_MAX_HALVINGS):
        step = 0.5**halving
        moved = here.factor + step * (here.vectors @ direction)
        there = _Here.at(function, moved)
        if there.objective <= here.objective + _ARMIJO * step * slope:
            return there, little
    return here, little
