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

from okl.coding.tasks import Tasks
from okl.losses import Loss
from okl.numerics.arrays import Array, epsilon, namespace
from okl.numerics.far_away import brought_near

_INF = float("inf")
# However far they are, the objective counts by so much of it, or by the root of machine
# epsilon: rounding of P and D hides smaller gaps.
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
    least : float
        The part of the objective that counts however far they are.
    """

    rounding: float
    typical: float = _INF
    least: float = _LEAST

    @classmethod
    def of_targets(
        cls,
        loss: Loss,
        targets: Array,
        centered: Array,
        weights: Array | None,
        tasks: Tasks | None = None,
    ) -> Self:
        """Return that of targets, as given and centred, in long form with their tasks.

        Rounding is machine epsilon times the loss at f = 0 of centred targets, plus a
        bound on the loss of their rounding errors: eps^1.5 times the loss of the
        targets as given.
        """
        xp = namespace(targets)
        eps = epsilon(targets)
        rounding = eps * loss.value(centered, xp.zeros_like(centered), weights)
        if centered is not targets:
            rounding += eps**1.5 * loss.value(targets, xp.zeros_like(targets), weights)
        least = max(_LEAST, eps**0.5)
        return cls(rounding, _typical_loss(loss, centered, weights, tasks), least)

    def of(self, *values: float) -> float:
        """Return the size that counts, of objectives and bounds on them."""
        size = max(map(abs, values))
        return max(min(size, self.typical), self.least * size, self.rounding)


def _typical_loss(
    loss: Loss, targets: Array, weights: Array | None, tasks: Tasks | None
) -> float:
    """Return the loss of a constant with targets far away brought nearer."""
    if "robust" not in loss.capabilities:
        return _INF
    parts = [(targets, weights)]
    if tasks is not None:  # what is far away for one may not be so for another
        parts = [
            (targets[own], None if weights is None else weights[own])
            for _, own in tasks.groups()
        ]
    near = [brought_near(*part) for part in parts]
    if all(one is given for one, (given, _) in zip(near, parts, strict=True)):
        return _INF
    return sum(
        loss.value(one, namespace(one).zeros_like(one), own)
        for one, (_, own) in zip(near, parts, strict=True)
    )
