"""The logistic loss, one output at a time."""

from __future__ import annotations

from typing import ClassVar

from okl.coding.labels import LabelCoding, LogOdds
from okl.losses.separable import Margin
from okl.numerics.arrays import Array, epsilon, namespace

# What rounding may put outside [0, 1].
_ROUNDING = 1e-12


class Logistic(Margin):
    r"""The negative log likelihood of a label, V(y, f) = log(1 + exp(-y f)), y = +-1.

    .. math:: -V^*(y, -a) = - q \log q - (1 - q) \log (1 - q), \qquad q = a y

    For two classes there is one output; for several, one per class against the rest,
    with probabilities normalised to sum to one; for labels, one per label. ``alpha`` is
    1 / C of `sklearn.linear_model.LogisticRegression`.
    """

    name: ClassVar[str | None] = "logistic"
    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"smooth", "classification", "multilabel", "probabilities"}
    )
    coding: ClassVar[LabelCoding] = LogOdds()
    largest_curvature: ClassVar[float] = 0.25

    def entries(self, targets: Array, scores: Array) -> Array:
        """Return log(1 + exp(-y f)) without overflow."""
        return softplus(-targets * scores)

    def slopes(self, targets: Array, scores: Array) -> Array:
        """Return y / (1 + exp(y f))."""
        return targets * _sigmoid(-targets * scores)

    def second_derivative(self, targets: Array, scores: Array) -> Array:
        """Return p (1 - p), p = 1 / (1 + exp(-f))."""
        xp = namespace(scores)
        small = xp.exp(-xp.abs(scores))
        return small / (1 + small) ** 2

    def inverse_slopes(self, targets: Array, slopes: Array) -> Array:
        """Return y log((1 - q) / q), q = a y moved away from 0 and 1 if need be."""
        xp = namespace(slopes)
        tiny = float(xp.finfo(slopes.dtype).smallest_normal)
        q = xp.clip(slopes * targets, tiny, 1 - epsilon(slopes) / 2)
        return targets * (xp.log1p(-q) - xp.log(q))

    def dual_entries(self, targets: Array, slopes: Array) -> Array:
        """Return the entropy of (q, 1 - q), q = a y."""
        xp = namespace(slopes)
        q = slopes * targets
        outside = (q < -_ROUNDING) | (q > 1 + _ROUNDING)
        q = xp.clip(q, 0.0, 1.0)
        value = entropy(q) + entropy(1 - q)
        return xp.where(outside, xp.full_like(value, -float("inf")), value)


def softplus(values: Array) -> Array:
    """Return log(1 + exp(x)) without overflow."""
    xp = namespace(values)
    return xp.clip(values, 0.0, None) + xp.log1p(xp.exp(-xp.abs(values)))


def entropy(values: Array) -> Array:
    """Return -q log q, 0 at 0."""
    xp = namespace(values)
    safe = xp.where(values > 0, values, xp.ones_like(values))
    return -values * xp.log(safe)


def _sigmoid(values: Array) -> Array:
    xp = namespace(values)
    small = xp.exp(-xp.abs(values))
    return xp.where(values >= 0, xp.ones_like(small), small) / (1 + small)
