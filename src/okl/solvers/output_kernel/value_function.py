r"""What the best predictor costs, as a function of the output kernel.

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

from okl.numerics.arrays import Array, inner, symmetric
from okl.output_kernels import SpectralKernel


class NewtonIterate(NamedTuple):
    """An output kernel, its objective and a lower bound of the least.

    With where Newton's method may start at another alpha.
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

    def at(self, values: Array, vectors: Array) -> _Fitted:
        """Solve for C."""
        inverse = 1 / (self.eigenvalues * values + self.alpha)
        targets = self.targets @ vectors
        dual = targets * inverse
        return _Fitted(inner(dual, targets) / 2, dual, self.eigenvalues * dual, inverse)


class _Fitted:
    """C, KC and the divisor, in the eigenbases of K and L."""

    def __init__(self, value: float, dual: Array, scaled: Array, inverse: Array):
        self.value = value
        self.moment = dual.T @ scaled
        self._scaled = scaled
        self._inverse = inverse

    @cached_property
    def diagonal(self) -> Array:
        return symmetric((self._scaled**2).T @ self._inverse)

    def curvature(self, direction: Array) -> Array:
        change = (self._scaled @ direction) * self._inverse
        return symmetric(self._scaled.T @ change)
