"""The squared loss V(y, f) = (y - f)^2 / 2."""

from __future__ import annotations

from typing import ClassVar

from okl.coding.labels import LabelCoding, Signs
from okl.coding.tasks import Sharing
from okl.losses.separable import Separable
from okl.numerics.arrays import Array, column_inner, inner, namespace


class Squared(Separable):
    r"""Half the squared distance, summed over outputs.

    .. math:: V(y, f) = \tfrac12 \|y - f\|^2, \qquad
              -V^*(y, -a) = \langle a, y \rangle - \tfrac12 \|a\|^2

    With ``structure="identity"`` the objective is that of kernel ridge
    regression, with the same ``alpha`` as `sklearn.kernel_ridge.KernelRidge`.
    Class labels are coded -1 and +1, one output per class (a single output for
    two classes).
    """

    name: ClassVar[str | None] = "squared"
    capabilities: ClassVar[frozenset[str]] = frozenset(
        {
            "quadratic",
            "smooth",
            "location",
            "regression",
            "classification",
            "multilabel",
        }
    )
    coding: ClassVar[LabelCoding] = Signs()
    largest_curvature: ClassVar[float] = 1.0

    def entries(self, targets: Array, scores: Array) -> Array:
        """Return half the squared differences."""
        return (targets - scores) ** 2 / 2

    def slopes(self, targets: Array, scores: Array) -> Array:
        """Return the residuals."""
        return targets - scores

    def second_derivative(self, targets: Array, scores: Array) -> Array:
        """Return one."""
        return namespace(scores).ones_like(scores)

    def inverse_slopes(self, targets: Array, slopes: Array) -> Array:
        """Return the targets less the slopes."""
        return targets - slopes

    def dual_entries(self, targets: Array, slopes: Array) -> Array:
        """Return a y - a^2 / 2."""
        return slopes * (targets - slopes / 2)

    def value(
        self, targets: Array, scores: Array, weights: Array | None = None
    ) -> float:
        """Return half the squared distance between targets and scores."""
        residual = targets - scores
        weighted = residual if weights is None else weights * residual
        return inner(residual, weighted) / 2

    def dual_value(
        self, targets: Array, negative_gradient: Array, weights: Array | None = None
    ) -> float:
        """Return the weighted sum of a y - a^2 / 2."""
        if weights is None:
            return inner(negative_gradient, targets - negative_gradient / 2)
        return super().dual_value(targets, negative_gradient, weights)

    def best_shared(
        self, targets: Array, scores: Array, weights: Array | None, sharing: Sharing
    ) -> Array:
        """Return the mean residuals."""
        xp = namespace(targets)
        residual = targets - scores
        if weights is None:
            weights = xp.ones_like(residual)
        weights = weights + xp.zeros_like(residual)
        total = sharing.sums(weights)
        safe = xp.where(total > 0, total, xp.ones_like(total))
        return sharing.sums(weights * residual) / safe

    def dual_scales(
        self, targets: Array, negative_gradient: Array, limits: Array
    ) -> Array:
        """Return the best: ``min(<a_j, y_j> / ||a_j||^2, limits_j)``, at least 0."""
        xp = namespace(targets)
        squares = column_inner(negative_gradient, negative_gradient)
        products = column_inner(negative_gradient, targets)
        safe = xp.where(squares > 0, squares, xp.ones_like(squares))
        scales = xp.where(squares > 0, products / safe, xp.zeros_like(squares))
        return xp.clip(xp.minimum(scales, limits), 0.0, None)
