"""The squared hinge loss: zero beyond the margin, quadratic before it."""

from __future__ import annotations

from typing import ClassVar

from okl.losses.envelope import Proximal
from okl.losses.separable import DiagonalCurvature, Margin, weighted
from okl.numerics.arrays import Array, epsilon, namespace


class SquaredHinge(Margin, Proximal):
    r"""Half the squared distance to the margin, V(y, f) = max(0, 1 - y f)^2 / 2.

    .. math:: -V^*(y, -a) = a y - a^2 / 2, \qquad a y \ge 0

    ``alpha`` is 1 / (2 C) of `sklearn.svm.LinearSVC`. It has no probabilities.
    """

    name: ClassVar[str | None] = "squared_hinge"
    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"smooth", "active", "proximal", "classification", "multilabel"}
    )
    largest_curvature: ClassVar[float] = 1.0

    def entries(self, targets: Array, scores: Array) -> Array:
        """Return half the squared distance to the margin."""
        return namespace(scores).clip(1 - targets * scores, 0.0, None) ** 2 / 2

    def slopes(self, targets: Array, scores: Array) -> Array:
        """Return y times the distance to the margin."""
        return targets * namespace(scores).clip(1 - targets * scores, 0.0, None)

    def second_derivative(self, targets: Array, scores: Array) -> Array:
        """Return one before the margin, else zero."""
        return namespace(scores).astype(targets * scores < 1, scores.dtype)

    def damped_curvature(
        self,
        targets: Array,
        scores: Array,
        weights: Array | None = None,
        *,
        share: float,
    ) -> DiagonalCurvature:
        """Return one before the margin, the share beyond it.

        The second derivative is zero beyond the margin, where nothing keeps a Newton
        step from falling back before it. With a share of one the quadratic is nowhere
        below the loss.
        """
        xp = namespace(scores)
        inside = self.second_derivative(targets, scores)
        return DiagonalCurvature.of(weighted(xp.clip(inside, share, None), weights))

    def proximal_slopes(
        self, targets: Array, points: Array, moreau_parameter: float
    ) -> Array:
        """Return the slopes times sigma / (1 + sigma)."""
        share = moreau_parameter / (1 + moreau_parameter)
        return share * self.slopes(targets, points)

    def proximal_second_derivative(
        self, targets: Array, points: Array, moreau_parameter: float
    ) -> Array:
        """Return sigma / (1 + sigma) before the margin, else zero."""
        share = moreau_parameter / (1 + moreau_parameter)
        return share * self.second_derivative(targets, points)

    def slope_bounds(self, targets: Array) -> tuple[Array, Array]:
        """Return 0 and y times a number beyond all slopes, finite times weights."""
        xp = namespace(targets)
        slopes = float(xp.finfo(targets.dtype).max) ** 0.5 * xp.sign(targets)
        return xp.clip(slopes, None, 0.0), xp.clip(slopes, 0.0, None)

    def inverse_slopes(self, targets: Array, slopes: Array) -> Array:
        """Return the score whose distance to the margin is the slope, or 0."""
        distance = namespace(slopes).clip(targets * slopes, 0.0, None)
        return targets * (1 - distance)

    def dual_entries(self, targets: Array, slopes: Array) -> Array:
        """Return a y - a^2 / 2 where a y is not negative, -inf elsewhere."""
        xp = namespace(slopes)
        value = slopes * (targets - slopes / 2)
        outside = slopes * targets < -8 * epsilon(slopes)
        return xp.where(outside, xp.full_like(value, -float("inf")), value)
