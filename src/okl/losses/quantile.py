"""The quantile loss: errors to one side cost more than those to the other."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

from okl.losses.envelope import Proximal
from okl.numerics.arrays import Array, epsilon, namespace
from okl.numerics.quantiles import weighted_quantile


class Quantile(Proximal):
    r"""The loss whose best constant is a quantile, the pinball loss.

    .. math:: V(y, f) = \begin{cases} q\,(y - f) & y \ge f \\
              (1 - q)\,(f - y) & y < f \end{cases}, \qquad
              -V^*(y, -a) = a y, \quad q - 1 \le a \le q

    With q = 1/2 it is half the absolute error, and the prediction a median. Most dual
    variables end at a bound; for all other entries the prediction is exactly the
    target. For regression only. Models of several quantiles are separate fits, and may
    cross. Koenker & Bassett (1978), *Regression quantiles*; Takeuchi et al. (2006),
    *Nonparametric quantile estimation*, for kernels.

    Parameters
    ----------
    quantile : float, default=0.5
        q, between 0 and 1: the part of the targets that is to be below a prediction.
    """

    name: ClassVar[str | None] = "quantile"
    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"proximal", "location", "robust", "regression"}
    )

    def __init__(self, quantile: float = 0.5) -> None:
        self.quantile = quantile

    def validate(self) -> None:
        """Check the quantile."""
        q = self.quantile
        if not isinstance(q, Real) or isinstance(q, bool) or not 0 < q < 1:
            raise ValueError(f"quantile must be a number between 0 and 1, got {q!r}.")

    @property
    def predicted_quantile(self) -> float:
        """The quantile of the loss."""
        return float(self.quantile)

    @property
    def _bounds(self) -> tuple[float, float]:
        """The least and the largest slope."""
        return float(self.quantile) - 1.0, float(self.quantile)

    def entries(self, targets: Array, scores: Array) -> Array:
        """Return v at each entry."""
        low, high = self._bounds
        errors = targets - scores
        return namespace(scores).maximum(low * errors, high * errors)

    def slopes(self, targets: Array, scores: Array) -> Array:
        """Return q below the target, q - 1 above it, zero where it is met."""
        xp = namespace(scores)
        low, high = self._bounds
        above = xp.astype(targets > scores, scores.dtype)
        below = xp.astype(targets < scores, scores.dtype)
        return high * above + low * below

    def second_derivative(self, targets: Array, scores: Array) -> Array:
        """Return zero: all curvature is in the kink."""
        return namespace(scores).zeros_like(scores)

    def best_intercept(
        self, targets: Array, scores: Array, weights: Array | None = None
    ) -> Array:
        """Return the quantile of the errors, the middle where there are several."""
        return weighted_quantile(targets - scores, float(self.quantile), weights)

    def proximal_slopes(
        self, targets: Array, points: Array, moreau_parameter: float
    ) -> Array:
        """Return sigma times the error, cut at q - 1 and q."""
        low, high = self._bounds
        return namespace(points).clip(moreau_parameter * (targets - points), low, high)

    def proximal_second_derivative(
        self, targets: Array, points: Array, moreau_parameter: float
    ) -> Array:
        """Return sigma where the proximal point is the target, else zero."""
        low, high = self._bounds
        pull = moreau_parameter * (targets - points)
        inside = (pull > low) & (pull < high)
        return moreau_parameter * namespace(points).astype(inside, points.dtype)

    def slope_bounds(self, targets: Array) -> tuple[Array, Array]:
        """Return q - 1 and q."""
        xp = namespace(targets)
        low, high = self._bounds
        return xp.full_like(targets, low), xp.full_like(targets, high)

    def inverse_slopes(self, targets: Array, slopes: Array) -> Array:
        """Return the kink f = y, where V has every slope of its domain."""
        return targets + 0.0 * slopes

    def dual_entries(self, targets: Array, slopes: Array) -> Array:
        """Return a y where a lies between q - 1 and q, -inf elsewhere."""
        xp = namespace(slopes)
        low, high = self._bounds
        rounding = 8 * epsilon(slopes)
        outside = (slopes < low - rounding) | (slopes > high + rounding)
        value = slopes * targets
        return xp.where(outside, xp.full_like(value, -float("inf")), value)
