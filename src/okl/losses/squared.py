"""The squared loss V(y, f) = (y - f)^2 / 2."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from okl._array import Array, inner, namespace
from okl.losses.base import Kind, Loss


class Squared(Loss):
    r"""Half the squared distance, summed over outputs.

    .. math:: V(y, f) = \tfrac12 \|y - f\|^2, \qquad
              -V^*(y, -a) = \langle a, y \rangle - \tfrac12 \|a\|^2

    With ``structure="identity"`` the objective is that of kernel ridge
    regression, with the same ``alpha`` as `sklearn.kernel_ridge.KernelRidge`.
    Class labels are coded -1 and +1, one output per class (a single output for
    two classes).
    """

    name: ClassVar[str | None] = "squared"
    capabilities: ClassVar[frozenset[str]] = frozenset({"quadratic"})

    def value(self, targets: Array, scores: Array) -> float:
        """Return half the squared distance between targets and scores."""
        residual = targets - scores
        return inner(residual, residual) / 2

    def negative_gradient(self, targets: Array, scores: Array) -> Array:
        """Return the residuals ``targets - scores``."""
        return targets - scores

    def dual_value(self, targets: Array, negative_gradient: Array) -> float:
        """Return ``<a, y> - ||a||^2 / 2``, finite for every a."""
        a = negative_gradient
        return inner(a, targets) - inner(a, a) / 2

    def dual_scales(
        self, targets: Array, negative_gradient: Array, limits: Array
    ) -> Array:
        """Return ``min(<a_j, y_j> / ||a_j||^2, limits_j)``, not below 0: the best."""
        xp = namespace(targets)
        squares = xp.sum(negative_gradient * negative_gradient, axis=0)
        products = xp.sum(negative_gradient * targets, axis=0)
        safe = xp.where(squares > 0, squares, xp.ones_like(squares))
        scales = xp.where(squares > 0, products / safe, xp.zeros_like(squares))
        return xp.clip(xp.minimum(scales, limits), 0.0, None)

    def encode(self, labels: Any, kind: Kind, n_classes: int) -> Array:
        """Code as -1 and +1: one column for two classes, else one per class."""
        labels = np.asarray(labels)
        if kind == "multiclass":
            labels = labels[:, None] == np.arange(n_classes)
        elif kind == "binary":
            labels = labels[:, None]
        return np.where(labels > 0, 1.0, -1.0)

    def decide(self, scores: Array, kind: Kind) -> Array:
        """Return the largest column, or the sign as 0 or 1."""
        if kind == "multiclass":
            return np.argmax(scores, axis=1)
        decisions = (scores > 0).astype(np.intp)
        return decisions[:, 0] if kind == "binary" else decisions
