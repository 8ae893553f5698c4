"""The hinge loss: zero beyond the margin, linear before it."""

from __future__ import annotations

from typing import ClassVar

from okl.losses.envelope import Proximal
from okl.losses.separable import Margin
from okl.numerics.arrays import Array, epsilon, namespace


class Hinge(Margin, Proximal):
    r"""The loss of support vector machines, V(y, f) = max(0, 1 - y f).

    .. math:: -V^*(y, -a) = a y, \qquad 0 \le a y \le 1

    ``alpha`` is 1 / C of `sklearn.svm.SVC`. Most dual variables end exactly at a bound:
    at zero beyond the margin, and at ``a y = 1`` before it. It has no probabilities.
    """

    name: ClassVar[str | None] = "hinge"
    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"proximal", "linear_dual", "classification", "multilabel"}
    )

    def entries(self, targets: Array, scores: Array) -> Array:
        """Return the distance to the margin."""
        return namespace(scores).clip(1 - targets * scores, 0.0, None)

    def slopes(self, targets: Array, scores: Array) -> Array:
        """Return y before the margin, zero from there on."""
        xp = namespace(scores)
        return targets * xp.astype(targets * scores < 1, scores.dtype)

    def second_derivative(self, targets: Array, scores: Array) -> Array:
        """Return zero: all curvature is in the kink."""
        return namespace(scores).zeros_like(scores)

    def proximal_slopes(
        self, targets: Array, points: Array, moreau_parameter: float
    ) -> Array:
        """Return y times sigma times the distance to the margin, y at most."""
        xp = namespace(points)
        return targets * xp.clip(moreau_parameter * (1 - targets * points), 0.0, 1.0)

    def proximal_second_derivative(
        self, targets: Array, points: Array, moreau_parameter: float
    ) -> Array:
        """Return sigma where the proximal point is on the margin, else zero."""
        pull = moreau_parameter * (1 - targets * points)
        inside = (pull > 0) & (pull < 1)
        return moreau_parameter * namespace(points).astype(inside, points.dtype)

    def slope_bounds(self, targets: Array) -> tuple[Array, Array]:
        """Return 0 and y, the smaller first."""
        xp = namespace(targets)
        return xp.clip(targets, None, 0.0), xp.clip(targets, 0.0, None)

    def inverse_slopes(self, targets: Array, slopes: Array) -> Array:
        """Return the kink y f = 1, where V has every slope of its domain."""
        return targets + 0.0 * slopes

    def dual_entries(self, targets: Array, slopes: Array) -> Array:
        """Return a y where it lies between 0 and 1, -inf elsewhere."""
        xp = namespace(slopes)
        value = slopes * targets
        rounding = 8 * epsilon(slopes)
        outside = (value < -rounding) | (value > 1 + rounding)
        return xp.where(outside, xp.full_like(value, -float("inf")), value)
