r"""A second-order model of what the best f costs, and where it is least with R.

L is T X T' and what a region sets apart. The model is a matrix over the entries of X on
and above the diagonal: with P = K C T and E the answer of the best f to a change of X
(`okl.solvers.smooth.region_newton`), the second derivative of phi / alpha along that is
-(P'E T + T'E'P) / 2.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from okl.numerics.arrays import Array, eigh, inner, namespace, symmetric
from okl.optimization.newton import newton
from okl.optimization.regions import Decomposed, Iterate, WithBarrier

# The minimum of a model is found where so many steps in a row lower it by less than
# this part of all that it has fallen, or after the most; from the barrier of an L that
# is all but singular so many may go by until it is lower at all.
_SETTLED, _LITTLE, _MOST_STEPS, _UNTIL_LOWER = 2, 1e-3, 60, 600
# How many times as large as before L may become where a model falls without end.
_FARTHEST = 1e3
# What rounding hides of the value of a model, as a part of it.
_UNSEEN = 1e-14


class Pairs(NamedTuple):
    """Symmetric matrices X (k, k) by their entries on and above the diagonal.

    Rows and columns (q,) are those of the entries, the basis is T (m, k).
    """

    rows: Array
    columns: Array
    basis: Array

    @classmethod
    def of(cls, basis: Array) -> Pairs:
        """Return those of as many rows as T has columns."""
        numbers = namespace(basis).arange(basis.shape[1])
        rows, columns = namespace(basis).nonzero(numbers[:, None] <= numbers)
        return cls(rows, columns, basis)

    def entries(self, matrix: Array) -> Array:
        """Return those of a symmetric matrix (q,)."""
        xp, k = namespace(matrix), matrix.shape[0]
        return xp.take(xp.reshape(matrix, (-1,)), self.rows * k + self.columns)

    @property
    def _on_diagonal(self) -> Array:
        """One for each entry on the diagonal, else zero."""
        return namespace(self.basis).astype(self.rows == self.columns, self.basis.dtype)

    def products(self, image: Array) -> Array:
        """Return -KCD (n_samples, m, q) for D = T X T', X with one entry, or mirrored.

        ``image`` is KCT.
        """
        xp = namespace(image)
        parts = [
            xp.take(image, one, axis=1)[:, None, :] * xp.take(self.basis, two, axis=1)
            for one, two in ((self.rows, self.columns), (self.columns, self.rows))
        ]
        return -(parts[0] + parts[1]) * (1 - self._on_diagonal / 2)

    def derivative(self, image: Array, answers: Array) -> Array:
        """Return the second derivative of phi / alpha, from X to a matrix (k^2, k^2).

        ``answers`` are E for all of these products.
        """
        xp, k = namespace(image), self.basis.shape[1]
        turned = xp.tensordot(image.T, answers, axes=1)
        turned = xp.tensordot(self.basis.T, turned, axes=((1,), (1,)))
        turned = -(turned + xp.permute_dims(turned, (1, 0, 2))) / 2
        shared = turned * (1 + self._on_diagonal) / 2
        one, two = xp.arange(k)[:, None], xp.arange(k)
        first, last = xp.minimum(one, two), xp.maximum(one, two)
        # the entries are numbered row by row, each from the diagonal on
        numbers = first * k - first * (first + 1) // 2 + last
        return xp.reshape(
            xp.take(shared, xp.reshape(numbers, (-1,)), axis=2), (k * k, k * k)
        )


class QuadraticModel(NamedTuple):
    """The second-order model of phi / alpha at the centre, one X = T'LT.

    Its value there has R as well, a constant; the moment (k, k) is minus twice the
    gradient, and second (k^2, k^2) the second derivative.
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
        """Return where the model plus R is least, and by how much it is lower."""
        held = replace(region, barrier=region.inverse)
        here = Decomposed(
            *eigh(self.centre), self.centre if region.by_entries else None
        )
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
            # what falls by less than is seen goes on, to the end of Newton's method
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
