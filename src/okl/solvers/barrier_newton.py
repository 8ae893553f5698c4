r"""Bounded eigenvalues of L, squared loss: an interior-point method in L alone.

The best predictor is eliminated (`okl.solvers.best_fit`). What is left is a smooth
function of L over the matrices whose eigenvalues lie between two bounds and sum to a
budget; more L never costs, so the budget is used up. Newton's method stays inside by a
barrier, eps tr L^-1 / 2 where the structure has it and

.. math:: -\tau \sum_i \log (l_i - \text{lower}) + \log (\text{upper} - l_i)

where it has not, and lowers the barrier tenfold whenever a step promises little of
what it holds. In the eigenbasis of L the second derivative of a barrier is diagonal,
and the fit's nearly so: conjugate gradients, preconditioned by the diagonal, need a
few products a step, whatever the condition.

The direction 1, where a structure sets it apart, is a separate problem of one output
with a known kernel; a reflection of the outputs splits it off.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from okl.numerics.arrays import Array, eigh, inner, namespace
from okl.optimization.conjugate_gradient import conjugate_gradient
from okl.optimization.smooth import Point, Smooth, symmetric
from okl.output_kernels import SpectralKernel
from okl.problems import Problem, Rotated
from okl.solvers.alternation import known_coefficients
from okl.solvers.base import Solver, require_output_matrices
from okl.solvers.best_fit import BestFit
from okl.solvers.solution import History, Solution, conclude
from okl.structures.spectral_set import Spectrum, reflect_columns

# The barrier is lowered by this, once Newton promises less than this part of it.
_LOWERING, _CENTERED = 0.1, 0.1
# It starts as this part of the fit, and ends as this part of it: rounding.
_FIRST_BARRIER, _LAST_BARRIER = 0.1, 1e-16
_FORCING = 0.1
# Line search: sufficient decrease, and when to give up.
_ARMIJO, _MAX_HALVINGS = 1e-4, 40
# A promise below the first part of the objective is not seen in its value, and one
# below the second not worth a step.
_UNSEEN, _ROUNDING = 1e-12, 1e-20


class BarrierNewton(Solver):
    """Newton inside a set of eigenvalues, with a barrier at its bounds."""

    name: ClassVar[str | None] = "barrier_newton"
    structure_requires: ClassVar[frozenset[str]] = frozenset({"spectral_set"})

    def prepare(self, problem: Problem) -> Rotated:
        """Decompose K, after looking for room for matrices of outputs."""
        require_output_matrices(problem)
        return Rotated.of(problem)

    def solve(
        self,
        prepared: Rotated,
        alpha: float,
        *,
        tol: float,
        max_iter: int,
        start: Any = None,
    ) -> Solution:
        """Iterate from the multiple of the identity that uses up the budget."""
        problem = prepared.problem
        structure: Any = problem.structure
        history = History(problem.reference)
        targets = prepared.targets
        n_outputs = targets.shape[1]
        allowed: Spectrum = structure.spectrum(n_outputs)
        if allowed.mean is not None:
            targets = reflect_columns(targets)[:, 1:]
        smooth = BestFit(prepared.eigenvalues, targets, alpha)
        smallest = float("inf")
        for values, vectors in interior(smooth, targets, allowed):
            kernel = _assemble(values, vectors, allowed, n_outputs)
            coordinates = known_coefficients(prepared, kernel, alpha)
            coefficients = kernel.from_coordinates(coordinates)
            gap = history.add(*prepared.bounds(coefficients, kernel, alpha))
            if gap < smallest or len(history.records) == 1:
                smallest, best = gap, (coefficients, kernel)
            if gap <= tol or len(history.records) >= max_iter:
                break
        return conclude(prepared, *best, alpha, tol=tol, history=history)


def _assemble(
    values: Array, vectors: Array, allowed: Spectrum, n_outputs: int
) -> SpectralKernel:
    """Return L with its eigenvalues descending, the direction 1 put back."""
    xp = namespace(values)
    if allowed.mean is not None:
        inside = vectors
        vectors = xp.eye(n_outputs, dtype=values.dtype)
        vectors[1:, 1:] = inside
        vectors = reflect_columns(vectors.T).T
        mean = xp.full((1,), allowed.mean, dtype=values.dtype)
        values = xp.concat([mean, values])
    order = xp.flip(xp.argsort(values))
    return SpectralKernel(xp.take(values, order), xp.take(vectors, order, axis=1))


def interior(
    smooth: Smooth, like: Array, allowed: Spectrum
) -> Iterator[tuple[Array, Array]]:
    """Yield eigenvalues and eigenvectors of the iterates until rounding sets in.

    Parameters
    ----------
    smooth : Smooth
        What is minimised.
    like : array (., m)
        An array with a column per output, for its namespace.
    allowed : Spectrum
        What the eigenvalues may be.
    """
    xp = namespace(like)
    size = like.shape[1]
    vectors = xp.eye(size, dtype=like.dtype)
    forced = allowed.forced(size)
    if size == 0 or forced is not None:
        yield xp.full((size,), forced or 0.0, dtype=like.dtype), vectors
        return
    values = xp.full((size,), allowed.budget / size, dtype=like.dtype)
    iterate = _Iterate(values, vectors, smooth.at(values, vectors))
    scale = max(iterate.point.value, xp.finfo(like.dtype).smallest_normal)
    barrier = _Barrier.of(allowed, scale, values)
    while True:
        yield iterate.values, iterate.vectors
        moved, promise = _step(smooth, iterate, barrier)
        stuck = moved is None
        if stuck or promise < _CENTERED * barrier.strength * size:
            lowered = barrier.lower(_LAST_BARRIER * scale)
            if lowered is None and stuck:
                return
            barrier = lowered or barrier
        iterate = moved or iterate


class _Iterate(NamedTuple):
    values: Array
    vectors: Array
    point: Point


class _Barrier(NamedTuple):
    """The part of the objective that keeps eigenvalues inside.

    Attributes
    ----------
    allowed : Spectrum
        The bounds.
    inverse : float
        The current weight of tr L^-1 / 2, at least that of the structure.
    logarithm : float
        The current weight of the logarithms; 0 where tr L^-1 is enough.
    strength : float
        About what the barrier holds per eigenvalue.
    """

    allowed: Spectrum
    inverse: float
    logarithm: float
    strength: float

    @classmethod
    def of(cls, allowed: Spectrum, scale: float, values: Array) -> _Barrier:
        """Return a barrier that holds about a tenth of the fit."""
        strength = _FIRST_BARRIER * scale / values.shape[0]
        if allowed.lower == 0 and allowed.upper == float("inf") and allowed.inverse > 0:
            typical = float(values[0])
            inverse = max(allowed.inverse, 2 * strength * typical)
            return cls(allowed, inverse, 0.0, inverse / (2 * typical))
        return cls(allowed, allowed.inverse, strength, strength)

    def lower(self, last: float) -> _Barrier | None:
        """Return the next barrier, None if this is the last."""
        if self.logarithm:
            weight = _LOWERING * self.logarithm
            if weight <= last:
                return None
            return self._replace(logarithm=weight, strength=weight)
        if self.inverse <= self.allowed.inverse:
            return None
        factor = max(_LOWERING, self.allowed.inverse / self.inverse)
        return self._replace(
            inverse=factor * self.inverse, strength=factor * self.strength
        )

    def admits(self, values: Array) -> bool:
        """Tell whether eigenvalues, ascending, are inside."""
        return bool(values[0] > self.allowed.lower and values[-1] < self.allowed.upper)

    def value(self, values: Array) -> float:
        """Return what the barrier adds to the objective."""
        xp = namespace(values)
        total = self.inverse * float(xp.sum(1 / values)) / 2
        for room in self._rooms(values):
            total -= self.logarithm * float(xp.sum(xp.log(room)))
        return total

    def slope(self, values: Array) -> Array:
        """Return the derivative with respect to the eigenvalues."""
        slope = -self.inverse / (2 * values**2)
        for sign, room in zip((-1, 1), self._rooms(values), strict=False):
            slope = slope + sign * self.logarithm / room
        return slope

    def stiffness(self, values: Array) -> Array:
        """Return the second derivative, which is diagonal in the eigenbasis of L."""
        inverse = 1 / values
        total = self.inverse * inverse[:, None] * inverse
        total = total * (inverse[:, None] + inverse) / 2
        for room in self._rooms(values):
            total = total + self.logarithm / (room[:, None] * room)
        return total

    def _rooms(self, values: Array) -> list[Array]:
        """Return the distances to the bounds that have a logarithm."""
        if not self.logarithm:
            return []
        rooms = [values - self.allowed.lower]
        if self.allowed.upper < float("inf"):
            rooms.append(self.allowed.upper - values)
        return rooms


def _step(
    smooth: Smooth, iterate: _Iterate, barrier: _Barrier
) -> tuple[_Iterate | None, float]:
    """Return the next iterate, None if there is none, and the decrease promised."""
    values, vectors, point = iterate
    xp = namespace(values)
    size = values.shape[0]
    identity = xp.eye(size, dtype=values.dtype)
    slope = identity * barrier.slope(values) - point.moment / 2
    slope = slope - identity * (xp.sum(identity * slope) / size)
    stiffness = barrier.stiffness(values)
    scale = 1 / (point.diagonal + stiffness)
    freedom = xp.linalg.diagonal(scale)

    def precondition(right: Array) -> Array:
        # and keep the trace: the budget is used up
        scaled = scale * right
        shift = xp.sum(xp.linalg.diagonal(scaled)) / xp.sum(freedom)
        return scaled - identity * (shift * freedom)

    direction = conjugate_gradient(
        lambda change: point.curvature(change) + stiffness * change,
        -slope,
        precondition,
        rtol=_FORCING,
    )
    direction = symmetric(direction)
    promise = -inner(slope, direction)
    objective = point.value + barrier.value(values)
    if not promise > _ROUNDING * abs(objective):
        return None, 0.0
    unseen = _UNSEEN * abs(objective)
    slack = unseen if promise <= unseen else 0.0
    for halvings in range(_MAX_HALVINGS):
        length = 0.5**halvings
        moved, axes = eigh(identity * values + length * direction)
        if barrier.admits(moved):
            rotated = vectors @ axes
            trial = _Iterate(moved, rotated, smooth.at(moved, rotated))
            decrease = objective - trial.point.value - barrier.value(moved)
            if decrease >= _ARMIJO * length * promise - slack:
                return trial, promise
    return None, promise
