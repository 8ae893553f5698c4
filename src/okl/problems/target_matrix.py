"""Dual variables that are a matrix, as targets are.

Targets, predictions and dual variables C are (n_samples, n_outputs), and there is one
intercept a column.
"""

from __future__ import annotations

from typing import Any

from okl.certificates.entries import EntryMatrix
from okl.losses.base import Curvature
from okl.numerics.arrays import Array, namespace
from okl.operators import JointOperator, Kronecker, Operator
from okl.output_kernels import OutputKernel


class TargetMatrix(EntryMatrix):
    """Products and sums for dual variables (n_samples, n_outputs).

    Parameters
    ----------
    operator : Operator
        K, for all outputs or one for each.
    """

    operator: Operator

    def like_outputs(self, targets: Array) -> Array:
        """Return an array with one column an output: the targets."""
        return targets

    def from_matrix(self, matrix: Array) -> Array:
        """Return an array (n_samples, n_outputs) in the shape of targets."""
        return matrix

    def joint(self, kernel: OutputKernel) -> JointOperator:
        """Return what maps dual variables to predictions, L given."""
        return Kronecker(self.operator, kernel)

    def theta(self, dual: Array, kernel: OutputKernel) -> Any:
        """Return the coefficients C L of a model, which `predictions` takes."""
        return kernel.multiply(dual)

    def balanced_theta(self, dual: Array, kernel: OutputKernel) -> Any:
        """Return C L with columns that sum to zero.

        They do but for rounding, which a kernel with a large mean would amplify.
        """
        return self.balanced(self.theta(dual, kernel))

    def offset(self, means: Array, theta: Any) -> Array:
        """Return what centring the kernel subtracts from the scores (n_outputs,).

        Means are (n_samples,), or (n_samples, n_outputs) if each output has a kernel.
        """
        if means.ndim == 1:
            return means @ theta
        return namespace(means).sum(means * theta, axis=0)

    def predictions(self, theta: Any) -> Array:
        """Return the predictions of a model without its intercept."""
        return self.operator @ theta

    def predictions_at(self, theta: Any, rows: Any) -> Array:
        """Return the predictions of some rows, given by number."""
        everywhere = namespace(rows).arange(self.operator.n_samples)
        return self.operator.cross(rows, everywhere) @ theta

    def squared_lengths(self, dual: Array, kernel: OutputKernel, rows: Any) -> Array:
        """Return ``c_i' L c_i`` for the dual variables of some rows (k,)."""
        inside = kernel.adjoint(dual)
        return namespace(dual).sum(inside * inside, axis=1)

    def against(self, features: Array, dual: Array) -> Array:
        """Return R'C (k, n_outputs) for R (n_samples, k) and dual variables C."""
        return features.T @ dual

    def solve_total(self, curvature: Curvature, sums: Array) -> Array:
        """Solve with the sum of W over all that share an intercept."""
        return curvature.solve_total(sums)

    def intercepts_of(self, columns: slice) -> slice:
        """Return the numbers of the intercepts that some columns have: their own."""
        return columns

    def intercept_groups(self, rows: Array, columns: Array) -> Array:
        """Return the number of each entry's intercept, of entries (rows, columns)."""
        return columns
