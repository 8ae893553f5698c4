"""What a duality gap is measured by: the part of the objective that models can change.

For most losses that is the objective itself. A loss that bears targets far away is
linear there: such a target adds its whole distance to the objective of every model
alike. With a few of them a million times as far as the others a gap of a millionth of
the objective would be as large as all that there is to learn. The gap is then measured
by what the loss of a constant is with these targets brought nearer.

All of this is known from loss and targets alone, before there is any model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from okl.losses import Loss
from okl.numerics.arrays import Array, epsilon, namespace
from okl.numerics.far_away import brought_near

_INF = float("inf")
# However far they are, the objective counts by so much of it: rounding of P and D
# hides smaller gaps.
_LEAST = 1e-6


@dataclass(frozen=True)
class GapScale:
    """What is known before a fit of the size that its gap is measured by.

    Attributes
    ----------
    rounding : float
        The objective below which there is nothing but rounding.
    typical : float
        The largest part of the objective that counts; infinity if no target is far
        away, or the loss does not bear such targets.
    """

    rounding: float
    typical: float = _INF

    @classmethod
    def of_targets(
        cls, loss: Loss, targets: Array, centered: Array, weights: Array | None
    ) -> Self:
        """Return that of targets, as given and centred.

        Rounding is machine epsilon times the loss at f = 0 of centred targets, plus a
        bound on the loss of their rounding errors: eps^1.5 times the loss of the
        targets as given.
        """
        xp = namespace(targets)
        eps = epsilon(targets)
        rounding = eps * loss.value(centered, xp.zeros_like(centered), weights)
        if centered is not targets:
            rounding += eps**1.5 * loss.value(targets, xp.zeros_like(targets), weights)
        return cls(rounding, _typical_loss(loss, centered, weights))

    def of(self, *values: float) -> float:
        """Return the size that counts, of objectives and bounds on them."""
        size = max(map(abs, values))
        return max(min(size, self.typical), _LEAST * size, self.rounding)


def _typical_loss(loss: Loss, targets: Array, weights: Array | None) -> float:
    """Return the loss of a constant with targets far away brought nearer."""
    if "robust" not in loss.capabilities:
        return _INF
    near = brought_near(targets, weights)
    if near is targets:
        return _INF
    return loss.value(near, namespace(near).zeros_like(near), weights)
