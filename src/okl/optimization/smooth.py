"""Smooth convex functions g of an output kernel L, seen from its eigenbasis.

Newton's method in L meets four of them: what the best predictor for L costs
(`okl.solvers.output_kernel.value_function`), and those below, half of tr(L^-1 P) in a
structure's step, -<S, L> in its conjugate and the distance in its proximal points. In
the eigenbasis L = V diag(l) V' their second derivatives are a few products of matrices,
and their diagonal is a good preconditioner.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from okl.numerics.arrays import Array, inner, namespace


class SmoothPoint(Protocol):
    """A function at one L; its matrices are in the eigenbasis of L.

    Attributes
    ----------
    value : float
        g(L).
    moment : array (m, m)
        Minus twice the gradient; PSD where more L never costs.
    diagonal : array (m, m)
        An approximation of the second derivative along each entry.
    """

    @property
    def value(self) -> float:
        """g(L)."""

    @property
    def moment(self) -> Array:
        """Minus twice the gradient."""

    @property
    def diagonal(self) -> Array:
        """About the second derivative along each entry."""

    def curvature(self, direction: Array) -> Array:
        """Return the second derivative times a symmetric matrix."""


class Smooth(Protocol):
    """A function of positive definite L = V diag(l) V'."""

    def at(self, values: Array, vectors: Array) -> SmoothPoint:
        """Evaluate at the eigenvalues (m,) and eigenvectors (m, m) of L."""


class InverseTrace(NamedTuple):
    """g(L) = tr(L^-1 P) / 2, the norm of given predictions.

    Attributes
    ----------
    matrix : array (m, m)
        P, PSD.
    """

    matrix: Array

    def at(self, values: Array, vectors: Array) -> _InverseTracePoint:
        """Rotate P."""
        inverse = 1 / values
        rotated = vectors.T @ self.matrix @ vectors
        diagonal = namespace(values).linalg.diagonal(rotated)
        moment = inverse[:, None] * rotated * inverse
        return _InverseTracePoint(inner(diagonal, inverse) / 2, moment, inverse)


class _InverseTracePoint(NamedTuple):
    value: float
    moment: Array
    inverse: Array

    @property
    def diagonal(self) -> Array:
        xp = namespace(self.moment)
        return symmetric(self.inverse[:, None] * xp.linalg.diagonal(self.moment))

    def curvature(self, direction: Array) -> Array:
        # L^-1 X L^-1 P L^-1 and its transpose, halved
        return symmetric(self.inverse[:, None] * (direction @ self.moment))


class LinearTerm(NamedTuple):
    """g(L) = -<S, L>, of which a conjugate is the minimum.

    Attributes
    ----------
    matrix : array (m, m)
        S, symmetric.
    """

    matrix: Array

    def at(self, values: Array, vectors: Array) -> _LinearPoint:
        """Rotate S."""
        rotated = vectors.T @ self.matrix @ vectors
        diagonal = namespace(values).linalg.diagonal(rotated)
        return _LinearPoint(-inner(diagonal, values), 2 * rotated)


class _LinearPoint(NamedTuple):
    value: float
    moment: Array

    @property
    def diagonal(self) -> Array:
        return namespace(self.moment).zeros_like(self.moment)

    def curvature(self, direction: Array) -> Array:
        return self.diagonal


class SquaredDistance(NamedTuple):
    """g(L) = weight (||L||^2 / 2 - <Z, L>), which a proximal point adds to a penalty.

    It is the squared distance from Z without what does not depend on L, beside which
    all else may be next to nothing.

    Attributes
    ----------
    matrix : array (m, m)
        Z, symmetric.
    weight : float
        Above zero.
    """

    matrix: Array
    weight: float

    def at(self, values: Array, vectors: Array) -> _DistancePoint:
        """Rotate Z."""
        rotated = vectors.T @ self.matrix @ vectors
        identity = namespace(values).eye(values.shape[0], dtype=values.dtype)
        away = rotated - identity * values
        xp = namespace(values)
        value = self.weight * float(
            xp.sum(values * (values / 2 - xp.linalg.diagonal(rotated)))
        )
        return _DistancePoint(value, 2 * self.weight * away, self.weight)


class _DistancePoint(NamedTuple):
    value: float
    moment: Array
    weight: float

    @property
    def diagonal(self) -> Array:
        return self.weight * namespace(self.moment).ones_like(self.moment)

    def curvature(self, direction: Array) -> Array:
        return self.weight * direction


def symmetric(matrix: Array) -> Array:
    """Return the symmetric part of a square matrix."""
    return (matrix + matrix.T) / 2
