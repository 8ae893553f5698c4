r"""A second-order model of the cost of the best f, and the minimum of it plus R.

L is T X T' plus what a region sets apart. The second derivative is a matrix over the
entries of X: with P = K C T and E the change of the dual variables with that of X
(`okl.solvers.smooth.region_newton`), the second derivative of phi / alpha along the
latter is -(P'E T + T'E'P) / 2.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from okl.numerics.arrays import Array, eigh, inner, namespace, symmetric
from okl.optimization.newton import newton
from okl.optimization.regions import Decomposed, Iterate, WithBarrier

# The minimum of a model is found after _SETTLED steps in a row that change it by less
# than the part _LITTLE of its whole decrease, or after _MOST_STEPS. From the barrier of
# an L that is all but singular it may take up to _UNTIL_LOWER until it is lower at all.
_SETTLED, _LITTLE, _MOST_STEPS, _UNTIL_LOWER = 2, 1e-3, 60, 600
# How many times as large as before L may become where a model falls without end.
_FARTHEST = 1e3
# What rounding hides of the value of a model, as a part of it.
_UNSEEN = 1e-14


def second_derivative(image: Array, basis: Array, answers: Array) -> Array:
    """Return that of phi / alpha (k^2, k^2), given P, T and E for each entry of X.

    Answers are (n_samples, m, k^2). X is symmetric, and so is the result.
    """
    xp, k = namespace(image), basis.shape[1]
    turned = xp.tensordot(image.T, answers, axes=1)
    turned = xp.tensordot(basis.T, turned, axes=((1,), (1,)))
    turned = xp.reshape(turned, (k, k, k, k))
    turned = turned + xp.permute_dims(turned, (1, 0, 2, 3))
    turned = turned + xp.permute_dims(turned, (0, 1, 3, 2))
    return -xp.reshape(turned, (k * k, k * k)) / 4


class QuadraticModel(NamedTuple):
    """The second-order model of phi / alpha at the centre, one X = T'LT.

    The value is that at the centre, with R there as a constant; the moment (k, k) is
    minus twice the gradient, and second (k^2, k^2) the second derivative.
    """

    value: float
    centre: Array
    moment: Array
    second: Array

    def at(self, values: Array, vectors: Array) -> _QuadraticPoint:
        """Evaluate at eigenvalues and eigenvectors."""
        away = symmetric((vectors * values) @ vectors.T) - self.centre
        bent = self.times(away)
        value = self.value + inner(bent - self.moment, away) / 2
        moment = symmetric(vectors.T @ (self.moment - 2 * bent) @ vectors)
        return _QuadraticPoint(value, moment, vectors, self)

    def times(self, matrix: Array) -> Array:
        """Return the second derivative along a matrix."""
        xp = namespace(matrix)
        return xp.reshape(self.second @ xp.reshape(matrix, (-1,)), matrix.shape)

    def least(self, region: WithBarrier) -> tuple[Decomposed, float]:
        """Return the minimiser of the model plus R, and how much lower that is."""
        held = replace(region, barrier=region.inverse)
        values, vectors = eigh(self.centre)
        values = namespace(values).clip(values, 0.0, None)  # below zero by rounding
        here = Decomposed(values, vectors, self.centre if region.by_entries else None)
        first = held.value(Iterate(here, self.at(*here[:2]))) + self.value
        # from a barrier, as an L that is all but singular keeps steps short
        start = region.warm(here)
        assert start is not None  # an L of this very problem is near
        best, lowest, settled = here, first, 0
        unseen = _UNSEEN * abs(first)
        # a model without curvature may fall without end
        farthest = _FARTHEST * float(start[1].values[-1])
        for n_steps, iterate in enumerate(newton(self, *start)):
            if float(iterate.kernel.values[-1]) > farthest:
                break
            value = iterate.point.value + held.value(iterate)
            # while rounding hides the whole decrease, Newton's method goes on
            little = abs(lowest - value) <= _LITTLE * (first - value - unseen)
            settled = settled + 1 if little else 0
            if value <= lowest + unseen:
                best, lowest = iterate.kernel, min(value, lowest)
            most = _MOST_STEPS if lowest < first - unseen else _UNTIL_LOWER
            if settled == _SETTLED or n_steps >= most:
                break
        return best, first - lowest


class _QuadraticPoint(NamedTuple):
    value: float
    moment: Array
    vectors: Array
    model: QuadraticModel

    @property
    def diagonal(self) -> Array:
        xp, V = namespace(self.moment), self.vectors
        k = V.shape[0]
        squares = xp.reshape(V[:, None, :] * V, (k * k, k))
        by_rows = xp.reshape(self.model.second, (k, k, k, k))
        by_rows = xp.reshape(xp.permute_dims(by_rows, (1, 3, 0, 2)), (k * k, k * k))
        entries = squares.T @ (by_rows @ squares)
        # an entry off the diagonal has another that mirrors it
        return symmetric(2 * entries - entries * xp.eye(k, dtype=entries.dtype))

    def curvature(self, direction: Array) -> Array:
        V = self.vectors
        return symmetric(V.T @ self.model.times(V @ direction @ V.T) @ V)
