r"""Output kernels L whose eigenvalues lie between bounds and share a budget.

This is the region of `TraceBall` and `Cluster` for Newton's method in L. A larger L
never makes the fit worse, so the budget is used up, and steps keep the trace of L. A
barrier keeps them between the bounds: eps tr L^-1 / 2 where the penalty has it and the
only bound is 0, else

.. math:: -\tau \sum_i \big( \log (l_i - \text{lower}) + \log (\text{upper} - l_i) \big)

The second derivative of either is diagonal in the eigenbasis of L.

Where the direction 1, that of equal outputs, is set apart, its eigenvalue is given. It
is a separate problem of one output then, which a reflection of the outputs splits off.
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
# A barrier adds about the first part of the value of the fit at the start, and at the
# end the second, which is rounding.
_FIRST_BARRIER, _LAST_BARRIER = 0.1, 1e-16
# A warm start is moved by the first part towards equal eigenvalues; its barrier adds
# about the second part of the value of the fit.
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
    mean: float | None = None  # the eigenvalue of the direction 1, if it is set apart
    part: float = _FIRST_BARRIER  # what the first barrier adds, as a part of the fit
    logarithm: float = 0.0  # the weight tau of the logarithms, 0 if tr L^-1 is enough
    last: float = 0.0  # the tau below which they are rounding

    @property
    def is_ball(self) -> bool:
        """Whether the budget alone bounds a PSD L; the optimal tr L equals it.

        L is then of low rank, and Newton's method can work in a factor of L.
        """
        free = self.lower == 0 and self.upper == _INF and self.inverse == 0
        return free and self.mean is None

    def only(self, size: int) -> float | None:
        """Return the only value that all eigenvalues should take, or None.

        It is the upper bound where the budget allows that for all eigenvalues, since a
        larger L is never worse, and the lower one where the budget allows no more.
        """
        if size * self.upper <= self.budget * (1 + _ROUNDING):
            return self.upper
        if size * self.lower >= self.budget * (1 - _ROUNDING):
            return self.lower
        return None

    def split(self, columns: Array) -> Array:
        """Return columns for the complement of the direction 1, if it is set apart."""
        return columns if self.mean is None else differences(columns)

    def whole(self, inside: Decomposed) -> Decomposed:
        """Return L with the direction 1 put back."""
        if self.mean is None:
            return inside
        values, vectors, _ = inside
        xp = namespace(values)
        padded = xp.eye(values.shape[0] + 1, dtype=values.dtype)
        padded[1:, 1:] = vectors
        mean = xp.full((1,), self.mean, dtype=values.dtype)
        values, vectors = xp.concat([mean, values]), reflect_columns(padded.T).T
        order = xp.argsort(values)
        return Decomposed(xp.take(values, order), xp.take(vectors, order, axis=1))

    def cut(self, values: Array) -> Array | None:
        """Return eigenvalues with zeros for small ones, scaled to use up the budget."""
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
        """Return the region with a lower barrier, and L moved off the bounds."""
        lower = replace(self, part=_WARM_BARRIER)
        if self._is_its_own_barrier:
            return lower, nearby
        middle = self.budget / nearby.values.shape[0]
        values = (1 - _MIDDLE) * nearby.values + _MIDDLE * middle
        return lower, nearby._replace(values=values)

    def entered(self, value: float, values: Array) -> Interior:
        """Return the region with a barrier that adds about ``part`` of the fit."""
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
        """Whether tr L^-1 keeps L inside without logarithms."""
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
        """Return the equations in the eigenbasis of L, for steps that keep the trace.

        The preconditioner takes care of that.
        """
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
        """Return the sign of, and the distances to, each bound with a logarithm."""
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
