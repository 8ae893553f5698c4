"""The Huber loss: quadratic for small errors, linear for large ones."""

from __future__ import annotations

from typing import ClassVar

from okl.losses.separable import DiagonalCurvature, Separable, weighted
from okl.numerics.arrays import Array, epsilon, namespace
from okl.numerics.validation import check_positive

# Delta in standard deviations of normal errors. A smaller one than the least is hardly
# more precise, and takes several times as long.
_OF_NORMAL, _LEAST = 1.35, 0.2


class Huber(Separable):
    r"""Half the square of an error up to delta, then delta times the error.

    .. math:: V(y, f) = \begin{cases} r^2 / 2 & |r| \le \delta \\
              \delta (|r| - \delta / 2) & |r| > \delta \end{cases}, \qquad r = y - f

    An outlier has no more influence on a prediction than a target that is delta away.
    For regression only. Huber (1964), *Robust estimation of a location parameter*.

    Parameters
    ----------
    delta : float, default=None
        The error from which the loss is linear, > 0. `OutputKernelRegressor` normalises
        outputs first: delta is then in units of ``y_scale_``, which are the standard
        deviations of normal targets and hardly change with a few outliers; with
        ``normalize_y=False`` it is in the units of the targets. None is 1.35, at which
        the middle of normal errors is estimated with 95 % of the precision of their
        mean; `OutputKernelRegressorCV` that learns a kernel takes 1.35 times the
        typical size of errors instead (``loss_``), at least 0.2 and at most 1.35 times
        that of targets: where most of the spread is explained, an outlier is known by
        less.
    """

    name: ClassVar[str | None] = "huber"
    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"smooth", "location", "robust", "adaptive", "regression"}
    )
    largest_curvature: ClassVar[float] = 1.0

    def __init__(self, delta: float | None = None) -> None:
        self.delta = delta

    def validate(self) -> None:
        """Check delta."""
        if self.delta is not None:
            check_positive(self.delta, "delta")

    def for_errors(self, size: float, spread: float) -> Huber:
        """Return the loss with a delta in proportion to errors, if none was given.

        Both are standard deviations, of the errors and of the targets.
        """
        if self.delta is not None or spread <= 0:
            return self
        return Huber(min(max(_OF_NORMAL * size, _LEAST * spread), _OF_NORMAL * spread))

    @property
    def scored_quantile(self) -> float:
        """The median, as scores by squared errors are those of the outliers."""
        return 0.5

    @property
    def _width(self) -> float:
        """Delta in full precision, whatever kind of number it is."""
        return float(_OF_NORMAL if self.delta is None else self.delta)

    def entries(self, targets: Array, scores: Array) -> Array:
        """Return v at each entry."""
        size = namespace(scores).abs(targets - scores)
        inside = namespace(scores).clip(size, None, self._width)
        return inside * (size - inside / 2)

    def slopes(self, targets: Array, scores: Array) -> Array:
        """Return the errors, cut at delta."""
        return namespace(scores).clip(targets - scores, -self._width, self._width)

    def second_derivative(self, targets: Array, scores: Array) -> Array:
        """Return one where the error is at most delta, else zero."""
        xp = namespace(scores)
        return xp.astype(xp.abs(targets - scores) <= self._width, scores.dtype)

    def damped_curvature(
        self,
        targets: Array,
        scores: Array,
        weights: Array | None = None,
        *,
        share: float,
    ) -> DiagonalCurvature:
        """Return one where the error is at most delta, elsewhere up to delta / error.

        The second derivative is zero elsewhere: Newton steps from far away would be
        endless.
        """
        xp = namespace(scores)
        size = xp.abs(targets - scores)
        beyond = share * (self._width / xp.clip(size, self._width, None))
        damped = xp.where(size > self._width, beyond, xp.ones_like(size))
        return DiagonalCurvature.of(weighted(damped, weights))

    def inverse_slopes(self, targets: Array, slopes: Array) -> Array:
        """Return the targets less the slopes, cut at delta."""
        return targets - namespace(slopes).clip(slopes, -self._width, self._width)

    def dual_entries(self, targets: Array, slopes: Array) -> Array:
        """Return a y - a^2 / 2 where a is between -delta and delta, -inf elsewhere."""
        xp = namespace(slopes)
        outside = xp.abs(slopes) > self._width * (1 + 8 * epsilon(slopes))
        value = slopes * (targets - slopes / 2)
        return xp.where(outside, xp.full_like(value, -float("inf")), value)
