"""What solvers do with dual variables that are a matrix, as targets are.

Targets, predictions and dual variables C are (n_samples, n_outputs), and there is one
intercept a column. In long form they are a column, and there is one intercept a task:
`okl.problems.long_form` does the same things its way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from okl.losses import Loss
from okl.losses.base import Curvature
from okl.numerics.arrays import Array, namespace
from okl.operators import JointOperator, Kronecker
from okl.output_kernels import OutputKernel


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

    def joint(self, kernel: OutputKernel) -> JointOperator:
        """Return what maps dual variables to predictions, L given."""
        return Kronecker(self.operator, kernel)

    def theta(self, dual: Array, kernel: OutputKernel) -> Any:
        """Return the coefficients C L of a model, which `predictions` takes."""
        return kernel.multiply(dual)

    def balanced_theta(self, dual: Array, kernel: OutputKernel) -> Any:
        """Return C L with sums of zero if there is an intercept.

        They have them but for rounding, which a kernel with a large mean would amplify.
        """
        return self.balanced(self.theta(dual, kernel))

    def predictions(self, theta: Any) -> Array:
        """Return those of a model without its intercept."""
        return self.operator @ theta

    def predictions_at(self, theta: Any, rows: Any) -> Array:
        """Return those of a model in some rows, given by number."""
        everywhere = namespace(rows).arange(self.operator.n_samples)
        return self.operator.cross(rows, everywhere) @ theta

    def sums(self, rows: Array) -> Array:
        """Return the sum over all that share an intercept (n_outputs,)."""
        return namespace(rows).sum(rows, axis=0)

    @abstractmethod
    def balanced(self, rows: Array) -> Array:
        """Return rows with sums of zero if there is an intercept."""

    def spread(self, values: Array) -> Array:
        """Return one number per output as what is added to predictions."""
        return values

    def best_intercept(self, predictions: Array) -> Array:
        """Return the b (n_outputs,) that minimises the loss at these predictions."""
        return self.loss.best_intercept(self.targets, predictions, self.weights)

    def solve_total(self, curvature: Curvature, sums: Array) -> Array:
        """Solve with the sum of W over all that share an intercept."""
        return curvature.solve_total(sums)

    def sharers(self, rows: Array, outputs: Array) -> Array:
        """Return the number of the intercept of each entry."""
        return outputs

    def balancing(self, curvature: Curvature) -> Callable[[Array], Array]:
        """Return the projection on what V maps to columns that sum to zero."""

        def project(right: Array) -> Array:
            xp = namespace(right)
            sums = self.sums(curvature.factor(right))
            shift = self.spread(self.solve_total(curvature, sums))
            return right - curvature.adjoint(shift + xp.zeros_like(right))

        return project
