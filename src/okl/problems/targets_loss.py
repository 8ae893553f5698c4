"""What predictions cost: a loss at given targets, and its derivatives."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from okl.losses import Loss
from okl.losses.base import Curvature
from okl.numerics.arrays import Array, namespace

Weighting = Literal["none", "missing", "any"]


class TargetsLoss:
    """A loss, targets, and weights.

    Attributes
    ----------
    loss : Loss
    targets : array
    weights : array or None
        What multiplies the loss of each entry, or row; None for one everywhere.
    """

    loss: Loss
    targets: Array
    weights: Array | None

    @cached_property
    def weighting(self) -> Weighting:
        """Which weights there are: none, zeros and ones (missing targets), or any."""
        if self.weights is None:
            return "none"
        binary = (self.weights == 0) | (self.weights == 1)
        return "missing" if bool(namespace(binary).all(binary)) else "any"

    def loss_at(self, scores: Array) -> float:
        """Return the loss at scores of the shape of the targets."""
        return self.loss.value(self.targets, scores, self.weights)

    def downhill(self, scores: Array) -> Array:
        """Return minus the gradient of the loss at scores."""
        return self.loss.negative_gradient(self.targets, scores, self.weights)

    def loss_and_downhill(self, scores: Array) -> tuple[float, Array]:
        """Return the loss and minus its gradient, at the cost of one of them."""
        loss = self.loss
        return loss.value_and_negative_gradient(self.targets, scores, self.weights)

    def curvature(self, scores: Array) -> Curvature:
        """Return the second derivative of the loss at scores."""
        return self.loss.curvature(self.targets, scores, self.weights)

    def dual_loss(self, point: Array) -> float:
        """Return the part of the loss in the dual value at alpha C."""
        return self.loss.dual_value(self.targets, point, self.weights)
