"""What losses that are a sum over outputs have in common.

V(y, f) = sum_j v(y_j, f_j), so that the second derivative is diagonal, and the best
intercept solves one monotone equation for each output.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, NamedTuple

from okl.coding.labels import LabelCoding, Signs
from okl.coding.tasks import COLUMNS, Sharing
from okl.losses.base import Loss
from okl.numerics.arrays import Array, column_sums, epsilon, namespace

# Square roots of a second derivative below this part of the largest count as zero where
# they are divided by.
TINY = 1e-6
# For the best intercept: most Newton or bisection steps, the largest length of the
# first, what stands for infinity, and the number of steps after which the best may be
# infinite.
_STEPS, _REACH, _FAR, _MANY = 200, 1.0, 1e300, 10


class DiagonalCurvature(NamedTuple):
    """A diagonal second derivative, V = W^(1/2).

    Attributes
    ----------
    diagonal, roots : array (n_samples, n_outputs)
        W and its square root.
    """

    diagonal: Array
    roots: Array

    @classmethod
    def of(cls, diagonal: Array) -> DiagonalCurvature:
        """Take the square root."""
        return cls(diagonal, namespace(diagonal).sqrt(diagonal))

    @property
    def separable(self) -> bool:
        """True: nothing couples the outputs."""
        return True

    @property
    def shared(self) -> None:
        """None: W is D."""

    def project(self, right: Array) -> Array:
        """Return the array: P is the identity."""
        return right

    def solve(self, right: Array) -> Array:
        """Divide by the roots, where they are not tiny."""
        return divide(right, self.roots)

    def factor(self, right: Array) -> Array:
        """Return V times an array."""
        return self.roots * right

    def adjoint(self, right: Array) -> Array:
        """Return V' times an array, the same."""
        return self.roots * right

    def product(self, right: Array) -> Array:
        """Return W times an array."""
        return self.diagonal * right

    @property
    def entries(self) -> Array:
        """W."""
        return self.diagonal

    def solve_total(self, right: Array) -> Array:
        """Divide by the column sums, where they are not too small to divide by."""
        xp, total = namespace(right), column_sums(self.diagonal)
        least = float(xp.finfo(total.dtype).smallest_normal) / epsilon(total)
        safe = xp.where(total > least, total, xp.ones_like(total))
        return xp.where(total > least, right / safe, xp.zeros_like(right))


class Separable(Loss):
    """Base of the losses that are a sum over outputs."""

    @abstractmethod
    def entries(self, targets: Array, scores: Array) -> Array:
        """Return v at each entry."""

    @abstractmethod
    def slopes(self, targets: Array, scores: Array) -> Array:
        """Return -dv/df at each entry."""

    @abstractmethod
    def second_derivative(self, targets: Array, scores: Array) -> Array:
        """Return the second derivative of v at each entry."""

    @abstractmethod
    def inverse_slopes(self, targets: Array, slopes: Array) -> Array:
        """Return the score where the slope is this one, or the nearest possible one."""

    @abstractmethod
    def dual_entries(self, targets: Array, slopes: Array) -> Array:
        """Return -v*(y, -a) at each entry, for an entry of weight one."""

    def value(
        self, targets: Array, scores: Array, weights: Array | None = None
    ) -> float:
        """Return the weighted sum of v."""
        return _total(weighted(self.entries(targets, scores), weights))

    def negative_gradient(
        self, targets: Array, scores: Array, weights: Array | None = None
    ) -> Array:
        """Return the weighted slopes."""
        return weighted(self.slopes(targets, scores), weights)

    def curvature(
        self, targets: Array, scores: Array, weights: Array | None = None
    ) -> DiagonalCurvature:
        """Return the weighted second derivatives."""
        return DiagonalCurvature.of(
            weighted(self.second_derivative(targets, scores), weights)
        )

    def dual_value(
        self, targets: Array, negative_gradient: Array, weights: Array | None = None
    ) -> float:
        """Return the weighted sum of -v*, at slopes divided by their weights."""
        if weights is None:
            return _total(self.dual_entries(targets, negative_gradient))
        xp = namespace(targets)
        weights = weights + xp.zeros_like(targets)
        if bool(xp.any((weights == 0) & (negative_gradient != 0))):
            return -float("inf")
        slopes = unweighted(negative_gradient, weights)
        return _total(weights * self.dual_entries(targets, slopes))

    def scores_of(
        self, targets: Array, negative_gradient: Array, weights: Array | None = None
    ) -> Array:
        """Return the scores of slopes divided by their weights."""
        return self.inverse_slopes(targets, unweighted(negative_gradient, weights))

    def best_intercept(
        self, targets: Array, scores: Array, weights: Array | None = None
    ) -> Array:
        """Solve sum_i w a_ij = 0 for each output."""
        return self.best_shared(targets, scores, weights, COLUMNS)

    def best_shared(
        self, targets: Array, scores: Array, weights: Array | None, sharing: Sharing
    ) -> Array:
        """Return the best b of all that share one, by Newton's method in brackets."""
        xp, eps = namespace(targets), epsilon(targets)
        b = 0.0 * sharing.sums(targets)
        low, high = b - _FAR, b + _FAR
        reach = b + _REACH
        # b counts beside the scores that it is added to
        numbers = xp.clip(sharing.sums(xp.ones_like(scores)), 1.0, None)
        level = sharing.sums(xp.abs(scores)) / numbers
        for number in range(_STEPS):
            shift = sharing.spread(b)
            moved = scores + shift
            slopes = self.negative_gradient(targets, moved, weights)
            second_derivative = weighted(
                self.second_derivative(targets, moved), weights
            )
            slope = sharing.sums(slopes)
            # rounding of the sum, and of the scores + b that slopes are computed from
            sizes = xp.abs(moved) + xp.abs(shift)
            sizes = xp.abs(slopes) + second_derivative * sizes
            rounding = eps * sharing.sums(sizes)
            low = xp.where(slope > 0, b, low)
            high = xp.where(slope < 0, b, high)
            narrow = high - low <= eps * (xp.abs(b) + level)
            done = (xp.abs(slope) <= rounding) | narrow
            if bool(xp.all(done)):
                break
            total = sharing.sums(second_derivative)
            curved = total > xp.abs(slope) / _FAR
            if number > _MANY:
                # where all labels are the same the best b is infinite, and Newton's
                # steps do not become longer
                curved &= sharing.sums(xp.abs(slopes)) > xp.abs(slope)
            safe = xp.where(curved, total, xp.ones_like(total))
            moved = b + xp.where(curved, slope / safe, xp.sign(slope) * reach)
            # no further than twice as far as before, and inside the bracket
            moved = xp.clip(moved, b - reach, b + reach)
            reach = xp.where(xp.abs(moved - b) >= reach, 2 * reach, reach)
            bracketed = (low > -_FAR) & (high < _FAR)
            middle = xp.where(bracketed, (low + high) / 2, moved)
            inside = (moved > low) & (moved < high)
            b = xp.where(done, b, xp.where(inside, moved, middle))
        return b


class Margin(Separable):
    """Base of the separable losses for classes, v a function of y f, y = -1 / +1.

    For two classes there is one output; for several, one per class against the rest;
    for labels, one per label.
    """

    coding: ClassVar[LabelCoding | None] = Signs()


def divide(right: Array, roots: Array) -> Array:
    """Return right / roots, and zero where a root is below 1e-6 of the largest."""
    xp = namespace(right)
    if right.shape[0] == 0:
        return right
    tiny = roots <= TINY * xp.max(roots)
    return xp.where(
        tiny, xp.zeros_like(right), right / xp.where(tiny, xp.ones_like(roots), roots)
    )


def weighted(entries: Array, weights: Array | None) -> Array:
    """Return entries times their weights."""
    return entries if weights is None else weights * entries


def unweighted(entries: Array, weights: Array | None) -> Array:
    """Return entries divided by their weights, where these are not zero."""
    if weights is None:
        return entries
    return entries / namespace(weights).where(weights > 0, weights, 1.0 + 0.0 * weights)


def _total(entries: Array) -> float:
    return float(namespace(entries).sum(entries))
