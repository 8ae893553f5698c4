r"""The Moreau envelope of a loss, mostly one with kinks: a smooth loss just below it.

.. math:: e(y, f) = \min_u V(y, u) + \frac{\sigma}{2} (u - z)^2, \qquad z = f - s

Here z are the scores f, moved by a shift s, and the minimiser u is the proximal point
of z. The slope -e' = sigma (u - z) is always minus a subgradient of V at u. The
negative gradient of the envelope is therefore a dual point of the loss itself; with a
free intercept it sums to zero once the envelope is minimised over the intercept. A
larger *Moreau parameter* sigma brings the envelope closer to V. With s = a / sigma,
where a is minus a subgradient of V at the optimum, the envelope has the optimum of V
for any sigma. An augmented Lagrangian method improves the shift s from round to round
(`okl.solvers.kinks.augmented_lagrangian`).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from okl.coding.labels import LabelCoding
from okl.losses.base import Loss
from okl.losses.separable import Separable
from okl.numerics.arrays import Array


class Proximal(Separable):
    """Base of the separable losses whose proximal points are known."""

    @abstractmethod
    def proximal_slopes(
        self, targets: Array, points: Array, moreau_parameter: float
    ) -> Array:
        """Return sigma (u - z) at each entry, u the proximal point of the point z."""

    @abstractmethod
    def proximal_second_derivative(
        self, targets: Array, points: Array, moreau_parameter: float
    ) -> Array:
        """Return minus the derivative of `proximal_slopes` in the points."""

    @abstractmethod
    def slope_bounds(self, targets: Array) -> tuple[Array, Array]:
        """Return the least and the largest slope at each entry."""

    def smoothed(self) -> Loss:
        """Return the envelope of Moreau parameter one, or the loss if it is smooth."""
        return self if "smooth" in self.capabilities else Envelope(self)


class Envelope(Separable):
    """The Moreau envelope of a loss, min_u V(y, u) + sigma (u - f + s)^2 / 2.

    Weights multiply the envelope. That is the envelope of the weighted loss, with sigma
    multiplied by the weight: an entry of weight 2 counts as two.

    Parameters
    ----------
    loss : Proximal
        V.
    moreau_parameter : float, default=1.0
        sigma > 0, an upper bound of the second derivatives.
    shift : array (n_samples, n_outputs) or float, default=0.0
        s, subtracted from the scores.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"smooth", "active", "classification", "multilabel"}
    )

    def __init__(
        self, loss: Proximal, moreau_parameter: float = 1.0, shift: Array | float = 0.0
    ) -> None:
        self.loss = loss
        self.moreau_parameter = moreau_parameter
        self.shift = shift

    @property
    def coding(self) -> LabelCoding | None:  # type: ignore[override]
        """The coding of the loss."""
        return self.loss.coding

    @property
    def largest_curvature(self) -> float:  # type: ignore[override]
        """The Moreau parameter."""
        return self.moreau_parameter

    def entries(self, targets: Array, scores: Array) -> Array:
        """Return V at the proximal point u, plus sigma (u - z)^2 / 2."""
        points = scores - self.shift
        slopes = self.loss.proximal_slopes(targets, points, self.moreau_parameter)
        way = slopes / self.moreau_parameter
        return self.loss.entries(targets, points + way) + slopes * way / 2

    def slopes(self, targets: Array, scores: Array) -> Array:
        """Return minus a subgradient of V at the proximal point."""
        points = scores - self.shift
        return self.loss.proximal_slopes(targets, points, self.moreau_parameter)

    def second_derivative(self, targets: Array, scores: Array) -> Array:
        """Return sigma where the proximal point is at a kink of V, less elsewhere."""
        points = scores - self.shift
        return self.loss.proximal_second_derivative(
            targets, points, self.moreau_parameter
        )

    def inverse_slopes(self, targets: Array, slopes: Array) -> Array:
        """Return the scores for which the proximal point has this slope of V."""
        reached = self.loss.inverse_slopes(targets, slopes)
        return reached - slopes / self.moreau_parameter + self.shift

    def dual_entries(self, targets: Array, slopes: Array) -> Array:
        """Return -V* + a s - a^2 / (2 sigma)."""
        value = self.loss.dual_entries(targets, slopes)
        return value + slopes * (self.shift - slopes / (2 * self.moreau_parameter))
