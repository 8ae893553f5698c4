r"""The cost of the best predictor, as a function of the output kernel.

.. math:: \varphi(L) / \alpha = \min_C \tfrac12 \langle C, Y \rangle, \qquad
          K C L + \alpha C = Y,

is a smooth convex function of L, with the gradient -C'KC / 2 and the second derivative

.. math:: X \mapsto \operatorname{sym}\, (KC)' Z, \qquad K Z L + \alpha Z = K C X.

In the eigenbases of K and L both equations are divisions, and a second derivative
costs two products. The problem in L alone is to minimise this plus R(L).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

from okl.numerics.arrays import Array, eigh, inner, namespace, symmetric
from okl.optimization.regions import Decomposed, WithBarrier
from okl.output_kernels import SpectralKernel


class NewtonIterate(NamedTuple):
    """An output kernel, its objective and a lower bound of the least.

    With a start for Newton's method at another alpha.
    """

    output_kernel: SpectralKernel
    primal: float
    dual: float
    start: Any

    @property
    def gap(self) -> float:
        """How far the objective is from the bound."""
        return self.primal - self.dual


class ValueFunction(NamedTuple):
    """phi(L) / alpha, for the eigenvalues d (k, 1) of K and the targets U'Y (k, m)."""

    eigenvalues: Array
    targets: Array
    alpha: float

    def at(self, values: Array, vectors: Array) -> Fitted:
        """Solve for C."""
        inverse = 1 / (self.eigenvalues * values + self.alpha)
        targets = self.targets @ vectors
        dual = targets * inverse
        return Fitted(inner(dual, targets) / 2, dual, self.eigenvalues * dual, inverse)


class Fitted:
    """phi / alpha at L, with C, KC and the divisor, in the eigenbases of K and L."""

    def __init__(self, value: float, dual: Array, scaled: Array, inverse: Array):
        self.value = value
        self.moment = dual.T @ scaled
        self.dual, self.scaled, self.inverse = dual, scaled, inverse

    @cached_property
    def diagonal(self) -> Array:
        """About the second derivative along each entry."""
        return symmetric((self.scaled**2).T @ self.inverse)

    def curvature(self, direction: Array) -> Array:
        """Return the second derivative times a symmetric matrix."""
        change = (self.scaled @ direction) * self.inverse
        return symmetric(self.scaled.T @ change)


def spectral_of(kernel: Decomposed) -> SpectralKernel:
    """Return an L of Newton's method, its eigenvalues in descending order."""
    values, vectors, matrix = kernel
    xp = namespace(values)
    return SpectralKernel(xp.flip(values), xp.flip(vectors, axis=1), matrix)


def first_iterate(
    eigenvalues: Array,
    targets: Array,
    alpha: float,
    region: WithBarrier,
    start: Decomposed | None,
) -> tuple[WithBarrier, Decomposed]:
    """Return the region, and the L that Newton's method starts from.

    It is the start, an L that was optimal at another alpha, if that is near enough, and
    else a multiple of I. Eigenvalues are (k, 1) and targets (k, m) as in
    `ValueFunction`.
    """
    xp, size = namespace(targets), targets.shape[1]
    _, vectors = eigh(symmetric(targets.T @ (eigenvalues * targets)))
    energy = eigenvalues * (targets @ vectors[:, -1:]) ** 2

    def power(eigenvalue: float) -> float:
        return float(xp.sum(energy / (eigenvalues * eigenvalue + alpha) ** 2))

    guess = (float(xp.sum(energy)) / alpha) ** 0.5
    region, scale = region.cold(size, power, guess)
    if start is not None and (warm := region.warm(start)) is not None:
        return warm
    values = xp.full((size,), scale, dtype=targets.dtype)
    return region, Decomposed(values, xp.eye(size, dtype=targets.dtype))
