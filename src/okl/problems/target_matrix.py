"""What solvers do with dual variables that are a matrix, as targets are.

Targets, predictions and dual variables C are (n_samples, n_outputs), and there is one
intercept a column. In long form they are a column, and there is one intercept a task:
`okl.problems.long_form` does the same things its way.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from typing import Any

from okl._array import Array, namespace
from okl._output_kernel import OutputKernel
from okl.losses import Loss
from okl.losses.base import Curvature


class TargetMatrix(ABC):
    """Sums, products and intercepts for dual variables (n_samples, n_outputs)."""

    loss: Loss
    targets: Array
    weights: Array | None
    operator: Any

    def gram(self, left: Array, right: Array) -> Array:
        """Return C'KD (n_outputs, n_outputs) for two sets of dual variables."""
        return left.T @ (self.operator @ right)

    def against(self, features: Array, dual: Array) -> Array:
        """Return R'C (k, n_outputs) for R (n_samples, k) and dual variables C."""
        return features.T @ dual

    def coefficients(self, dual_coef: Array, kernel: OutputKernel) -> Any:
        """Return what a solver returns of a model, from that of `given`."""
        return dual_coef

    def spread(self, values: Array) -> Array:
        """Return one number per output as what is added to predictions."""
        return values

    def best_intercept(self, predictions: Array) -> Array:
        """Return the b (n_outputs,) that minimises the loss at these predictions."""
        return self.loss.best_intercept(self.targets, predictions, self.weights)

    def balancing(self, curvature: Curvature) -> Callable[[Array], Array]:
        """Return the projection on what V maps to columns that sum to zero."""

        def project(right: Array) -> Array:
            xp = namespace(right)
            sums = xp.sum(curvature.factor(right), axis=0)
            shift = curvature.solve_total(sums) + xp.zeros_like(right)
            return right - curvature.adjoint(shift)

        return project
