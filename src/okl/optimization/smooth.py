"""Smooth convex functions g of an output kernel L, seen from its eigenbasis.

Newton's method in L minimises g(L) + R(L). g is what the best predictor for L costs
(`okl.solvers`), or one of the two here: half of tr(L^-1 P) in the update of a
structure, and a quadratic in its conjugate and proximal points. In the
eigenbasis L = V diag(l) V' the diagonal of the second derivative is a good
preconditioner.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from okl.numerics.arrays import Array, inner, namespace, symmetric


class SmoothPoint(Protocol):
    """A function at one L; its matrices (m, m) are in the eigenbasis of L."""

    @property
    def value(self) -> float:
        """g(L)."""

    @property
    def moment(self) -> Array:
        """Minus twice the gradient; PSD where more L never costs."""

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
    """g(L) = tr(L^-1 P) / 2, the norm of given predictions; P (m, m) is PSD."""

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


class Quadratic(NamedTuple):
    """g(L) = weight ||L||^2 / 2 - <S, L>.

    Without a weight the least value of g + R is -R*(S), which gives the conjugate. With
    S = weight Z, g is the squared distance weight ||L - Z||^2 / 2 that a proximal point
    adds to a penalty, without the constant: that may be so large that rounding would
    hide the rest.
    """

    matrix: Array
    weight: float = 0.0

    def at(self, values: Array, vectors: Array) -> _PointOfQuadratic:
        """Rotate S."""
        rotated = vectors.T @ self.matrix @ vectors
        scaled = self.weight * values
        xp = namespace(values)
        value = inner(values, scaled / 2 - xp.linalg.diagonal(rotated))
        identity = xp.eye(values.shape[0], dtype=values.dtype)
        return _PointOfQuadratic(value, 2 * (rotated - identity * scaled), self.weight)


class _PointOfQuadratic(NamedTuple):
    value: float
    moment: Array
    weight: float

    @property
    def diagonal(self) -> Array:
        return self.weight * namespace(self.moment).ones_like(self.moment)

    def curvature(self, direction: Array) -> Array:
        return self.weight * direction
