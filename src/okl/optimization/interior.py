r"""Eigenvalues of L between bounds, as Newton's method sees them.

They share a budget; more L never costs, so it is used up. Steps stay inside by a
barrier, eps tr L^-1 / 2 where the penalty has it and

.. math:: -\tau \sum_i \big( \log (l_i - \text{lower}) + \log (\text{upper} - l_i) \big)

where it has not. In the eigenbasis of L its second derivative is diagonal.

The direction 1, where it is set apart, is a separate problem of one output with a known
kernel; a reflection of the outputs splits it off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from okl.numerics.arrays import Array, namespace
from okl.optimization.regions import (
    LOWERING,
    Decomposed,
    Equations,
    Iterate,
    WithBarrier,
)

_INF = float("inf")
# A barrier starts as this part of the fit, and ends as this part of it: rounding.
_FIRST_BARRIER, _LAST_BARRIER = 0.1, 1e-16
# A start from nearby is mixed with this much of the middle, and its barrier is this
# part of the fit.
_MIDDLE, _WARM_BARRIER = 0.3, 1e-2
# Eigenvalues below this part of the largest are taken for zeros of the optimum.
_CUT = 1e-4
# What rounding may add to a bound, relative to the largest eigenvalue allowed.
_ROUNDING = 1e-10


@dataclass(frozen=True)
class Interior(WithBarrier):
    """Eigenvalues within bounds."""

    lower: float = 0.0  # of each eigenvalue, 0 <= lower <= upper
    upper: float = _INF
    budget: float = _INF  # their largest sum; infinite where L is penalised otherwise
    mean: float | None = None  # that of the direction 1, if it is set apart
    part: float = _FIRST_BARRIER  # of the fit, that the barrier is at first
    logarithm: float = 0.0  # the weight of logarithms, 0 where tr L^-1 is enough,
    last: float = 0.0  # and that below which they are rounding

    @property
    def is_ball(self) -> bool:
        """Whether the budget is all that bounds a PSD L: tr L is that at the optimum.

        L is then of low rank, and Newton's method may have a factor of it.
        """
        free = self.lower == 0 and self.upper == _INF and self.inverse == 0
        return free and self.mean is None

    def only(self, size: int) -> float | None:
        """Return the only value that all eigenvalues should take, or None.

        There is one where the budget, or equal bounds, leave no choice; more than the
        optimum is never useful.
        """
        if size * self.upper <= self.budget * (1 + _ROUNDING):
            return self.upper
        if size * self.lower >= self.budget * (1 - _ROUNDING):
            return self.lower
        return None

    def split(self, columns: Array) -> Array:
        """Return columns for the complement of the direction 1, if it is set apart."""
        return columns if self.mean is None else differences(columns)

    def whole(self, values: Array, vectors: Array) -> tuple[Array, Array]:
        """Return eigenvalues and eigenvectors with the direction 1 put back."""
        if self.mean is None:
            return values, vectors
        xp = namespace(values)
        padded = xp.eye(values.shape[0] + 1, dtype=values.dtype)
        padded[1:, 1:] = vectors
        mean = xp.full((1,), self.mean, dtype=values.dtype)
        values, vectors = xp.concat([mean, values]), reflect_columns(padded.T).T
        order = xp.argsort(values)
        return xp.take(values, order), xp.take(vectors, order, axis=1)

    def cut(self, values: Array) -> Array | None:
        """Return eigenvalues that use up the budget, small ones zero."""
        if self.lower > 0 or self.inverse > 0 or self.upper < _INF:
            return None
        if bool(values[0] > _CUT * values[-1]):
            return None
        xp = namespace(values)
        kept = xp.where(values > _CUT * values[-1], values, xp.zeros_like(values))
        return kept * (self.budget / xp.sum(kept))

    def cold(
        self, size: int, power: Callable[[float], float], guess: float
    ) -> tuple[Interior, float]:
        """Return the eigenvalue that uses up the budget."""
        return self, self.budget / size

    def warm(self, nearby: Decomposed) -> tuple[Interior, Decomposed]:
        """Return eigenvalues off the bounds, and a lower barrier."""
        lower = replace(self, part=_WARM_BARRIER)
        if self._is_its_own_barrier:
            return lower, nearby
        middle = self.budget / nearby.values.shape[0]
        values = (1 - _MIDDLE) * nearby.values + _MIDDLE * middle
        return lower, nearby._replace(values=values)

    def entered(self, value: float, values: Array) -> Interior:
        """Return the region with a barrier that holds about that part of the fit."""
        scale = max(value, float(namespace(values).finfo(values.dtype).smallest_normal))
        strength = self.part * scale / values.shape[0]
        if self._is_its_own_barrier:
            barrier = max(self.inverse, 2 * strength * float(values[0]))
            return replace(self, barrier=barrier)
        return replace(
            self, barrier=self.inverse, logarithm=strength, last=_LAST_BARRIER * scale
        )

    @property
    def _is_its_own_barrier(self) -> bool:
        """Whether tr L^-1 is all that keeps L inside."""
        return self.lower == 0 and self.upper == _INF and self.inverse > 0

    def lowered(self) -> Interior | None:
        """Return the region with a tenth of the barrier, None if that is too low."""
        if not self.logarithm:
            return super().lowered()
        weight = LOWERING * self.logarithm
        return replace(self, logarithm=weight) if weight > self.last else None

    def held(self, values: Array) -> float:
        """Return about what the barrier adds to the objective."""
        if not self.logarithm:
            return super().held(values)
        return self.logarithm * values.shape[0]

    def admits(self, values: Array) -> bool:
        """Tell whether eigenvalues, ascending, are strictly between the bounds."""
        return bool(values[0] > self.lower and values[-1] < self.upper)

    def value(self, iterate: Iterate) -> float:
        """Return what the barrier, and tr L^-1, add to the objective."""
        values = iterate.kernel.values
        total = super().held(values)
        for _, room in self._rooms(values):
            total -= self.logarithm * _sum(namespace(values).log(room))
        return total

    def equations(self, iterate: Iterate) -> Equations:
        """Return those in the eigenbasis of L; the preconditioner keeps the trace."""
        values, point = iterate.kernel.values, iterate.point
        slope = -self.barrier / (2 * values**2)
        second_derivative = self.barrier_curvature(values)
        for sign, room in self._rooms(values):
            slope = slope - sign * self.logarithm / room
            second_derivative = second_derivative + self.logarithm / (
                room[:, None] * room
            )
        identity = namespace(values).eye(values.shape[0], dtype=values.dtype)
        gradient = identity * slope - point.moment / 2
        gradient = gradient - identity * (_trace(gradient) / values.shape[0])
        scale = 1 / (point.diagonal + second_derivative)
        freedom = namespace(scale).linalg.diagonal(scale)

        def precondition(right: Array) -> Array:
            scaled = scale * right
            return scaled - identity * (_trace(scaled) / _sum(freedom) * freedom)

        return Equations(
            gradient,
            lambda change: point.curvature(change) + second_derivative * change,
            precondition,
        )

    def _rooms(self, values: Array) -> list[tuple[int, Array]]:
        """Return the distances to the bounds that have a logarithm, and signs."""
        if not self.logarithm:
            return []
        rooms = [(1, values - self.lower)]
        if self.upper < _INF:
            rooms.append((-1, self.upper - values))
        return rooms


def reflect(matrix: Array) -> Array:
    """Return H M H for the reflection H that swaps 1 / sqrt(m) and the first axis."""
    return reflect_columns(reflect_columns(matrix).T).T


def reflect_columns(rows: Array) -> Array:
    """Return rows (n, m) times H, which costs O(n m)."""
    xp = namespace(rows)
    m = rows.shape[1]
    if m == 1:
        return rows
    normal = xp.full((m,), -(m**-0.5), dtype=rows.dtype)
    normal = normal + xp.eye(1, m, dtype=rows.dtype)[0, :]
    # |normal|^2 = 2 - 2 / sqrt(m)
    return rows - (rows @ normal)[:, None] * (normal / (1 - m**-0.5))


def differences(rows: Array) -> Array:
    """Return rows (n, m) times Q (m, m - 1), an orthonormal basis of what sums to zero.

    It is the same at each call.
    """
    return reflect_columns(rows)[:, 1:]


def _sum(array: Array) -> float:
    return float(namespace(array).sum(array))


def _trace(matrix: Array) -> float:
    return float(namespace(matrix).linalg.trace(matrix))
